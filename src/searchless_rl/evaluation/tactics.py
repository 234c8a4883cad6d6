"""Puzzle accuracy and solution probability of a searchless player (paper section 3.1, Metrics).

The line of a puzzle is played out, whatever the player would have done, and the player is asked at every
solver position s with winning set W(s), the marked move and every mate in one:

* solved: the most likely move lies in W(s) at every solver position;
* solution probability: exp(−ℓ) with ℓ = −Σ log Σ_{a∈W(s)} π(a|s), the chance of sampling the whole solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from searchless_rl.board import POLICY_SIZE, GameBatch, LegalMoves
from searchless_rl.evaluation.intervals import wilson
from searchless_rl.evaluation.policy import argmax_moves, log_probabilities
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.suites.files import SuiteItem

CHUNK = 1024  # puzzles in flight; bounds memory, not results
COLUMNS = {
    "puzzle_id": str,
    "rating": np.int64,
    "positions": np.int64,
    "correct": np.int64,
    "solved": bool,
    "log_probability": np.float64,
    "ties": np.int64,
}


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
    if not items:
        return pd.DataFrame({name: np.zeros(0, kind) for name, kind in COLUMNS.items()})
    frames = []
    for begin in range(0, len(items), CHUNK):
        chunk = items[begin : begin + CHUNK]
        frames.append(_score_chunk(evaluator, chunk))
        advance(len(chunk))
    return pd.concat(frames, ignore_index=True)


def _score_chunk(evaluator: Evaluator, items: Sequence[SuiteItem]) -> pd.DataFrame:
    asked = _solver_positions(items)
    # All positions of all turns in one call: the evaluator pads its last batch only.
    logits = evaluator(asked.planes).policy
    choice = argmax_moves(logits, asked.legal)
    log_policy = log_probabilities(logits, asked.legal)
    log_winning = np.logaddexp.reduceat(np.where(asked.wins, log_policy, -np.inf), asked.legal.start[:-1])
    chosen = asked.legal.index == choice.move[asked.legal.row]
    right = np.add.reduceat(chosen & asked.wins, asked.legal.start[:-1])

    def per_puzzle(values: np.ndarray) -> np.ndarray:
        return np.bincount(asked.puzzle, values, minlength=len(items))

    positions = per_puzzle(np.ones(len(asked.puzzle))).astype(np.int64)
    correct = per_puzzle(right).astype(np.int64)
    return pd.DataFrame(
        {
            "puzzle_id": [item.puzzle.id for item in items],
            "rating": np.array([item.puzzle.rating for item in items], np.int64),
            "positions": positions,
            "correct": correct,
            "solved": correct == positions,
            "log_probability": per_puzzle(log_winning),
            "ties": per_puzzle(choice.tied).astype(np.int64),
        }
    )


class _Asked(NamedTuple):
    """Every solver position of some puzzles: planes, legal moves, which of these win, whose puzzle."""

    planes: np.ndarray
    legal: LegalMoves
    wins: np.ndarray
    puzzle: np.ndarray


def _solver_positions(items: Sequence[SuiteItem]) -> _Asked:
    games = GameBatch([item.puzzle.fen for item in items])
    turns = np.array([len(item.winning) for item in items], np.int64)
    planes, legal = [], []
    puzzle: list[np.ndarray] = []
    winning: list[int] = []  # position * 1858 + index, over all positions
    for turn in range(int(turns.max(initial=0))):
        rows = np.flatnonzero(turns > turn)
        _play(games, items, rows, 2 * turn)
        planes.append(games.planes(rows))
        legal.append(games.legal(rows))
        for position, row in enumerate(rows.tolist(), start=sum(len(earlier) for earlier in puzzle)):
            winning += [POLICY_SIZE * position + games.index(row, uci) for uci in items[row].winning[turn]]
        puzzle.append(rows)
        _play(games, items, rows[turns[rows] > turn + 1], 2 * turn + 1)
    moves = LegalMoves.concatenate(legal)
    wins = np.isin(POLICY_SIZE * moves.row + moves.index, winning)
    return _Asked(np.concatenate(planes), moves, wins, np.concatenate(puzzle))


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
