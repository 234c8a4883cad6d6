"""Ragged policies and choices against one position at a time."""

import numpy as np

from searchless_rl.board import GameBatch
from searchless_rl.evaluation.policy import argmax_moves, log_probabilities, ranks

FENS = [None, "7k/8/5K2/6Q1/8/8/8/8 b - - 0 1", "8/P6k/8/8/8/8/8/K7 w - - 0 1"]


def _case(seed=0):
    legal = GameBatch(FENS).legal()
    logits = np.random.default_rng(seed).standard_normal((3, 1858)).astype(np.float32)
    return logits, legal


def test_log_probabilities_are_the_softmax_of_each_position():
    logits, legal = _case()
    logits *= 10
    found = log_probabilities(logits, legal)
    for row in range(3):
        mine = slice(legal.start[row], legal.start[row + 1])
        scores = np.exp(logits[row, legal.index[mine]].astype(np.float64))
        np.testing.assert_allclose(np.exp(found[mine]), scores / scores.sum(), rtol=1e-9)


def test_huge_logits_do_not_overflow():
    logits, legal = _case()
    found = log_probabilities(np.float32(1e30) * logits, legal)
    assert np.isfinite(found).all()
    assert found.max() == 0


def test_argmax_takes_the_lowest_of_tied_moves_and_says_so():
    logits, legal = _case()
    moves = legal.index[legal.start[0] : legal.start[1]]
    logits[0, moves[[3, 11]]] = 50.0, 50.000004
    choice = argmax_moves(logits, legal)
    assert choice.move[0] == moves[3]
    assert choice.tied.tolist() == [True, False, False]
    logits[0, moves[11]] = 50.001
    choice = argmax_moves(logits, legal)
    assert choice.move[0] == moves[11]
    assert not choice.tied.any()


def test_argmax_never_leaves_the_legal_moves():
    logits, legal = _case()
    logits[:] = 100.0
    logits[legal.row, legal.index] = -100.0 - legal.index / 10_000
    choice = argmax_moves(logits, legal)
    assert choice.move.tolist() == [int(legal.index[start]) for start in legal.start[:-1]]


def test_ranks_fall_with_the_logits():
    logits, legal = _case()
    places = ranks(logits, legal)
    for row in range(3):
        mine = slice(legal.start[row], legal.start[row + 1])
        falling = np.argsort(-logits[row, legal.index[mine]])
        assert places[mine][falling].tolist() == list(range(1, len(falling) + 1))


def test_the_move_of_rank_one_is_the_choice_also_where_moves_tie():
    logits, legal = _case()
    moves = legal.index[legal.start[0] : legal.start[1]]
    logits[0, moves[[3, 11, 5]]] = 50.0, 50.000004, 49.0
    places = ranks(logits, legal)
    first = legal.index[places == 1]
    assert first.tolist() == argmax_moves(logits, legal).move.tolist()
    assert places[[3, 11, 5]].tolist() == [1, 2, 3]
    for row in range(3):
        mine = slice(legal.start[row], legal.start[row + 1])
        assert sorted(places[mine]) == list(range(1, legal.start[row + 1] - legal.start[row] + 1))
