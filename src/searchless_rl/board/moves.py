"""Moves as policy indices, in the mover's frame."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import index as as_integer

import chess
import cozy_chess as cozy
import numpy as np

from searchless_rl.board.policy_map import (
    MOVES,
    PLAIN_INDEX,
    PLAIN_MOVES,
    POLICY_SIZE,
    PROMOTION_INDEX,
    PROMOTION_MOVES,
    PROMOTIONS,
    SQUARES,
)
from searchless_rl.board.positions import KING, PAWN
from searchless_rl.text import quoted

_SQUARE_NUMBER = {name: number for number, name in enumerate(SQUARES)}
_COZY_SQUARES = [cozy.Square.from_index(number) for number in range(64)]
_COZY_PROMOTIONS = (cozy.Piece.Queen, cozy.Piece.Rook, cozy.Piece.Bishop)


def _frame_index(start: int, end: int, promotion: str, is_white: bool) -> int:
    """Index of a move given by true squares; -1 where the policy head has no such move."""
    if not is_white:
        start, end = start ^ 56, end ^ 56
    if promotion in ("", "n"):
        return int(PLAIN_INDEX[start, end])
    if start // 8 != 6 or end // 8 != 7:
        return -1
    return int(PROMOTION_INDEX[start % 8, end % 8, PROMOTIONS.index(promotion)])


def move_index(board: chess.Board, move: chess.Move) -> int:
    """Policy index 0..1857 of `move` for the side to move on `board`.

    Castling (given as e1g1 or e1h1) is the king moving onto its own rook, a knight promotion is the
    plain move. Legality is not checked beyond geometry.

    Raises:
        ValueError: the null move, or squares that no piece connects.
    """
    end = move.to_square
    if board.is_castling(move):
        is_kingside = chess.square_file(end) > chess.square_file(move.from_square)
        end = chess.square(7 if is_kingside else 0, chess.square_rank(move.from_square))
    promotion = chess.piece_symbol(move.promotion) if move.promotion else ""
    index = _frame_index(move.from_square, end, promotion, board.turn == chess.WHITE)
    if not move or index < 0:
        raise ValueError(f"{move.uci()} is not a move of the policy head (position {board.fen()})")
    return index


def uci_index(uci: str, is_white: bool, position: np.ndarray) -> int:
    """Policy index of a UCI move. The text must fit the piece that moves; legality is not checked.

    Args:
        uci: e2e4, e7e8q, castling as e1g1 or e1h1.
        is_white: White is to move.
        position: uint64 [12] bitboards, as `positions.bitboards`: the mover's pawns, and they alone, promote;
            two files from its home square are the king's castling.

    Raises:
        ValueError: not UCI, squares that no piece connects, a promotion without its letter, or a letter
            without a promotion.
    """
    start, end = _SQUARE_NUMBER.get(uci[:2], -1), _SQUARE_NUMBER.get(uci[2:4], -1)
    promotion = uci[4:]
    if start < 0 or end < 0 or promotion not in ("", "q", "r", "b", "n"):
        raise ValueError(f"{quoted(uci)} is not a move in UCI notation such as e2e4 or e7e8q")
    own = 0 if is_white else 6
    promotes = end // 8 == (7 if is_white else 0) and int(position[own + PAWN]) >> start & 1
    if promotes and not promotion:
        raise ValueError(f"{uci!r} names no piece to promote to; write {uci}q, {uci}r, {uci}b or {uci}n")
    if promotion and not promotes:
        raise ValueError(f"{uci!r} promotes, but no pawn reaches the last rank by it")
    home = 4 if is_white else 60
    if start == home and end in (home - 2, home + 2) and int(position[own + KING]) >> home & 1:
        end = home + 3 if end > start else home - 4
    index = _frame_index(start, end, promotion, is_white)
    if index < 0:
        raise ValueError(f"{uci!r} is a move that no piece can make")
    return index


def index_uci(index: int, is_white: bool, *, is_pawn: bool = False, is_king: bool = False) -> str:
    """UCI of a policy index, castling as e1g1, given what stands on the from-square.

    Args:
        index: 0..1857, mover's frame.
        is_white: White is to move.
        is_pawn: a pawn moves (a plain move to the last rank is then a knight promotion).
        is_king: a king moves (e1h1 and e1a1 are then castling).
    """
    text = MOVES[index]
    if is_king and text in ("e1h1", "e1a1"):
        text = {"e1h1": "e1g1", "e1a1": "e1c1"}[text]
    if is_pawn and len(text) == 4 and text[3] == "8":
        text += "n"
    return text if is_white else _flip_ranks(text)


def _flip_ranks(uci: str) -> str:
    return f"{uci[0]}{9 - int(uci[1])}{uci[2]}{9 - int(uci[3])}{uci[4:]}"


def _cozy_moves(flip: int) -> list[cozy.Move]:
    plain = [cozy.Move(_COZY_SQUARES[start ^ flip], _COZY_SQUARES[end ^ flip]) for start, end in PLAIN_MOVES]
    return plain + [
        cozy.Move(_COZY_SQUARES[start ^ flip], _COZY_SQUARES[end ^ flip], _COZY_PROMOTIONS[piece])
        for start, end, piece in PROMOTION_MOVES
    ]


def _knight_promotions(flip: int) -> dict[int, cozy.Move]:
    return {
        int(PLAIN_INDEX[start, end]): cozy.Move(
            _COZY_SQUARES[start ^ flip], _COZY_SQUARES[end ^ flip], cozy.Piece.Knight
        )
        for start, end, piece in PROMOTION_MOVES
        if piece == 0
    }


COZY_MOVES = (_cozy_moves(56), _cozy_moves(0))
"""The move generator's object for every index, for Black [0] and White [1]."""
COZY_KNIGHT_PROMOTIONS = (_knight_promotions(56), _knight_promotions(0))
"""The same for a pawn's plain moves to the last rank."""


