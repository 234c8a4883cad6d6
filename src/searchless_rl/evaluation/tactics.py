"""Puzzle accuracy and solution probability of a searchless player (paper section 3.1, Metrics).

The line of a puzzle is played out, whatever the player would have done, and the player is asked at every
solver position s with winning set W(s), the marked move and every other optimal mate (`suites.winning`):

* solved: the most likely move lies in W(s) at every solver position;
* solution probability: exp(−ℓ) with the solution NLL ℓ (`solution_nll`), the chance of sampling the whole
  solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from searchless_rl.board import POLICY_SIZE, GameBatch, LegalMoves
from searchless_rl.evaluation.policy import argmax_moves, log_probabilities, ranks
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.statistics.intervals import wilson
from searchless_rl.suites.files import SuiteItem

CHUNK = 2048  # puzzles in flight; bounds memory (about 100 MB), not results
BLOCK = 1024  # positions encoded at a time; a multiple of the batch, so that only the last pass is padded
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


class SuiteScores(NamedTuple):
    """What a player did on a suite (section 3.1, Metrics).

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
) -> SuiteScores:
    """Score every puzzle of a suite.

    The input planes hold the game's true history where the suite knows it, else the puzzle's own moves from
    its FEN on, with lc0's fill before it.

    Args:
        evaluator: the player.
        items: puzzles with their winning sets.
        advance: progress callback, called with the number of puzzles just finished.
    """
    if not items:
        return SuiteScores(_empty(PUZZLE_COLUMNS), _empty(POSITION_COLUMNS))
    parts = []
    for begin in range(0, len(items), CHUNK):
        chunk = items[begin : begin + CHUNK]
        parts.append(_score_chunk(evaluator, chunk))
        advance(len(chunk))
    return SuiteScores(*(pd.concat(frames, ignore_index=True) for frames in zip(*parts, strict=True)))


