"""What save_network keeps and what it changes."""

from __future__ import annotations

import copy
import errno
import gzip
import os

import pytest
import random_networks
import torch
from torch import nn

from searchless_rl.lc0 import NetworkFileError, load_network, save_network
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.wire import find
from searchless_rl.nets import (
    AttentionPolicyConfig,
    Chessformer,
    ChessformerConfig,
    ConvHeadConfig,
    DenseEmbeddingConfig,
    EncoderConfig,
    SEResNet,
    SEResNetConfig,
    SmolgenConfig,
    TokenHeadConfig,
)

ENCODERS = EncoderConfig(layers=2, heads=2, attention=16, ffn=24)
BUILT = {
    "dense": ChessformerConfig(
        width=16,
        encoders=ENCODERS,
        policy=AttentionPolicyConfig(12, 20),
        value=TokenHeadConfig(4, 32),
        moves_left=TokenHeadConfig(3, 32),
        dense=DenseEmbeddingConfig(2, 24),
        smolgen=SmolgenConfig(2, 8, 8),
    ),
    "map": ChessformerConfig(
        width=16,
        encoders=ENCODERS,
        policy=AttentionPolicyConfig(12, 20, EncoderConfig(1, 3, 12, 24)),
        value=TokenHeadConfig(4, 32),
        gates=False,
        activation="relu",
        ffn_activation="relu_2",
    ),
    "se": SEResNetConfig(16, 2, 4, ConvHeadConfig(4, 32), ConvHeadConfig(2, 32), activation="mish"),
    "plain": SEResNetConfig(16, 2, None, ConvHeadConfig(4, 32), policy="classical", policy_channels=8),
}


def build(config):
    torch.manual_seed(3)
    module = Chessformer(config) if isinstance(config, ChessformerConfig) else SEResNet(config)
    perturb(module, 0.1)
    return module


def perturb(module: nn.Module, scale: float, prefix: str = "") -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith(prefix):
                parameter += scale * torch.randn(parameter.shape, generator=generator)


def assert_within_half_a_step(saved: nn.Module, loaded: nn.Module) -> None:
    after = dict(loaded.named_parameters())
    assert after.keys() == dict(saved.named_parameters()).keys()
    for name, parameter in saved.named_parameters():
        before = parameter.detach().double()
        low, high = before.min().item(), before.max().item()
        # Decoding in float32 rounds max - min, the division, the product (each relative to the range at
        # most) and the sum.
        rounding = (3 * (high - low) + max(abs(low), abs(high))) * 2**-24
        assert (after[name].double() - before).abs().max() <= (high - low) / 131070 + rounding, name


@pytest.mark.parametrize("name", ["micro_bt4", "tiny_bt4", "maia-1100", "maia-1900"])
def test_an_untouched_network_keeps_its_bytes(golden, tmp_path, name):
    source = golden(name).network
    save_network(load_network(source), tmp_path / "saved.pb.gz")
    assert gzip.decompress((tmp_path / "saved.pb.gz").read_bytes()) == gzip.decompress(source.read_bytes())


@pytest.mark.parametrize("name", ["micro_bt4", "maia-1900"])
def test_a_perturbed_network_survives_within_half_a_step(golden, tmp_path, name):
    module = load_network(golden(name).network)
    perturb(module, 0.01)
    save_network(module, tmp_path / "saved.pb.gz")
    assert_within_half_a_step(module, load_network(tmp_path / "saved.pb.gz"))


def test_header_licence_extras_and_unknown_fields_are_kept(tmp_path):
    net = random_networks.attention_network()
    net.unknown.append(b"\xaa\x06\x02hi")  # field 101
    find(net, "weights.encoder[1].mha").unknown.append(b"\xa8\x06\x05")
    module = load_network(random_networks.write(net, tmp_path / "source.pb.gz"))
    perturb(module, 0.01)
    save_network(module, tmp_path / "saved.pb.gz")
    saved = NetworkFile.read(tmp_path / "saved.pb.gz").net
    for field in ("magic", "license", "min_version", "format", "training_params"):
        assert saved.get(field) == net.get(field)
    assert b"".join(saved.unknown) == b"\xaa\x06\x02hi"
    assert b"".join(find(saved, "weights.encoder[1].mha").unknown) == b"\xa8\x06\x05"
    error_weights = "weights.value_heads.winner.ip_val_err_w"
    assert find(saved, error_weights) == find(net, error_weights)


def test_only_changed_tensors_are_encoded_anew(golden, tmp_path):
    source = golden("micro_bt4").network
    module = load_network(source)
    perturb(module, 0.01, "blocks.1.ffn.expand.weight")
    save_network(module, tmp_path / "saved.pb.gz")
    before, after = NetworkFile.read(source).net.copy(), NetworkFile.read(tmp_path / "saved.pb.gz").net
    assert before != after
    changed = find(after, "weights.encoder[1].ffn.dense1_w")
    find(before, "weights.encoder[1].ffn").values["dense1_w"] = changed
    assert before == after


