"""The corrections Lc0 applies to old headers, and what ``describe`` prints."""

from __future__ import annotations

import pytest
import random_networks
import torch

from searchless_rl.lc0 import NetworkFileError, describe, load_network
from searchless_rl.lc0.header import (
    ActivationFunction,
    InputEmbedding,
    InputFormat,
    OutputFormat,
    PolicyFormat,
    Structure,
    ValueFormat,
    read_format,
)
from searchless_rl.lc0.wire import find


def with_format(net, **values):
    """The net with fields of its network format replaced; None removes one."""
    stored = find(net, "format.network_format").values
    for name, value in values.items():
        stored.pop(name, None) if value is None else stored.__setitem__(name, value)
    return net


def test_a_file_without_network_format_is_the_oldest():
    net = random_networks.conv_network()
    del find(net, "format").values["network_format"]
    corrected = read_format(net)
    assert corrected.input is InputFormat.CLASSICAL_112_PLANE
    assert corrected.output is OutputFormat.CLASSICAL
    assert corrected.network is Structure.CLASSICAL_WITH_HEADFORMAT
    assert corrected.policy is PolicyFormat.CLASSICAL
    assert corrected.value is ValueFormat.CLASSICAL


@pytest.mark.parametrize(
    ("stored", "corrected"),
    [(1, Structure.CLASSICAL_WITH_HEADFORMAT), (2, Structure.SE_WITH_HEADFORMAT)],
)
def test_networks_from_before_head_formats(stored, corrected):
    found = read_format(with_format(random_networks.conv_network(), network=stored))
    assert found.network is corrected
    assert (found.policy, found.value) == (PolicyFormat.CLASSICAL, ValueFormat.CLASSICAL)


def test_se_networks_with_encoders_are_attention_bodies():
    with_smolgen = random_networks.attention_network(dense=False, multihead=False)
    found = read_format(with_format(with_smolgen, network=4, input_embedding=None, smolgen_activation=None))
    assert found.network is Structure.ATTENTIONBODY_WITH_HEADFORMAT
    assert found.ffn_activation is ActivationFunction.RELU_2
    assert found.smolgen_activation is ActivationFunction.SWISH
    assert found.input_embedding is InputEmbedding.PE_MAP

    plain = random_networks.attention_network(dense=False, multihead=False, smolgen=False)
    found = read_format(with_format(plain, network=4))
    assert found.ffn_activation is ActivationFunction.DEFAULT


def test_the_legacy_multihead_number():
    found = read_format(random_networks.attention_network(network=134))
    assert found.network is Structure.ATTENTIONBODY_WITH_MULTIHEADFORMAT


def test_network_6_with_both_head_groups_is_multihead_and_dense():
    net = with_format(random_networks.attention_network(network=6), input_embedding=None)
    found = read_format(net)
    assert found.network is Structure.ATTENTIONBODY_WITH_MULTIHEADFORMAT
    assert found.input_embedding is InputEmbedding.PE_DENSE


def test_network_6_with_one_head_group_keeps_its_embedding():
    net = with_format(random_networks.attention_network(network=6, dense=False), input_embedding=None)
    del find(net, "weights").values["value_heads"]
    found = read_format(net)
    assert found.network is Structure.ATTENTIONBODY_WITH_HEADFORMAT
    assert found.input_embedding is InputEmbedding.PE_MAP


def test_network_7_must_say_its_embedding(tmp_path):
    net = with_format(random_networks.attention_network(dense=False), input_embedding=None)
    with pytest.raises(NetworkFileError, match=r"input_embedding = NONE \(0\)"):
        load_network(random_networks.write(net, tmp_path / "x.pb.gz"))


def test_default_activations_follow_the_default():
    found = read_format(random_networks.attention_network(ffn_activation=0, smolgen_activation=2))
    assert found.activation() == "mish"
    assert found.activation(found.ffn_activation) == "mish"
    assert found.activation(found.smolgen_activation) == "relu"


def test_loading_leaves_the_random_state_alone(tmp_path):
    path = random_networks.write(random_networks.attention_network(), tmp_path / "x.pb.gz")
    before = torch.get_rng_state()
    load_network(path)
    assert torch.equal(torch.get_rng_state(), before)


def test_describe_an_attention_network(golden):
    network = golden("micro_bt4").network
    found = describe(network)
    assert found["file"] == "micro_bt4.pb.gz"
    assert found["bytes"] == 868387
    assert found["min_version"] == "0.31.0"
    assert found["family"] == "chessformer"
    assert found["format"]["network"] == "ATTENTIONBODY_WITH_MULTIHEADFORMAT"
    assert found["policy_heads"] == ["vanilla", "optimistic", "soft", "opponent"]
    assert found["value_heads"] == ["winner", "q", "st"]
    assert found["sizes"]["encoders"] == {"layers": 2, "heads": 4, "attention": 32, "ffn": 48}
    assert found["parameters"] == sum(p.numel() for p in load_network(network).parameters())
    assert found["values_in_file"] > found["parameters"]
    assert found["unsupported"] is None


def test_describe_maia(golden):
    found = describe(golden("maia-1900").network)
    assert found["family"] == "se_resnet"
    assert found["sizes"]["blocks"] == 6
    assert found["values_in_file"] == 868355
    assert found["training_steps"] == 400000
    assert found["min_version"] == "0.21.0"


def test_describe_says_why_a_network_is_not_supported(tmp_path):
    net = random_networks.conv_network()
    find(net, "format.network_format").values["value"] = 3
    found = describe(random_networks.write(net, tmp_path / "categories.pb.gz"))
    assert "value = PARAM (3): supported is WDL (2) or CLASSICAL (1)" in found["unsupported"]
    assert (found["family"], found["sizes"], found["parameters"]) == (None, None, None)
    assert found["licence"] == "random numbers"


def test_describe_refuses_what_is_no_network_file(tmp_path):
    with pytest.raises(NetworkFileError, match=r"absent\.pb\.gz: no such file"):
        describe(tmp_path / "absent.pb.gz")