def _empty(columns: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({name: np.zeros(0, kind) for name, kind in columns.items()})


def solution_nll(log_winning: np.ndarray, puzzle: np.ndarray, count: int) -> np.ndarray:
    """The solution negative log-likelihood ℓ(ξ*) = −Σ_t log Σ_{a∈W(s_t)} π(a|s_t) of section 3.1, in nats.

    Args:
        log_winning: float64 [n], log Σ_{a∈W(s)} π(a|s) of solver positions (`log_winning_mass`).
        puzzle: int64 [n], the puzzle 0..count − 1 of each.
        count: puzzles.

    Returns:
        float64 [count], >= 0; 0 where every legal move wins, infinite where a solution has no mass.
    """
    return -np.bincount(puzzle, log_winning, minlength=count)


def log_winning_mass(log_policy: np.ndarray, wins: np.ndarray, legal: LegalMoves) -> np.ndarray:
    """Log mass of the winning moves, log Σ_{a∈W(s)} π(a|s), the inner sum of ℓ (section 3.1).

    Args:
        log_policy: float64 [M] of the legal moves of n positions, in nats.
        wins: bool [M], whether each lies in W(s).
        legal: these moves.

    Returns:
        float64 [n], −inf where no move wins.
    """
    return np.logaddexp.reduceat(np.where(wins, log_policy, -np.inf), legal.start[:-1])


def _score_chunk(evaluator: Evaluator, items: Sequence[SuiteItem]) -> SuiteScores:
    asked = _solver_positions(items)
    logits, wdl = _evaluate(evaluator, asked)
    log_policy = log_probabilities(logits, asked.legal)
    choice = argmax_moves(logits, asked.legal)
    chosen = asked.legal.index == choice.move[asked.legal.row]
    right = np.add.reduceat(chosen & asked.wins, asked.legal.start[:-1])
    log_winning = log_winning_mass(log_policy, asked.wins, asked.legal)

    def per_puzzle(values: np.ndarray) -> np.ndarray:
        return np.bincount(asked.puzzle, values, minlength=len(items)).astype(np.int64)

    solver_positions, correct = per_puzzle(np.ones(len(asked.puzzle))), per_puzzle(right)
    puzzles = pd.DataFrame(
        {
            "puzzle_id": [item.puzzle.id for item in items],
            "rating": np.array([item.puzzle.rating for item in items], np.int64),
            "positions": solver_positions,
            "correct": correct,
            "solved": correct == solver_positions,
            "log_probability": -solution_nll(log_winning, asked.puzzle, len(items)),
            "ties": per_puzzle(choice.tied),
        }
    )
    positions = pd.DataFrame(
        {
            "puzzle_id": [items[row].puzzle.id for row in asked.puzzle.tolist()],
            "turn": asked.turn,
            "move": asked.names(choice.move),
            "marked": asked.marked(items),
            "right": right.astype(bool),
            "log_winning": log_winning,
            **_ranking(logits, log_policy, asked),
            "win": wdl[:, 0].astype(np.float64),
            "draw": wdl[:, 1].astype(np.float64),
            "loss": wdl[:, 2].astype(np.float64),
            "tied": choice.tied,
        }
    )
    in_order_of_play = np.argsort(asked.puzzle, kind="stable")
    return SuiteScores(puzzles, positions.iloc[in_order_of_play])


def _evaluate(evaluator: Evaluator, asked: _SolverPositions) -> tuple[np.ndarray, np.ndarray]:
    """Logits float32 [n, 1858] and win/draw/loss float32 [n, 3] of all positions of all turns in a row."""
    blocks = [evaluator(planes) for planes in asked.planes(BLOCK)]
    return np.concatenate([block.policy for block in blocks]), np.concatenate([block.wdl for block in blocks])


def _ranking(logits: np.ndarray, log_policy: np.ndarray, asked: _SolverPositions) -> dict[str, np.ndarray]:
    """Rank and π of the most likely winning move, and π of the moves ranked first and second."""
    first = asked.legal.start[:-1]
    places = ranks(logits, asked.legal)
    by_place = np.empty_like(log_policy)
    by_place[asked.legal.start[asked.legal.row] + places - 1] = np.exp(log_policy)
    rank = np.minimum.reduceat(np.where(asked.wins, places, POLICY_SIZE), first)
    has_second = np.diff(asked.legal.start) > 1
    return {
        "rank": rank,
        "winning_probability": by_place[first + rank - 1],
        "top_probability": by_place[first],
        "second_probability": np.where(has_second, by_place[first + has_second], 0.0),
    }


class _SolverPositions(NamedTuple):
    """Every solver position of some puzzles, turn by turn.

    Legal moves, which of these win, the position's puzzle and turn, and the games of each turn.
    """

    legal: LegalMoves
    wins: np.ndarray
    puzzle: np.ndarray
    turn: np.ndarray
    games: list[GameBatch]

    def planes(self, size: int) -> Iterator[np.ndarray]:
        """Input planes, float32 [size, 112, 8, 8] at a time, the last ones fewer."""
        waiting: list[np.ndarray] = []
        missing = size
        for games in self.games:
            begin = 0
            while begin < len(games):
                rows = np.arange(begin, min(begin + missing, len(games)))
                waiting.append(games.planes(rows))
                begin, missing = begin + len(rows), missing - len(rows)
                if not missing:
                    yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
                    waiting, missing = [], size
        if waiting:
            yield np.concatenate(waiting)

    def names(self, moves: np.ndarray) -> list[str]:
        """UCI of one policy index per position."""
        rows = [(games, row) for games in self.games for row in range(len(games))]
        return [games.uci(row, move) for (games, row), move in zip(rows, moves.tolist(), strict=True)]

    def marked(self, items: Sequence[SuiteItem]) -> list[str]:
        """UCI of the marked move of every position."""
        places = zip(self.puzzle.tolist(), self.turn.tolist(), strict=True)
        return [items[row].winning[turn][0] for row, turn in places]


def first_positions(items: Sequence[SuiteItem]) -> GameBatch:
    """A game per puzzle, before the opponent's first move, with the history where it is known."""
    games = GameBatch([None if item.puzzle.history else item.puzzle.fen for item in items])
    games.play([item.puzzle.history for item in items])
    return games


def _solver_positions(items: Sequence[SuiteItem]) -> _SolverPositions:
    games = first_positions(items)
    turns = np.array([len(item.winning) for item in items], np.int64)
    legal, puzzle, seen = [], [], []
    winning: list[int] = []  # position * 1858 + index, over all positions
    count = 0
    for turn in range(int(turns.max(initial=0))):
        # The opponent's move, and before it the solver's of the turn before.
        plies = slice(max(2 * turn - 1, 0), 2 * turn + 1)
        games.play([item.puzzle.moves[plies] if len(item.winning) > turn else () for item in items])
        rows = np.flatnonzero(turns > turn)
        legal.append(games.legal(rows))
        for position, row in enumerate(rows.tolist(), start=count):
            winning += [POLICY_SIZE * position + games.index(row, uci) for uci in items[row].winning[turn]]
        puzzle.append(rows)
        seen.append(games.select(rows))
        count += len(rows)
    moves = LegalMoves.concatenate(legal)
    wins = np.isin(POLICY_SIZE * moves.row + moves.index, winning)
    turn_of = np.repeat(np.arange(len(puzzle)), [len(rows) for rows in puzzle])
    return _SolverPositions(moves, wins, np.concatenate(puzzle), turn_of, seen)


def summarize(puzzles: pd.DataFrame) -> dict[str, float | int | None]:
    """Figures of one suite (section 3.1): n, k solved, accuracy with Wilson interval, solution probability.

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
