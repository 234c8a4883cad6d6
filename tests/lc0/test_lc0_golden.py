"""Outputs of the real lc0 0.32.1, recorded, for every head of four networks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from searchless_rl.lc0 import load_network

CASES = [
    ("micro_bt4", "vanilla", "winner"),
    ("micro_bt4", "optimistic", "q"),
    ("micro_bt4", "soft", "st"),
    ("micro_bt4", "opponent", "winner"),
    ("tiny_bt4", "vanilla", "winner"),
    ("tiny_bt4", "optimistic", "q"),
    ("maia-1100", "vanilla", "winner"),
    ("maia-1900", "vanilla", "winner"),
]


@pytest.mark.parametrize(("name", "policy_head", "value_head"), CASES)
def test_outputs_are_those_of_the_real_lc0(golden, name, policy_head, value_head):
    network, outputs, _ = golden(name)
    with np.load(outputs) as recorded:
        with torch.no_grad():
            out = load_network(network, policy_head, value_head)(torch.from_numpy(recorded["planes"]))
        wdl = out.wdl.numpy()
        assert out.policy.shape == recorded[f"policy_{policy_head}"].shape
        np.testing.assert_allclose(out.policy.numpy(), recorded[f"policy_{policy_head}"], rtol=0, atol=1e-4)
        np.testing.assert_allclose(wdl[:, 0] - wdl[:, 2], recorded[f"q_{value_head}"], rtol=0, atol=1e-5)
        np.testing.assert_allclose(wdl[:, 1], recorded[f"d_{value_head}"], rtol=0, atol=1e-5)
        if name.endswith("bt4"):
            np.testing.assert_allclose(out.moves_left.numpy(), recorded["m"], rtol=0, atol=1e-5)
        else:
            assert out.moves_left is None


def test_cases_cover_every_recorded_head(golden):
    for name in ("micro_bt4", "tiny_bt4", "maia-1100", "maia-1900"):
        with np.load(golden(name).outputs) as recorded:
            kinds = {key for key in recorded if key.startswith(("policy_", "q_"))}
        tested = {
            key for case, policy, value in CASES if case == name for key in (f"policy_{policy}", f"q_{value}")
        }
        assert tested == kinds
