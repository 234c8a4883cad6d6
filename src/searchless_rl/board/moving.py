"""Moves made on bitboards, N positions at once.

The move generator knows each move to be legal before it comes here; what is left is where the pieces stand
afterwards and which rights to castle remain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from searchless_rl.board.policy_map import PLAIN_MOVES, PROMOTION_MOVES
from searchless_rl.board.positions import BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK

_SQUARE = np.uint64(1) << np.arange(64, dtype=np.uint64)
_MOVES = [*PLAIN_MOVES, *((start, end) for start, end, _ in PROMOTION_MOVES)]
_START = np.array([start for start, _ in _MOVES])
_END = np.array([end for _, end in _MOVES])
_PROMOTED = np.array(
    [KNIGHT] * len(PLAIN_MOVES) + [(QUEEN, ROOK, BISHOP)[piece] for _, _, piece in PROMOTION_MOVES]
)
"""What a pawn becomes on the last rank, by policy index."""
_HOMES = np.array(
    [_SQUARE[4] | _SQUARE[7], _SQUARE[4] | _SQUARE[0], _SQUARE[60] | _SQUARE[63], _SQUARE[60] | _SQUARE[56]]
)
"""King and rook of each right to castle: White's short and long, Black's short and long."""


class Moved(NamedTuple):
    """Positions after a move.

    Attributes:
        position: uint64 [N, 12] bitboards.
        castling: bool [N, 4] rights: White's short and long, Black's short and long.
    """

    position: np.ndarray
    castling: np.ndarray


def make_moves(position: np.ndarray, castling: np.ndarray, is_white: np.ndarray, index: np.ndarray) -> Moved:
    """Make one legal move in each position.

    Args:
        position: uint64 [N, 12] bitboards (bit 8*rank + file): White's pawn, knight, bishop, rook, queen,
            king, then Black's.
        castling: bool [N, 4] rights, as in `Moved`.
        is_white: bool [N]: White moves.
        index: int [N] policy indices of legal moves; legality is not checked.
    """
    row = np.arange(len(index))
    flip = np.where(is_white, 0, 56)
    start, end = _START[index] ^ flip, _END[index] ^ flip
    source, target = _SQUARE[start], _SQUARE[end]
    mover = np.where(is_white, 0, 1)
    sides = position.reshape(-1, 2, 6)
    own, other = sides[row, mover], sides[row, 1 - mover]

    piece = ((own & source[:, None]) != 0).argmax(1)
    is_pawn = piece == PAWN
    castles = (piece == KING) & ((own[:, ROOK] & target) != 0)
    captures = ((other & target[:, None]) != 0).any(1)
    # A pawn that changes its file onto an empty square takes the one beside it in passing.
    passes = is_pawn & ~captures & (start % 8 != end % 8)
    other &= ~np.where(passes, _SQUARE[start // 8 * 8 + end % 8], target)[:, None]

    # Castling is the king moving onto its rook; king and rook land beside each other on the files g and f,
    # or c and d.
    is_short = end > start
    rook_end = start + np.where(is_short, 1, -1)
    own[row, piece] ^= source
    own[:, ROOK] ^= np.where(castles, target | _SQUARE[np.where(castles, rook_end, 0)], 0)
    landed = np.where(castles, _SQUARE[np.where(castles, start + np.where(is_short, 2, -2), 0)], target)
    becomes = np.where(is_pawn & (_END[index] >= 56), _PROMOTED[index], piece)
    own[row, becomes] |= landed

    after = np.empty_like(sides)
    after[row, mover], after[row, 1 - mover] = own, other
    kept = castling & (((source | target)[:, None] & _HOMES) == 0)
    return Moved(after.reshape(-1, 12), kept)
