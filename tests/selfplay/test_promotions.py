"""The released code's merged promotions against numbers worked out by hand."""

import math

import numpy as np
import torch

from searchless_rl.board import MOVES, GameBatch
from searchless_rl.selfplay.distributions import LegalRows
from searchless_rl.selfplay.promotions import MergedRows


def _merged(fens):
    games = GameBatch(fens)
    rows = LegalRows.of(games.legal())
    return games, rows, MergedRows.of(rows)


def test_a_slot_adds_up_the_offsets():
    """One pawn move (four promotions) against one king move; offsets q +4, r -2, b -3."""
    _, rows, merged = _merged(["8/P6k/8/8/8/8/8/K7 w - - 0 1"])
    logits = torch.full((1, 1858), 9.0)
    offsets = {"": 0.0, "q": 4.0, "r": -2.0, "b": -3.0}
    for piece, offset in offsets.items():
        logits[0, MOVES.index("a7a8" + piece)] = offset
    for king in ("a1a2", "a1b1", "a1b2"):
        logits[0, MOVES.index(king)] = 0.0 if king == "a1a2" else -1e4
    probability = merged.log_policy(logits).exp() * merged.mask
    pawn = rows.index[0].tolist().index(MOVES.index("a7a8"))
    assert probability[0, pawn].item() == np.float32(1 / (1 + math.e))  # l + q + r + b = -1 against 0
    raised = merged.log_policy(logits + 1.5).exp() * merged.mask  # l counts once: no other logit is an offset
    torch.testing.assert_close(raised, probability)
    separate = rows.log_policy(logits).exp()[0]
    promotes = sum(separate[rows.index[0].tolist().index(MOVES.index("a7a8" + piece))] for piece in offsets)
    assert abs(promotes.item() - 0.982) < 1e-3  # the true chance of promoting
    assert merged.mask.sum().item() == 4  # one slot and three king moves
    for piece in offsets:
        column = rows.index[0].tolist().index(MOVES.index("a7a8" + piece))
        assert merged.column(torch.tensor([column])).item() == pawn


def test_positions_without_promotions_are_untouched_and_two_pawns_have_two_slots():
    fens = [None, "1n5k/P1P5/8/8/8/8/8/K7 w - - 0 1", "k7/8/8/8/8/8/p6K/1N6 b - - 0 1"]
    games, rows, merged = _merged(fens)
    logits = torch.randn(3, 1858, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(merged.log_policy(logits)[0], rows.log_policy(logits)[0])
    for row in range(3):
        legal = [games.uci(row, index) for index in rows.index[row][rows.mask[row]].tolist()]
        assert merged.mask[row].sum().item() == len({uci[:4] for uci in legal})
    # a7xb8, a7a8, c7xb8, c7c8 for White; a2xb1, a2a1 for Black.
    promoting = [int((merged.weight[row] == -2).sum()) for row in range(3)]
    assert promoting == [0, 4, 2]
    total = (merged.log_policy(logits).exp() * merged.mask).sum(1)
    torch.testing.assert_close(total, torch.ones(3))
