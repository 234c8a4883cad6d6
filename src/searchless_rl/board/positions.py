"""One position as numbers: bitboards, the start of a game, Lc0's history fill."""

from __future__ import annotations

from dataclasses import dataclass

import chess
import cozy_chess as cozy
import numpy as np

from searchless_rl.board.text import cut

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
MAX_CLOCK = 2**31 - 1
"""The largest half-move clock that lc0 reads. The rules know clocks past 100: a draw must be claimed."""
MAX_FULL_MOVES = 65_535
"""The largest full-move number that the move generator holds; nothing depends on the number."""
_GENERATOR_CLOCK = 100


class PositionError(ValueError):
    """A position that cannot be played from."""


@dataclass(frozen=True)
class Root:
    """The first position of a game.

    Attributes:
        board: the move generator's board (copied before it is played on).
        fill: what stands in the history planes before the game: int [12] bitboards, the position
            itself with a double pawn push undone, or zeros for the standard start position
            (lc0 option history-fill-new = fen_only).
        en_passant_file: as written in the FEN, 0..7, or -1. Lc0 keeps the flag as written; the move
            generator's own flag is not used at the root.
        clock: half-moves since a capture or pawn move, as written: 0 to `MAX_CLOCK`. The move generator's
            own clock stops at 100.
    """

    board: cozy.Board
    fill: tuple[int, ...]
    en_passant_file: int
    clock: int


def bitboards(board: cozy.Board) -> tuple[int, ...]:
    """12 bitboards (bit 8*rank + file): White's pawn, knight, bishop, rook, queen, king, then Black's."""
    white = int(board.colors(cozy.Color.White))
    pieces = [int(board.pieces(piece)) for piece in PIECES]
    return tuple(bits & white for bits in pieces) + tuple(bits & ~white for bits in pieces)


def castling_rights(board: cozy.Board) -> tuple[bool, bool, bool, bool]:
    """White's short and long right to castle, then Black's."""
    white, black = board.castle_rights(cozy.Color.White), board.castle_rights(cozy.Color.Black)
    return white.has_short(), white.has_long(), black.has_short(), black.has_long()


_START = bitboards(cozy.Board.startpos())
_START_RIGHTS = chess.BB_CORNERS


def _undo_double_push(position: tuple[int, ...], en_passant_square: int) -> tuple[int, ...]:
    """The pawn that just passed `en_passant_square` back on its home rank."""
    is_white_push = en_passant_square // 8 == 2
    pawns = PAWN if is_white_push else PAWN + 6
    step = 8 if is_white_push else -8
    moved = position[pawns] & ~(1 << (en_passant_square + step)) | 1 << (en_passant_square - step)
    return (*position[:pawns], moved, *position[pawns + 1 :])


def read_root(fen: str | None) -> Root:
    """The start of a game from a FEN, or from the standard start position (None).

    Args:
        fen: python-chess's reading of it counts (counters may be missing, castling rights in any order).

    Raises:
        PositionError: not a FEN, a position no game can reach by rule, or a counter out of range (the FEN and
            the fault named).
    """
    if fen is None:
        return Root(cozy.Board.startpos(), (0,) * 12, -1, 0)
    named = repr(cut(fen, 200))
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
    # What python-chess would write, without asking it for all 64 squares again.
    placement, turn = fen.split()[0].replace("~", ""), "w" if checked.turn else "b"
    square = checked.ep_square
    fields = (turn, checked.castling_xfen(), "-" if square is None else chess.SQUARE_NAMES[square])
    try:
        text = f"{placement} {' '.join(fields)} {min(clock, _GENERATOR_CLOCK)} {number}"
        board = cozy.Board.from_fen(text)
    except ValueError as error:
        raise PositionError(f"not a playable position: {named} (move generator: {error})") from error
    position = bitboards(board)
    if position == _START and checked.turn and checked.castling_rights == _START_RIGHTS and square is None:
        return Root(board, (0,) * 12, -1, clock)
    if square is None:
        return Root(board, position, -1, clock)
    return Root(board, _undo_double_push(position, square), chess.square_file(square), clock)


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
    return (majors == 0) & (lone_knight | ((knights == 0) & one_colour))
