"""The objective's parts on hand-made transitions."""

import math

import numpy as np
import pytest
import torch

from searchless_rl.board import Ending, GameBatch
from searchless_rl.selfplay.objective import (
    Coefficients,
    Transitions,
    importance_weight,
    losses,
    score,
    value_target,
)


def test_value_target_flips_the_successor_and_knows_endings():
    successor = torch.tensor([[0.7, 0.2, 0.1]] * 7)
    ending = np.array([Ending.ONGOING, Ending.ONGOING, Ending.CHECKMATE, Ending.STALEMATE, Ending.MATERIAL,
                       Ending.THREEFOLD, Ending.FIFTY_MOVES], np.int8)  # fmt: skip
    capped = np.array([False, True, False, False, False, False, False])
    win, draw = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
    expected = torch.tensor([[0.1, 0.2, 0.7], draw, win, draw, draw, draw, draw])
    torch.testing.assert_close(value_target(successor, ending, capped), expected)
    torch.testing.assert_close(successor, torch.tensor([[0.7, 0.2, 0.1]] * 7))  # not changed in place
    torch.testing.assert_close(score(expected), torch.tensor([0.2, 0.5, 1.0, 0.5, 0.5, 0.5, 0.5]))


@pytest.mark.parametrize(
    ("fen", "move"),
    [("7k/8/6K1/8/8/8/8/R7 w - - 0 1", "a1a8"), ("r7/8/8/8/8/6k1/8/7K b - - 0 1", "a8a1")],
)
def test_a_mate_is_the_movers_win_for_both_colours(fen, move):
    games = GameBatch([fen])
    games.step(np.array([0]), np.array([games.index(0, move)]))
    target = value_target(torch.tensor([[0.3, 0.3, 0.4]]), games.ending, np.array([False]))
    assert target.tolist() == [[1.0, 0.0, 0.0]]


def test_importance_weight_is_truncated():
    log_policy = torch.tensor([[0.5, 0.5], [0.2, 0.8]]).log()
    log_mu = torch.tensor([[0.25, 0.75], [0.4, 0.6]]).log()
    action = torch.tensor([0, 0])
    torch.testing.assert_close(importance_weight(log_policy, log_mu, action, 1.0), torch.tensor([1.0, 0.5]))
    torch.testing.assert_close(importance_weight(log_policy, log_mu, action, 3.0), torch.tensor([2.0, 0.5]))


def test_losses_by_hand():
    log_policy = torch.tensor([[0.5, 0.5], [0.9, 0.1]]).log()
    value_logits = torch.tensor([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]).log()
    step = Transitions(
        action=torch.tensor([1, 0]),
        rho=torch.tensor([1.0, 0.5]),
        advantage=torch.tensor([0.25, -0.5]),
        target=torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]),
        log_base=torch.tensor([[0.9, 0.1], [0.5, 0.5]]).log(),
    )
    mask = torch.ones(2, 2, dtype=torch.bool)
    parts = losses(log_policy, value_logits, mask, step, "forward_kl", Coefficients(beta=0.1, c_v=0.2))
    policy = [-0.25 * math.log(0.5), 0.5 * 0.5 * math.log(0.9)]
    exploration = [0.9 * math.log(1.8) + 0.1 * math.log(0.2), 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(5)]
    value = [-math.log(0.6), -0.5 * (0.5 * math.log(0.2) + 0.5 * math.log(0.6))]
    for found, expected in zip(parts, (policy, exploration, value), strict=False):
        torch.testing.assert_close(found, torch.tensor(expected))
    total = [p + 0.1 * r + 0.2 * v for p, r, v in zip(policy, exploration, value, strict=True)]
    torch.testing.assert_close(parts.total, torch.tensor(total))
