"""Distributions and exploration terms against hand-computed values and finite differences."""

import math

import numpy as np
import pytest
import torch

from searchless_rl.board import GameBatch
from searchless_rl.selfplay.distributions import (
    LegalRows,
    entropy,
    kl_divergence,
    log_normalize,
    prior_coverage,
    sample,
    temper,
    wdl_entropy,
)
from searchless_rl.selfplay.terms import exploration_term, needs_base


def _rows(*lists):
    """Log-probabilities and mask of distributions of different lengths, padded."""
    width = max(map(len, lists))
    mask = torch.tensor([[i < len(row) for i in range(width)] for row in lists])
    values = torch.tensor([[math.log(p) for p in row] + [0.0] * (width - len(row)) for row in lists])
    return values.double(), mask


# KL(P‖Q) = KL(Q‖P) = ln2/4, since Q is P reversed; the directions are told apart by the pair below it.
P = (0.5, 0.25, 0.25)
Q = (0.25, 0.25, 0.5)
PEAKED = (0.9, 0.1)
FLAT = (0.5, 0.5)
KL_PEAKED_FLAT = 0.9 * math.log(1.8) + 0.1 * math.log(0.2)
KL_FLAT_PEAKED = 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(5.0)


def test_terms_by_hand():
    policy, mask = _rows(PEAKED, P, (1.0,))
    base, _ = _rows(FLAT, Q, (1.0,))
    found = [KL_PEAKED_FLAT, KL_FLAT_PEAKED]
    assert found == pytest.approx([0.3680642, 0.5108256], abs=1e-6)
    expected = {
        "none": [0, 0, 0],
        "forward_kl": [KL_FLAT_PEAKED, math.log(2) / 4, 0],
        "reverse_kl": [KL_PEAKED_FLAT, math.log(2) / 4, 0],
        "entropy": [KL_PEAKED_FLAT, math.log(3) - 1.5 * math.log(2), 0],
    }
    for term, values in expected.items():
        found = exploration_term(term, policy, base, mask)
        torch.testing.assert_close(found, torch.tensor(values, dtype=torch.float64), msg=term)
    assert [term for term in expected if needs_base(term)] == ["forward_kl", "reverse_kl"]


def test_a_term_against_the_base_needs_the_base():
    policy, mask = _rows(P)
    for term in ("forward_kl", "reverse_kl"):
        with pytest.raises(ValueError, match=term):
            exploration_term(term, policy, None, mask)


@pytest.mark.parametrize("term", ["none", "entropy", "reverse_kl", "forward_kl"])
def test_gradients_agree_with_finite_differences(term):
    generator = torch.Generator().manual_seed(3)
    mask = torch.tensor([[True] * 5, [True, True, False, False, False], [True] + [False] * 4])
    logits = (3 * torch.randn(3, 5, generator=generator, dtype=torch.float64)).requires_grad_()
    base = log_normalize(3 * torch.randn(3, 5, generator=generator, dtype=torch.float64), mask)
    assert torch.autograd.gradcheck(
        lambda scores: exploration_term(term, log_normalize(scores, mask), base, mask), (logits,)
    )


@pytest.mark.parametrize("term", ["entropy", "reverse_kl", "forward_kl"])
def test_vanishing_probabilities_stay_finite(term):
    """float32, moves 200 nats apart: probability exactly 0 in one, and nothing is NaN or infinite."""
    mask = torch.tensor([[True, True, True, False]])
    logits = torch.tensor([[0.0, -200.0, -100.0, 7.0]], requires_grad=True)
    base = log_normalize(torch.tensor([[-200.0, 0.0, -1.0, 0.0]]), mask)
    value = exploration_term(term, log_normalize(logits, mask), base, mask)
    value.sum().backward()
    assert torch.isfinite(value).all()
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 3] == 0
    if term == "forward_kl":
        assert value.item() > 100  # zero-avoiding: the base's moves are missing