def test_heads_that_were_not_loaded_stay_as_they_were(golden, tmp_path):
    """Training a head that uses the shared embedding must not change the other heads."""
    source = golden("micro_bt4").network
    module = load_network(source, policy_head="optimistic", value_head="q")
    perturb(module, 0.01)
    save_network(module, tmp_path / "saved.pb.gz")
    saved = NetworkFile.read(tmp_path / "saved.pb.gz").net
    original = NetworkFile.read(source).net
    for path in (
        "policy_heads.vanilla",
        "policy_heads.ip_pol_w",
        "policy_heads.ip_pol_b",
        "value_heads.winner",
    ):
        assert find(saved, f"weights.{path}") == find(original, f"weights.{path}")
    assert_within_half_a_step(module, load_network(tmp_path / "saved.pb.gz", "optimistic", "q"))
    before = dict(load_network(source).policy.named_parameters())
    for name, parameter in load_network(tmp_path / "saved.pb.gz").policy.named_parameters():
        assert torch.equal(parameter, before[name]), name


@pytest.mark.parametrize("embedding", ["own", "shared", "top"])
def test_an_embedding_that_serves_one_head_is_changed_in_place(tmp_path, embedding):
    net = random_networks.attention_network(embedding=embedding)
    del find(net, "weights.policy_heads").values["optimistic_st"]
    place = {"own": "weights.policy_heads.vanilla", "shared": "weights.policy_heads", "top": "weights"}
    module = load_network(random_networks.write(net, tmp_path / "source.pb.gz"))
    perturb(module, 0.01, "policy.embedding")
    save_network(module, tmp_path / "saved.pb.gz")
    saved = NetworkFile.read(tmp_path / "saved.pb.gz").net
    for candidate in place.values():
        found = find(saved, f"{candidate}.ip_pol_w")
        assert (found is not None) == (candidate == place[embedding])
    assert_within_half_a_step(module, load_network(tmp_path / "saved.pb.gz"))


@pytest.mark.parametrize("conv", ["bn", "old_bn", "bias"])
def test_a_changed_convolution_loses_its_batch_norm_and_only_that_one(tmp_path, conv):
    net = random_networks.conv_network(conv=conv)
    module = load_network(random_networks.write(net, tmp_path / "source.pb.gz"))
    perturb(module, 0.01, "blocks.0.conv1.bias")
    save_network(module, tmp_path / "saved.pb.gz")
    saved = NetworkFile.read(tmp_path / "saved.pb.gz").net
    assert set(find(saved, "weights.residual[0].conv1").values) == {"weights", "biases"}
    assert find(saved, "weights.residual[0].conv2") == find(net, "weights.residual[0].conv2")
    assert_within_half_a_step(module, load_network(tmp_path / "saved.pb.gz"))


@pytest.mark.parametrize("name", BUILT)
def test_a_network_built_in_python_can_be_saved(tmp_path, name):
    module = build(BUILT[name])
    save_network(module, tmp_path / "built.pb.gz")
    loaded = load_network(tmp_path / "built.pb.gz")
    assert type(loaded) is type(module)
    assert loaded.config == module.config
    assert_within_half_a_step(module, loaded)


def test_an_activation_without_a_number_cannot_be_saved(tmp_path):
    with pytest.raises(NetworkFileError, match="activation 'swish': a network file can hold relu, mish"):
        save_network(
            build(SEResNetConfig(16, 1, None, ConvHeadConfig(4, 32), activation="swish")),
            tmp_path / "x.pb.gz",
        )
    assert list(tmp_path.iterdir()) == []


def test_equal_networks_give_equal_files(golden, tmp_path):
    module = load_network(golden("micro_bt4").network)
    perturb(module, 0.01)
    save_network(module, tmp_path / "one.pb.gz")
    save_network(copy.deepcopy(module), tmp_path / "two.pb.gz")
    one = (tmp_path / "one.pb.gz").read_bytes()
    assert one == (tmp_path / "two.pb.gz").read_bytes()
    assert one[3:8] == bytes(5)  # no name, no time


def test_double_and_channels_last_are_saved_as_they_are_in_float32(tmp_path):
    module = load_network(random_networks.write(random_networks.conv_network(), tmp_path / "source.pb.gz"))
    save_network(copy.deepcopy(module).double(), tmp_path / "double.pb.gz")
    save_network(module, tmp_path / "float.pb.gz")
    assert (tmp_path / "double.pb.gz").read_bytes() == (tmp_path / "float.pb.gz").read_bytes()


def test_a_failed_save_leaves_the_old_file_alone(golden, tmp_path, monkeypatch):
    target = tmp_path / "network.pb.gz"
    target.write_bytes(b"old")
    module = load_network(golden("micro_bt4").network)

    def full_disk(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="disk full"):
        save_network(module, target)
    with torch.no_grad():
        module.value.output.bias[0] = float("nan")
    with pytest.raises(NetworkFileError, match=r"network\.pb\.gz: .*ip2_val_b: cannot store NaN"):
        save_network(module, target)
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_other_modules_are_refused(tmp_path):
    with pytest.raises(TypeError, match="Linear is not a network of the Lc0 families"):
        save_network(nn.Linear(2, 2), tmp_path / "x.pb.gz")
