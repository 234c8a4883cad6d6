"""The batched evaluator against the network asked directly."""

import copy

import numpy as np
import pytest
import torch

from searchless_rl.board import GameBatch
from searchless_rl.lc0 import load_network
from searchless_rl.nets import NetOutput
from searchless_rl.nets.evaluator import Evaluator, OutputError


@pytest.fixture(scope="module")
def network(pytestconfig):
    return load_network(pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz")


@pytest.fixture(scope="module")
def planes():
    rng = np.random.default_rng(0)
    games = GameBatch([None] * 21)
    for _ in range(30):
        legal = games.legal()
        pick = legal.start[:-1] + (rng.random(21) * np.diff(legal.start)).astype(int)
        games.step(np.arange(21), legal.index[pick])
        games.restart(np.flatnonzero(games.over))
    return games.planes()


def test_outputs_are_the_networks(network, planes):
    found = Evaluator(network, batch_size=8)(planes)
    with torch.no_grad():
        expected = network(torch.from_numpy(planes))
    np.testing.assert_allclose(found.policy, expected.policy.numpy(), atol=2e-5)
    np.testing.assert_allclose(found.wdl, expected.wdl.numpy(), atol=2e-6)


def test_outputs_do_not_depend_on_the_other_positions(network, planes):
    """One padded shape: bit-equal alone, in a full batch and in another order."""
    evaluator = Evaluator(network, batch_size=8)
    together = evaluator(planes)
    for row in (0, 7, 8, 20):
        np.testing.assert_array_equal(evaluator(planes[row : row + 1]).policy[0], together.policy[row])
    np.testing.assert_array_equal(evaluator(planes[::-1]).wdl[::-1], together.wdl)


def test_no_positions(network):
    found = Evaluator(network, batch_size=8)(np.zeros((0, 112, 8, 8), np.float32))
    assert found.policy.shape == (0, 1858)
    assert found.wdl.shape == (0, 3)


@pytest.mark.parametrize(("head", "outputs"), [("policy", "policy"), ("value", "wdl")])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_outputs_that_are_not_finite_name_the_file(pytestconfig, planes, head, outputs, value):
    path = pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz"
    broken = load_network(path)
    with torch.no_grad():
        for name, parameter in broken.named_parameters():
            if name.startswith(f"{head}."):
                parameter.fill_(value)
    copied = copy.deepcopy(broken)
    for network in (broken, copied):
        with pytest.raises(OutputError, match=rf"micro_bt4\.pb\.gz: the network's outputs .*{outputs}"):
            Evaluator(network, 8)(planes)


def test_a_network_of_no_file_is_named_by_its_kind(planes):
    class Broken(torch.nn.Module):
        def forward(self, planes):
            policy = torch.zeros(len(planes), 1858)
            policy[2, 7] = float("-inf")
            return NetOutput(policy, torch.ones(len(planes), 3) / 3, None, torch.zeros(len(planes), 3))

    with pytest.raises(OutputError, match=r"^a Broken: the network's outputs \(policy\) are not finite"):
        Evaluator(Broken(), 8)(planes)


def test_the_padding_of_a_batch_is_not_judged(planes):
    class FiniteOnRealRows(torch.nn.Module):
        def forward(self, planes):
            policy = torch.zeros(len(planes), 1858) / planes.abs().amax((1, 2, 3))[:, None]
            return NetOutput(policy, torch.ones(len(planes), 3) / 3, None, torch.zeros(len(planes), 3))

    assert np.isfinite(Evaluator(FiniteOnRealRows(), 8)(planes).policy).all()
