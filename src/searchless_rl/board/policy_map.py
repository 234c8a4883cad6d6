"""The 1858 moves of Lc0's policy head and the gathers that produce them from a head's raw output.

All moves are written in the mover's frame: Black's are flipped vertically first (``square ^ 56``).
Squares are ``8 * rank + file`` with a1 = 0. Order (checked against the real lc0, see
``tests/board/test_policy_map.py``):

1. indices 0..1791: every (from, to) pair on one file, rank or diagonal or a knight jump apart,
   sorted by from, then to. A knight promotion is its plain (from, to) entry.
2. indices 1792..1857: promotions to queen, rook, bishop, sorted by from-file, to-file, piece.

Castling is the king moving onto its own rook: e1h1 and e1a1.
"""

from __future__ import annotations

import numpy as np

POLICY_SIZE = 1858
SQUARES = tuple(f"{file}{rank}" for rank in "12345678" for file in "abcdefgh")
PROMOTIONS = "qrb"  # the order within the promotion entries; a knight promotion has no entry of its own

_KNIGHT_JUMPS = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
_COMPASS = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))


def _offset(start: int, end: int) -> tuple[int, int]:
    """(files, ranks) from one square to another."""
    return end % 8 - start % 8, end // 8 - start // 8


def _plain_moves() -> list[tuple[int, int]]:
    def reachable(start: int, end: int) -> bool:
        files, ranks = _offset(start, end)
        on_line = files == 0 or ranks == 0 or abs(files) == abs(ranks)
        return start != end and (on_line or (files, ranks) in _KNIGHT_JUMPS)

    return [(start, end) for start in range(64) for end in range(64) if reachable(start, end)]


def _promotion_moves() -> list[tuple[int, int, int]]:
    """(from, to, position of the piece in PROMOTIONS)."""
    return [
        (48 + file, 56 + to_file, piece)
        for file in range(8)
        for to_file in range(max(0, file - 1), min(7, file + 1) + 1)
        for piece in range(3)
    ]


PLAIN_MOVES = _plain_moves()
PROMOTION_MOVES = _promotion_moves()
MOVES: tuple[str, ...] = tuple(SQUARES[start] + SQUARES[end] for start, end in PLAIN_MOVES) + tuple(
    SQUARES[start] + SQUARES[end] + PROMOTIONS[piece] for start, end, piece in PROMOTION_MOVES
)
"""UCI of every index, mover's frame (castling king-takes-rook, knight promotions without suffix)."""


def _plain_index() -> np.ndarray:
    table = np.full((64, 64), -1, np.int16)
    for index, (start, end) in enumerate(PLAIN_MOVES):
        table[start, end] = index
    return table


def _promotion_index() -> np.ndarray:
    table = np.full((8, 8, 3), -1, np.int16)
    for index, (start, end, piece) in enumerate(PROMOTION_MOVES, start=len(PLAIN_MOVES)):
        table[start % 8, end % 8, piece] = index
    return table


PLAIN_INDEX = _plain_index()
"""int16 [from, to]: the index of a plain move, -1 where there is none."""
PROMOTION_INDEX = _promotion_index()
"""int16 [from-file, to-file, piece in PROMOTIONS]: the index of a promotion, -1 where there is none."""


def _attention_gather() -> np.ndarray:
    plain = [64 * start + end for start, end in PLAIN_MOVES]
    promotion = [4096 + 24 * (start % 8) + 3 * (end % 8) + piece for start, end, piece in PROMOTION_MOVES]
    return np.array(plain + promotion, np.int64)


def _convolution_plane(start: int, end: int) -> int:
    files, ranks = _offset(start, end)
    if (files, ranks) in _KNIGHT_JUMPS:
        return 56 + _KNIGHT_JUMPS.index((files, ranks))
    distance = max(abs(files), abs(ranks))
    return 7 * _COMPASS.index((files // distance, ranks // distance)) + distance - 1


def _convolution_gather() -> np.ndarray:
    plain = [64 * _convolution_plane(start, end) + start for start, end in PLAIN_MOVES]
    # Planes 64..72: direction NW, N, NE (outer), piece rook, bishop, queen (inner).
    plane_piece = {"r": 0, "b": 1, "q": 2}
    promotion = [
        64 * (64 + 3 * (end % 8 - start % 8 + 1) + plane_piece[PROMOTIONS[piece]]) + start
        for start, end, piece in PROMOTION_MOVES
    ]
    return np.array(plain + promotion, np.int64)


ATTENTION_GATHER = _attention_gather()
"""int64 [1858]: positions in an attention policy head's flat 64*64 + 8*24 output (policy format 3)."""
CONVOLUTION_GATHER = _convolution_gather()
"""int64 [1858]: positions in a convolutional policy head's flat 80*64 output (policy format 2)."""
