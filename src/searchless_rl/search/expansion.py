"""Positions of the nodes, and what the network says of them: priors over legal moves, a value."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from searchless_rl.board import Ending, GameBatch, LegalMoves
from searchless_rl.nets.evaluator import Evaluation

Evaluate = Callable[[np.ndarray], Evaluation]
"""float32 [N, 112, 8, 8] planes -> outputs, such as `nets.evaluator.Evaluator`."""


class Positions:
    """The position of each node, with its game's history, in rows of one `GameBatch` that grows."""

    _GROWTH = 2

    def __init__(self) -> None:
        self._games = GameBatch([])
        self.used = 0

    def add(self, games: GameBatch) -> None:
        """The positions of the next nodes, in their order."""
        end = self.used + len(games)
        if end > len(self._games):
            room = GameBatch([None]).select(np.zeros(self._GROWTH * end, np.int64))
            if self.used:
                room.place(np.arange(self.used), self._games.select(np.arange(self.used)))
            self._games = room
        self._games.place(np.arange(self.used, end), games)
        self.used = end

    def of(self, nodes: np.ndarray) -> GameBatch:
        """Copies of the positions of some nodes."""
        return self._games.select(nodes)


def final_values(games: GameBatch) -> np.ndarray:
    """float64 [N] of games that have ended, for the side to move: -1 where it is mated, else 0, a draw."""
    return np.where(games.ending == Ending.CHECKMATE, -1.0, 0.0)


def priors(logits: np.ndarray, legal: LegalMoves) -> tuple[np.ndarray, np.ndarray]:
    """P(s,a): the softmax of raw logits over the legal moves of N positions, each with at least one.

    Args:
        logits: float32 [N, 1858].
        legal: of the positions.

    Returns:
        float64 [M] priors and int64 [M] policy indices, position after position, in each in descending order
        of the prior (equal ones by index).
    """
    raw = logits[legal.row, legal.index]
    chosen, begins = raw.astype(np.float64), legal.start[:-1]
    weight = np.exp(chosen - np.maximum.reduceat(chosen, begins)[legal.row])
    prior = weight / np.add.reduceat(weight, begins)[legal.row]
    order = np.argsort((legal.row << 32) + (_HIGHEST - _ranks(raw)), kind="stable")
    return prior[order], legal.index[order]


_HIGHEST = (1 << 32) - 1


def _ranks(values: np.ndarray) -> np.ndarray:
    """int64 [M], 0 to 2^32 - 1, in the order of float32 values: their bits, reversed below 0."""
    bits = (values + np.float32(0)).view(np.uint32)  # -0 and 0 are one number
    return np.where(bits >> 31 != 0, ~bits, bits | np.uint32(1 << 31)).astype(np.int64)
