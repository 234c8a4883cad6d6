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
from searchless_rl.evaluation.policy import argmax_moves, log_probabilities, ranks
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.statistics.intervals import wilson
from searchless_rl.suites.files import SuiteItem

CHUNK = 2048  # puzzles in flight; bounds memory (about 200 MB), not results
PUZZLE_COLUMNS = {
    "puzzle_id": str,
    "rating": np.int64,
    "positions": np.int64,
    "correct": np.int64,
    "solved": bool,
    "log_probability": np.float64,
    "ties": np.int64,
}
POSITION_COLUMNS = {
    "puzzle_id": str,
    "turn": np.int64,
    "move": str,
    "marked": str,
    "right": bool,
    "log_winning": np.float64,
    "rank": np.int64,
    "winning_probability": np.float64,
    "top_probability": np.float64,
    "second_probability": np.float64,
    "win": np.float64,
    "draw": np.float64,
    "loss": np.float64,
    "tied": bool,
}


class Scores(NamedTuple):
    """What a player did on a suite.

    Attributes:
        puzzles: one row per puzzle, in the suite's order: puzzle_id, rating, positions (solver positions),
            correct (of these, the most likely move in the winning set), solved, log_probability (−ℓ, nats),
            ties (positions whose choice another move ties).
        positions: one row per solver position, puzzle by puzzle in order of play: puzzle_id, turn (0 for the
            solver's first move), move (UCI of the most likely move), marked (UCI of the marked move), right
            (move in W(s)), log_winning (log Σ_{a∈W(s)} π(a|s), nats), rank and winning_probability (of the
            most likely move of W(s); rank 1 is `move`), top_probability and second_probability (of the moves
            ranked first and second; 0 where only one is legal), win, draw, loss (the value head at s, for the
            solver), tied (another move ties `move`).
    """

    puzzles: pd.DataFrame
    positions: pd.DataFrame


def score_suite(
    evaluator: Evaluator, items: Sequence[SuiteItem], advance: Callable[[int], Any] = lambda count: None
) -> Scores:
    """Score every puzzle of a suite.

    History is the FEN and the opponent's first move (lc0's fill before it).

    Args:
        evaluator: the player.
        items: puzzles with their winning sets.
        advance: told the number of puzzles just finished.
    """
    if not items:
        return Scores(_empty(PUZZLE_COLUMNS), _empty(POSITION_COLUMNS))
    parts = []
    for begin in range(0, len(items), CHUNK):
        chunk = items[begin : begin + CHUNK]
        parts.append(_score_chunk(evaluator, chunk))
        advance(len(chunk))
    return Scores(*(pd.concat(frames, ignore_index=True) for frames in zip(*parts, strict=True)))


