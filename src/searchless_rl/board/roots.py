"""The first position of a game: a FEN, checked, and Lc0's history before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import chess
import cozy_chess as cozy
import numpy as np

from searchless_rl.board.positions import PAWN, SQUARES
from searchless_rl.text import cut, quoted

MAX_CLOCK = 2**31 - 1
"""The largest half-move clock that lc0 reads. The rules know clocks past 100: a draw must be claimed."""
MAX_FULL_MOVES = 65_535
"""The largest full-move number that the move generator holds; nothing depends on the number."""
_GENERATOR_CLOCK = 100
_STANDARD = tuple(chess.STARTING_FEN.split()[:3])
_PLAIN_FEN = re.compile(r"(?!\S*\d\d)[pnbrqkPNBRQK1-8/]+ [wb] (?:-|(?=\w)K?Q?k?q?) - \d{1,2} [1-9]\d{0,3}")
"""A FEN as most are: no en passant, canonical castling rights, counters far from their limits."""


class PositionError(ValueError):
    """A position that cannot be played from."""


@dataclass(frozen=True)
class Root:
    """The first position of a game.

    Attributes:
        board: the move generator's board (copied before it is played on).
        is_standard: the standard start position.
        en_passant: square 0..63 as written in the FEN, or -1. Lc0 keeps the flag as written; the move
            generator's own flag is not used at the root.
        clock: half-moves since a capture or pawn move, as written: 0 to `MAX_CLOCK`. The move generator's
            own clock stops at 100.
    """

    board: cozy.Board
    is_standard: bool
    en_passant: int
    clock: int


def history_fill(roots: Sequence[Root], position: np.ndarray) -> np.ndarray:
    """What stands in the history planes before a game, as lc0 with history-fill-new = fen_only has it.

    Args:
        roots: N first positions.
        position: uint64 [N, 12], theirs.

    Returns:
        uint64 [N, 12]: the position itself, a double pawn push undone; zeros for the standard start position.
    """
    fill = position.copy()
    for row, root in enumerate(roots):
        if root.is_standard:
            fill[row] = 0
        elif root.en_passant >= 0:
            is_white_push = root.en_passant // 8 == 2
            forward = 8 if is_white_push else -8
            both = SQUARES[root.en_passant + forward] | SQUARES[root.en_passant - forward]
            fill[row, PAWN if is_white_push else PAWN + 6] ^= both
    return fill


def read_root(fen: str | None) -> Root:
    """The start of a game from a FEN, or from the standard start position (None).

    Args:
        fen: python-chess's reading of it counts (counters may be missing, castling rights in any order).

    Raises:
        PositionError: not a FEN, a position no game can reach by rule, or a counter out of range (the FEN and
            the fault named).
    """
    if fen is None:
        return Root(cozy.Board.startpos(), True, -1, 0)
    return _plain_root(fen) or _checked_root(fen)


def _plain_root(fen: str) -> Root | None:
    """A plain FEN of a quiet position, which the move generator's own rules settle as python-chess's do.

    Ten times as fast as python-chess; None leaves the verdict to it.
    """
    if not _PLAIN_FEN.fullmatch(fen):
        return None
    try:
        board = cozy.Board.from_fen(fen)
    except ValueError:
        return None
    placement, turn, rights, _, clock, _ = fen.split(" ")
    if board.checkers() or not _has_usual_numbers(board) or not _has_usual_kings(board, rights):
        return None
    return Root(board, (placement, turn, rights) == _STANDARD, -1, int(clock))


def _has_usual_numbers(board: cozy.Board) -> bool:
    """At most 16 pieces and 8 pawns a side."""
    pawns = int(board.pieces(cozy.Piece.Pawn))
    sides = [int(board.colors(side)) for side in (cozy.Color.White, cozy.Color.Black)]
    return all(side.bit_count() <= 16 and (side & pawns).bit_count() <= 8 for side in sides)


def _has_usual_kings(board: cozy.Board, rights: str) -> bool:
    """Kings apart, and at home where they may castle: the generator allows others, and knows Chess960."""
    white, black = (board.king(side).__index__() for side in (cozy.Color.White, cozy.Color.Black))
    white_castles, black_castles = rights.lower() != rights, rights.upper() != rights
    return (
        chess.square_distance(white, black) > 1
        and (white == chess.E1 or not white_castles)
        and (black == chess.E8 or not black_castles)
    )


def _checked_root(fen: str) -> Root:
    named = quoted(fen, 200)
    try:
        checked = chess.Board(fen)
    except ValueError as error:
        raise PositionError(f"not a FEN: {named} ({cut(str(error), 200)})") from error
    status = checked.status()
    if status != chess.STATUS_VALID:
        raise PositionError(f"not a playable position: {named} ({status!r})")
    if checked.chess960:
        raise PositionError(f"Chess960 castling rights are not supported: {named}")
    clock = checked.halfmove_clock
    if clock > MAX_CLOCK:
        raise PositionError(f"half-move clock {clock} is out of range; allowed: 0 to {MAX_CLOCK}: {named}")
    number = checked.fullmove_number
    if number > MAX_FULL_MOVES:
        raise PositionError(
            f"full-move number {number} is out of range; allowed: 1 to {MAX_FULL_MOVES}: {named}"
        )
    checked.halfmove_clock = min(clock, _GENERATOR_CLOCK)
    en_passant = -1 if checked.ep_square is None else checked.ep_square
    is_standard = (
        fen.split()[0] == chess.STARTING_BOARD_FEN
        and checked.turn == chess.WHITE
        and checked.castling_rights == chess.BB_CORNERS
    )
    return Root(_generator_board(fen, checked), is_standard, en_passant, clock)


def _generator_board(fen: str, checked: chess.Board) -> cozy.Board:
    try:
        return cozy.Board.from_fen(fen)
    except ValueError:  # python-chess also reads FENs without counters, or with rights in another order
        try:
            return cozy.Board.from_fen(checked.fen(en_passant="fen"))
        except ValueError as error:
            raise PositionError(f"not a playable position: {quoted(fen, 200)} ({error})") from error
