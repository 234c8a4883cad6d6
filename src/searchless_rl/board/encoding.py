"""One game as the network sees its last position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from searchless_rl.board.games import GameBatch
from searchless_rl.board.planes import PLANES


def encode_game(fen: str | None, moves: Sequence[str]) -> np.ndarray:
    """Input planes of the position reached from `fen` by `moves`.

    Args:
        fen: first known position, None for the standard start position.
        moves: UCI moves, castling as e1g1 or e1h1.

    Returns:
        float32 [112, 8, 8]; history before `fen` is filled as lc0's ``fen_only`` does.

    Raises:
        PositionError: `fen` is not a playable position.
        ValueError: a move that is not UCI or not legal (move, its number and position named).
    """
    game = GameBatch([fen])
    game.play([moves])
    return game.planes().reshape(PLANES, 8, 8)