def test_log_policy_is_over_legal_moves_only():
    games = GameBatch([None, "7k/8/5K2/6Q1/8/8/8/8 b - - 0 1"])
    legal = games.legal()
    rows = LegalRows.of(legal)
    logits = torch.randn(2, 1858, generator=torch.Generator().manual_seed(0))
    log_policy = rows.log_policy(logits)
    for row in range(2):
        moves = legal.index[legal.start[row] : legal.start[row + 1]]
        expected = torch.log_softmax(logits[row, moves], 0)
        torch.testing.assert_close(log_policy[row, : len(moves)], expected)
        assert rows.index[row, : len(moves)].tolist() == moves.tolist()
    assert rows.mask.sum(1).tolist() == [20, 1]
    assert log_policy[1, 0] == 0


@pytest.mark.parametrize("tau", [2.0, 1.0, 0.3])
def test_temper_is_the_power_of_the_policy(tau):
    policy, mask = _rows(P, PEAKED)
    expected = policy.exp() ** (1 / tau) * mask
    expected /= expected.sum(1, keepdim=True)
    found = temper(policy, mask, torch.full((2,), tau, dtype=torch.float64)).exp() * mask
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("tau", [0.0, 1e-30, 1e-6])
def test_temper_towards_zero_is_the_argmax(tau):
    logits = torch.tensor([[0.0, 80.0, -80.0], [1.0, 1.0, 0.0]])
    mask = torch.ones(2, 3, dtype=torch.bool)
    mu = temper(log_normalize(logits, mask), mask, torch.full((2,), tau)).exp()
    torch.testing.assert_close(mu, torch.tensor([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]]))


def test_wdl_entropy_spans_zero_to_ln_3():
    wdl = torch.tensor([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]])
    torch.testing.assert_close(wdl_entropy(wdl), torch.tensor([0.0, math.log(3), math.log(2)]))


def test_sample_inverts_the_cumulative_distribution():
    log_mu, mask = _rows(*[P] * 6)
    uniform = np.array([0.0, 0.4999, 0.5001, 0.7499, 0.7501, 1 - 2**-53])
    assert sample(log_mu, mask, uniform).tolist() == [0, 0, 1, 1, 2, 2]


def test_sample_plays_no_move_without_mass():
    """A random number of 0 is the first move that has any."""
    log_mu = torch.tensor([[0.0, 0.5, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]).log()
    assert sample(log_mu, torch.ones(3, 3, dtype=torch.bool), np.zeros(3)).tolist() == [1, 2, 0]


def test_sample_frequencies_and_illegal_columns():
    log_mu, mask = _rows((*PEAKED, 1e-300), *[PEAKED] * 19_999)
    counts = np.bincount(sample(log_mu, mask, np.random.default_rng(0).random(20_000)).numpy(), minlength=3)
    assert counts[2] == 0
    assert abs(counts[1] / 20_000 - 0.1) < 4 * math.sqrt(0.1 * 0.9 / 20_000)


def test_entropy_identity():
    policy, mask = _rows((0.4, 0.2, 0.1, 0.1, 0.1, 0.06, 0.04), (0.7, 0.3))
    uniform, _ = _rows((1 / 7,) * 7, (1 / 2,) * 2)
    sizes = mask.sum(1).double()
    torch.testing.assert_close(entropy(policy, mask), sizes.log() - kl_divergence(policy, uniform, mask))


def test_prior_coverage_is_the_mass_on_the_bases_best_moves():
    """The base's five best of seven hold 0.06 + 0.04 + 0.4 + 0.2 + 0.1 of the policy; two moves hold all."""
    policy, mask = _rows((0.4, 0.2, 0.1, 0.1, 0.1, 0.06, 0.04), (0.7, 0.3))
    base, _ = _rows((0.1, 0.1, 0.1, 0.05, 0.05, 0.3, 0.3), (0.2, 0.8))
    expected = torch.tensor([0.8, 1.0], dtype=torch.float64)
    torch.testing.assert_close(prior_coverage(policy, base, mask), expected)
    own = torch.tensor([0.9, 1.0], dtype=torch.float64)
    torch.testing.assert_close(prior_coverage(policy, policy, mask), own)
