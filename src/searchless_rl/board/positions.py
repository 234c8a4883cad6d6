"""Positions as numbers: bitboards, rights to castle, what the rules say of them.

A bitboard has bit 8*rank + file. Twelve of them are a position: White's pawns, knights, bishops, rooks,
queens, king, then Black's.
"""

from __future__ import annotations

from collections.abc import Sequence

import cozy_chess as cozy
import numpy as np

PIECES = (
    cozy.Piece.Pawn,
    cozy.Piece.Knight,
    cozy.Piece.Bishop,
    cozy.Piece.Rook,
    cozy.Piece.Queen,
    cozy.Piece.King,
)
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
FILE_A, FILE_H = 0x0101010101010101, 0x8080808080808080
SQUARES = np.uint64(1) << np.arange(64, dtype=np.uint64)
"""uint64 [64]: the bitboard of each square."""
_KING_HOMES, _ROOK_HOMES = SQUARES[[4, 4, 60, 60]], SQUARES[[7, 0, 63, 56]]


def bitboards(boards: Sequence[cozy.Board]) -> np.ndarray:
    """uint64 [N, 12] of the move generator's boards."""
    pieces = np.array([[int(board.pieces(piece)) for board in boards] for piece in PIECES], np.uint64)
    white = np.array([int(board.colors(cozy.Color.White)) for board in boards], np.uint64)
    return np.concatenate([pieces & white, pieces & ~white]).T


def castling_rights(board: cozy.Board) -> tuple[bool, bool, bool, bool]:
    """White's short and long right to castle, then Black's."""
    white, black = board.castle_rights(cozy.Color.White), board.castle_rights(cozy.Color.Black)
    return white.has_short(), white.has_long(), black.has_short(), black.has_long()


def at_home(position: np.ndarray) -> np.ndarray:
    """King and rook stand where they can castle from: what a right to castle needs, and loses for good.

    Args:
        position: uint64 [N, 12].

    Returns:
        bool [N, 4]: White's short and long side, Black's short and long.
    """
    kings, rooks = (
        position[:, [KING, KING, KING + 6, KING + 6]],
        position[:, [ROOK, ROOK, ROOK + 6, ROOK + 6]],
    )
    home: np.ndarray = ((kings & _KING_HOMES) != 0) & ((rooks & _ROOK_HOMES) != 0)
    return home


def pseudo_legal_en_passant(board: cozy.Board) -> int:
    """File 0..7 of a pawn that was just pushed two squares beside an enemy pawn, else -1 (pins ignored)."""
    pushed = board.en_passant()
    if pushed is None:
        return -1
    file = pushed.__index__()
    is_white = board.side_to_move() == cozy.Color.White
    landed = 1 << (8 * (4 if is_white else 3) + file)
    beside = (landed & ~FILE_A) >> 1 | (landed & ~FILE_H) << 1
    capturers = int(board.colored_pieces(board.side_to_move(), cozy.Piece.Pawn))
    return file if beside & capturers else -1


def insufficient_material(position: np.ndarray) -> np.ndarray:
    """Draw by insufficient material, as python-chess defines it (no sequence of moves can mate).

    Args:
        position: uint64 [N, 12] bitboards.

    Returns:
        bool [N].
    """
    light = np.uint64(0x55AA55AA55AA55AA)
    both = position[:, :6] | position[:, 6:]
    majors = both[:, PAWN] | both[:, ROOK] | both[:, QUEEN]
    knights = np.bitwise_count(both[:, KNIGHT])
    bishops = both[:, BISHOP]
    one_colour = ((bishops & light) == 0) | ((bishops & ~light) == 0)
    lone_knight = (knights == 1) & (bishops == 0)
    drawn: np.ndarray = (majors == 0) & (lone_knight | ((knights == 0) & one_colour))
    return drawn
