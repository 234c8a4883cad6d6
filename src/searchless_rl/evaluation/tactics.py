"""Puzzle accuracy and solution probability of a searchless player (paper section 3.1, Metrics).

The line of a puzzle is played out, whatever the player would have done, and the player is asked at every
solver position s with winning set W(s), the marked move and every mate in one:

* solved: the most likely move lies in W(s) at every solver position;
* solution probability: exp(−ℓ) with ℓ = −Σ log Σ_{a∈W(s)} π(a|s), the chance of sampling the whole solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from searchless_rl.board import GameBatch
from searchless_rl.evaluation.intervals import wilson
from searchless_rl.evaluation.policy import argmax_moves, log_probabilities
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.suites.files import SuiteItem

CHUNK = 1024  # puzzles in flight; bounds memory, not results


def score_suite(
    evaluator: Evaluator, items: Sequence[SuiteItem], advance: Callable[[int], Any] = lambda count: None
) -> pd.DataFrame:
    """Score every puzzle of a suite.

    History is the FEN and the opponent's first move (lc0's fill before it).

    Args:
        evaluator: the player.
        items: puzzles with their winning sets.
        advance: told the number of puzzles just finished.

    Returns:
        One row per puzzle, in order: puzzle_id, rating, positions (solver positions), correct (of these,
        the most likely move in the winning set), solved, log_probability (−ℓ, nats), ties (positions whose
        choice another move ties).
    """
    frames = []
    for begin in range(0, len(items), CHUNK):
        chunk = items[begin : begin + CHUNK]
        frames.append(_score_chunk(evaluator, chunk))
        advance(len(chunk))
    if not frames:
        return _score_chunk(evaluator, ())
    return pd.concat(frames, ignore_index=True)


def _score_chunk(evaluator: Evaluator, items: Sequence[SuiteItem]) -> pd.DataFrame:
    games = GameBatch([item.puzzle.fen for item in items])
    correct, ties = np.zeros(len(items), np.int64), np.zeros(len(items), np.int64)
    log_probability = np.zeros(len(items))
    positions = np.array([len(item.winning) for item in items], np.int64)
    for turn in range(int(positions.max(initial=0))):
        rows = np.flatnonzero(positions > turn)
        _play(games, items, rows, 2 * turn)
        legal = games.legal(rows)
        logits = evaluator(games.planes(rows)).policy
        choice = argmax_moves(logits, legal)
        log_policy = log_probabilities(logits, legal)
        for place, row in enumerate(rows.tolist()):
            winning = [games.index(row, uci) for uci in items[row].winning[turn]]
            mine = slice(legal.start[place], legal.start[place + 1])
            wins = np.isin(legal.index[mine], winning)
            log_probability[row] += np.logaddexp.reduce(log_policy[mine][wins])
            correct[row] += choice.move[place] in winning
        ties[rows] += choice.tied
        _play(games, items, rows[positions[rows] > turn + 1], 2 * turn + 1)
    return pd.DataFrame(
        {
            "puzzle_id": [item.puzzle.id for item in items],
            "rating": np.array([item.puzzle.rating for item in items], np.int64),
            "positions": positions,
            "correct": correct,
            "solved": correct == positions,
            "log_probability": log_probability,
            "ties": ties,
        }
    )


def _play(games: GameBatch, items: Sequence[SuiteItem], rows: np.ndarray, ply: int) -> None:
    moves = [games.index(row, items[row].puzzle.moves[ply]) for row in rows.tolist()]
    games.step(rows, np.array(moves, np.int64))


def summarize(scores: pd.DataFrame) -> dict[str, float | int | None]:
    """Figures of one suite: n, k solved, accuracy with its Wilson interval, solution probability.

    Rates are fractions; of an empty suite they are None. The geometric mean exp(mean log p) is the paper's
    (Table 4), the arithmetic mean stands beside it.
    """
    n, k = len(scores), int(scores["solved"].sum())
    counts = {
        "n": n,
        "k": k,
        "positions": int(scores["positions"].sum()),
        "correct": int(scores["correct"].sum()),
        "ties": int(scores["ties"].sum()),
    }
    if n == 0:
        return counts | dict.fromkeys(("accuracy", "low", "high", "geometric_mean", "arithmetic_mean"))
    low, high = wilson(k, n)
    return counts | {
        "accuracy": k / n,
        "low": low,
        "high": high,
        "geometric_mean": float(np.exp(scores["log_probability"].mean())),
        "arithmetic_mean": float(np.exp(scores["log_probability"]).mean()),
    }