def _empty(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({name: np.zeros(0, kind) for name, kind in columns.items()})


def _score_chunk(evaluator: Evaluator, items: Sequence[SuiteItem]) -> Scores:
    asked = _solver_positions(items)
    # All positions of all turns in one call: the evaluator pads its last batch only.
    logits, wdl = evaluator(asked.planes)
    first = asked.legal.start[:-1]
    choice = argmax_moves(logits, asked.legal)
    log_policy = log_probabilities(logits, asked.legal)
    log_winning = np.logaddexp.reduceat(np.where(asked.wins, log_policy, -np.inf), first)
    chosen = asked.legal.index == choice.move[asked.legal.row]
    right = np.add.reduceat(chosen & asked.wins, first)

    def per_puzzle(values: np.ndarray) -> np.ndarray:
        return np.bincount(asked.puzzle, values, minlength=len(items))

    solver_positions = per_puzzle(np.ones(len(asked.puzzle))).astype(np.int64)
    correct = per_puzzle(right).astype(np.int64)
    puzzles = pd.DataFrame(
        {
            "puzzle_id": [item.puzzle.id for item in items],
            "rating": np.array([item.puzzle.rating for item in items], np.int64),
            "positions": solver_positions,
            "correct": correct,
            "solved": correct == solver_positions,
            "log_probability": per_puzzle(log_winning),
            "ties": per_puzzle(choice.tied).astype(np.int64),
        }
    )
    places = ranks(logits, asked.legal)
    by_place = np.empty_like(log_policy)
    by_place[asked.legal.start[asked.legal.row] + places - 1] = np.exp(log_policy)
    rank = np.minimum.reduceat(np.where(asked.wins, places, POLICY_SIZE), first)
    has_second = np.diff(asked.legal.start) > 1
    positions = pd.DataFrame(
        {
            "puzzle_id": [items[row].puzzle.id for row in asked.puzzle.tolist()],
            "turn": asked.turn,
            "move": asked.names(choice.move),
            "marked": [
                items[row].winning[turn][0]
                for row, turn in zip(asked.puzzle.tolist(), asked.turn.tolist(), strict=True)
            ],
            "right": right.astype(bool),
            "log_winning": log_winning,
            "rank": rank,
            "winning_probability": by_place[first + rank - 1],
            "top_probability": by_place[first],
            "second_probability": np.where(has_second, by_place[first + has_second], 0.0),
            "win": wdl[:, 0].astype(np.float64),
            "draw": wdl[:, 1].astype(np.float64),
            "loss": wdl[:, 2].astype(np.float64),
            "tied": choice.tied,
        }
    )
    in_order_of_play = np.argsort(asked.puzzle, kind="stable")
    return Scores(puzzles, positions.iloc[in_order_of_play])


class _Asked(NamedTuple):
    """Every solver position of some puzzles, turn by turn.

    Planes, legal moves, which of these win, the position's puzzle and turn, and the games of each turn.
    """

    planes: np.ndarray
    legal: LegalMoves
    wins: np.ndarray
    puzzle: np.ndarray
    turn: np.ndarray
    games: list[GameBatch]

    def names(self, moves: np.ndarray) -> list[str]:
        """UCI of one policy index per position."""
        rows = [(games, row) for games in self.games for row in range(len(games))]
        return [games.uci(row, move) for (games, row), move in zip(rows, moves.tolist(), strict=True)]


def first_positions(items: Sequence[SuiteItem]) -> GameBatch:
    """A game per puzzle, before the opponent's first move, with the history where it is known."""
    games = GameBatch([None if item.puzzle.history else item.puzzle.fen for item in items])
    games.play([item.puzzle.history for item in items])
    return games


def _solver_positions(items: Sequence[SuiteItem]) -> _Asked:
    games = first_positions(items)
    turns = np.array([len(item.winning) for item in items], np.int64)
    planes = np.empty((turns.sum(), 112, 8, 8), np.float32)
    legal, puzzle, seen = [], [], []
    winning: list[int] = []  # position * 1858 + index, over all positions
    count = 0
    for turn in range(int(turns.max(initial=0))):
        # The opponent's move, and before it the solver's of the turn before.
        plies = slice(max(2 * turn - 1, 0), 2 * turn + 1)
        games.play([item.puzzle.moves[plies] if len(item.winning) > turn else () for item in items])
        rows = np.flatnonzero(turns > turn)
        planes[count : count + len(rows)] = games.planes(rows)
        legal.append(games.legal(rows))
        for position, row in enumerate(rows.tolist(), start=count):
            winning += [POLICY_SIZE * position + games.index(row, uci) for uci in items[row].winning[turn]]
        puzzle.append(rows)
        seen.append(games.select(rows))
        count += len(rows)
    moves = LegalMoves.concatenate(legal)
    wins = np.isin(POLICY_SIZE * moves.row + moves.index, winning)
    asked_in = np.repeat(np.arange(len(puzzle)), [len(rows) for rows in puzzle])
    return _Asked(planes, moves, wins, np.concatenate(puzzle), asked_in, seen)


def summarize(puzzles: pd.DataFrame) -> dict[str, float | int | None]:
    """Figures of one suite: n, k solved, accuracy with its Wilson interval, solution probability.

    Rates are fractions; of an empty suite they are None. The geometric mean exp(mean log p) is the paper's
    (Table 4), the arithmetic mean stands beside it.
    """
    n, k = len(puzzles), int(puzzles["solved"].sum())
    counts = {
        "n": n,
        "k": k,
        "positions": int(puzzles["positions"].sum()),
        "correct": int(puzzles["correct"].sum()),
        "ties": int(puzzles["ties"].sum()),
    }
    if n == 0:
        return counts | dict.fromkeys(("accuracy", "low", "high", "geometric_mean", "arithmetic_mean"))
    low, high = wilson(k, n)
    return counts | {
        "accuracy": k / n,
        "low": low,
        "high": high,
        "geometric_mean": float(np.exp(puzzles["log_probability"].mean())),
        "arithmetic_mean": float(np.exp(puzzles["log_probability"]).mean()),
    }
