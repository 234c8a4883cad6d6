"""A network's policy over the legal moves of many positions, as ragged arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from searchless_rl.board import LegalMoves

TIE = 1e-5
"""Logits closer than this count as equal, and the lowest index wins: hardware may order them either way.

The paper says argmax only; positions where it matters are counted (`Choice.tied`).
"""


class Choice(NamedTuple):
    """The most likely move of N positions.

    Attributes:
        move: int64 [N] policy indices, of tied moves the lowest.
        tied: bool [N]: another move's logit lies within `TIE`.
    """

    move: np.ndarray
    tied: np.ndarray


def log_probabilities(logits: np.ndarray, legal: LegalMoves) -> np.ndarray:
    """Log-softmax over the legal moves of each position.

    Args:
        logits: float32 [N, 1858] raw policy logits.
        legal: legal moves of the same N positions, at least one each.

    Returns:
        float64 [M], aligned with `legal.index`.
    """
    scores: np.ndarray = logits[legal.row, legal.index].astype(np.float64)
    scores -= np.maximum.reduceat(scores, legal.start[:-1])[legal.row]
    scores -= np.log(np.add.reduceat(np.exp(scores), legal.start[:-1]))[legal.row]
    return scores


def ranks(logits: np.ndarray, legal: LegalMoves) -> np.ndarray:
    """Place of every legal move in its position's order, 1 for the choice of `argmax_moves`.

    Moves that tie with the best come first, the lowest index before the others; then falling logits.

    Returns:
        int64 [M], aligned with `legal.index` (arguments as `log_probabilities`).
    """
    scores = logits[legal.row, legal.index]
    near = scores >= np.maximum.reduceat(scores, legal.start[:-1])[legal.row] - TIE
    order = np.lexsort((legal.index, np.where(near, -np.inf, -scores), legal.row))
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) - legal.start[legal.row] + 1  # rows ascend, before and after
    return places


def argmax_moves(logits: np.ndarray, legal: LegalMoves) -> Choice:
    """The argmax move of a searchless player, section 3.1 (arguments as `log_probabilities`)."""
    scores = logits[legal.row, legal.index]
    near = scores >= np.maximum.reduceat(scores, legal.start[:-1])[legal.row] - TIE
    best = np.flatnonzero(near)
    _, first, count = np.unique(legal.row[best], return_index=True, return_counts=True)
    return Choice(legal.index[best[first]], count > 1)
