"""Statistics over whole self-play games: calibration of the value head, diversity of the openings."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from searchless_rl.board import Ending, GameBatch

OPENING_PLIES = 4
RECENT = 100
RUNNING_COUNTS = ("openings_played", "openings_distinct")
"""Metrics that add up over the run; the others are of one step."""


class GameStatistics:
    """Two figures of N self-play games that no single step shows.

    * Value calibration: the squared error of v_θ along each finished game against its result, from three
      sums a game.
    * Opening diversity: distinct lines of the first `OPENING_PLIES` plies of the games begun during training,
      which the paper names as unmeasured (Limitations). Warm-start games, begun by the base, are left out.
    """

    def __init__(self, games: int) -> None:
        self._sums = np.zeros((games, 3))  # positions, Σ v, Σ v² with v from White's view
        self._unread = np.zeros(games, bool)  # begun in training, first plies not read yet
        self._lines: dict[tuple[int, ...], int] = {}
        self._recent: list[tuple[int, ...]] = []

    def state(self) -> dict[str, Any]:
        """The whole state, in types that a checkpoint can hold."""
        return {
            "sums": torch.from_numpy(self._sums.copy()),
            "unread": torch.from_numpy(self._unread.copy()),
            "lines": [[list(line), count] for line, count in self._lines.items()],
            "recent": [list(line) for line in self._recent],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a `state`."""
        self._sums = state["sums"].numpy().copy()
        self._unread = state["unread"].numpy().copy()
        self._lines = {tuple(line): count for line, count in state["lines"]}
        self._recent = [tuple(line) for line in state["recent"]]

    def observe(self, value: np.ndarray, games: GameBatch, over: np.ndarray) -> dict[str, float]:
        """Add one ply.

        Args:
            value: float64 [N] v_θ(s) of the side that has just moved, in [0, 1].
            games: after their moves.
            over: bool [N] games that end here.

        Returns:
            Figures of the games that end, absent where none does: value_brier (mean over their positions of
            (v − result)²), value_predicted and value_outcome (means over the same positions, White's view).
        """
        white = np.where(games.is_white, 1 - value, value)  # the side to move is now the other
        self._sums += np.stack([np.ones_like(white), white, white**2], 1)
        if not over.any():
            return {}
        mated = games.ending[over] == Ending.CHECKMATE
        result = np.where(mated, np.where(games.is_white[over], 0.0, 1.0), 0.5)
        count, total, squares = self._sums[over].T
        positions = count.sum()
        self._sums[over] = 0
        return {
            "value_brier": float((squares - 2 * result * total + count * result**2).sum() / positions),
            "value_predicted": float(total.sum() / positions),
            "value_outcome": float((count * result).sum() / positions),
        }

    def read_openings(self, games: GameBatch) -> None:
        """Count the openings of games that have reached `OPENING_PLIES` plies."""
        for row in np.flatnonzero(self._unread & (games.plies >= OPENING_PLIES)).tolist():
            line = tuple(games.moves[row][:OPENING_PLIES])
            self._lines[line] = self._lines.get(line, 0) + 1
            self._recent = [*self._recent[-RECENT + 1 :], line]
            self._unread[row] = False

    def begin(self, rows: np.ndarray) -> None:
        """Count the openings of the games in `rows`, which have just been restarted."""
        self._unread[rows] = True

    def openings(self) -> dict[str, float]:
        """Counts so far (openings_played, openings_distinct) and distinct ones among the last `RECENT`."""
        return {
            "openings_played": sum(self._lines.values()),
            "openings_distinct": len(self._lines),
            "openings_recent": len(set(self._recent)),
        }