def legal_indices(
    pieces: Sequence[Sequence[cozy.PieceMoves]], is_white: np.ndarray, pawns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The legal moves of N positions, from the move generator's sets of squares.

    A set of squares a piece is read at once: an object for each move would cost twice the time.

    Args:
        pieces: for each position, where each piece that can move may go; castling as the king's move onto
            its own rook.
        is_white: bool [N]: White is to move.
        pawns: uint64 [N] bitboards of the mover's pawns.

    Returns:
        int64 [M] policy indices, position after position, ascending in each; int64 [N] how many each has.
    """
    moving = list(chain.from_iterable(pieces))
    owner = np.repeat(np.arange(len(pieces)), [len(part) for part in pieces])
    start = np.array([as_integer(piece.from_square) for piece in moving], np.int64)
    ends = np.array([int(piece.to) for piece in moving], np.uint64)
    is_pawn = (pawns[owner] >> start.astype(np.uint64)) & np.uint64(1) != 0
    is_black = ~is_white[owner]
    start[is_black] ^= 56
    ends[is_black] = ends[is_black].byteswap()  # the ranks flipped
    octets = ends.astype("<u8", copy=False).view(np.uint8)
    found = np.flatnonzero(np.unpackbits(octets, bitorder="little").view(bool))
    piece, end = found // 64, found % 64
    index = PLAIN_INDEX[start[piece], end].astype(np.int64)
    promoting = np.flatnonzero(is_pawn[piece] & (end >= 56))
    if len(promoting):  # a pawn's plain move is the promotion to a knight
        others = PROMOTION_INDEX[start[piece[promoting]] % 8, end[promoting] % 8]
        index = np.concatenate([index, others.ravel().astype(np.int64)])
        piece = np.concatenate([piece, np.repeat(piece[promoting], others.shape[1])])
    position = owner[piece]
    index += POLICY_SIZE * position
    index.sort(kind="stable")
    counts = np.bincount(position, minlength=len(pieces))
    return index - POLICY_SIZE * np.repeat(np.arange(len(pieces)), counts), counts
