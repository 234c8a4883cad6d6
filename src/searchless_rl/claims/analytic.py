"""Numbers of the paper that follow without a run."""

from __future__ import annotations

import functools
import math

MOST_ENTROPY = math.log(3)
"""Entropy in nats of a win/draw/loss distribution that says nothing (section 2.3)."""


@functools.cache
def legal_lines(plies: int) -> int:
    """Legal sequences of moves from the standard position: perft."""
    import chess

    def count(board: chess.Board, left: int) -> int:
        if left == 1:
            return board.legal_moves.count()
        total = 0
        for move in board.legal_moves:
            board.push(move)
            total += count(board, left - 1)
            board.pop()
        return total

    return count(chess.Board(), plies)


def asymmetry(kept: float = 1e-9) -> float:
    """D(p‖q) − D(q‖p) in nats of p = (½, ½) and q = (1 − kept, kept) (section 2.2).

    The forward divergence grows without bound as q drops half of p; the reverse one stays below ln 2.
    """
    p, q = (0.5, 0.5), (1 - kept, kept)
    forward = math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
    reverse = math.fsum(b * math.log(b / a) for a, b in zip(p, q, strict=True))
    return forward - reverse
