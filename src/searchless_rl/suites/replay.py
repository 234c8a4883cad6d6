"""Puzzle positions and lines on the compiled move generator; python-chess judges what is unusual.

The compiled generator reads and plays a line some thirty times faster. It accepts positions that python-chess
does not, so only what both are known to agree on is left to it: a FEN that it writes back unchanged, without
an en-passant square, with at most one checker, with kings apart and castling rights from the home squares.
Everything else goes to python-chess, which also words the errors.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import chess
import cozy_chess as cozy

from searchless_rl.board.roots import read_root
from searchless_rl.text import quoted

_UCI = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?")
_CASTLING = {"e1g1": "e1h1", "e1c1": "e1a1", "e8g8": "e8h8", "e8c8": "e8a8"}
_CASTLING_UCI = {own_rook: uci for uci, own_rook in _CASTLING.items()}
_COLORS = (cozy.Color.White, cozy.Color.Black)


class PlayedLine(NamedTuple):
    """What a puzzle's line shows when it is played.

    Attributes:
        keys: of each solver position, in order: placement, side to move, castling and legal en-passant square
            (the first four fields of a FEN).
        ends_in_mate: whether the last position is checkmate.
    """

    keys: tuple[str, ...]
    ends_in_mate: bool


def read_board(fen: str) -> cozy.Board:
    """The position of a FEN that python-chess calls valid and writes back alike, and games can start from.

    Its counters may differ from the FEN's where the generator cannot hold them; keys and mates do not
    depend on them.

    Raises:
        ValueError: any other FEN; the message quotes it and names the fault.
    """
    try:
        board = cozy.Board.from_fen(fen)
    except ValueError:
        board = None
    if board is not None and _is_plain(board, fen):
        return board
    _judge(fen)
    return board if board is not None else cozy.Board.from_fen(" ".join((*fen.split()[:4], "0 1")))


def _is_plain(board: cozy.Board, fen: str) -> bool:
    """Whether a position that the generator accepts is surely valid for python-chess, and written alike."""
    if board.fen() != fen or board.en_passant() is not None or len(board.checkers()) > 1:
        return False
    rights = fen.split(" ", 3)[2]
    white, black = (str(board.king(color)) for color in _COLORS)
    return (
        (white == "e1" or ("K" not in rights and "Q" not in rights))
        and (black == "e8" or ("k" not in rights and "q" not in rights))
        and max(abs(ord(one) - ord(other)) for one, other in zip(white, black, strict=True)) > 1
        and all(len(board.colors(color)) <= 16 for color in _COLORS)
        and all(len(board.colored_pieces(color, cozy.Piece.Pawn)) <= 8 for color in _COLORS)
    )


def _judge(fen: str) -> None:
    try:
        board = chess.Board(fen)
    except ValueError as error:
        raise ValueError(f"{quoted(fen)} ({quoted(str(error))})") from error
    written = board.fen(en_passant="fen")
    if written != fen:
        raise ValueError(f"{quoted(fen)} should read {written!r}")
    if not board.is_valid():
        raise ValueError(f"impossible position {quoted(fen)} ({board.status()!r})")
    try:
        read_root(fen)
    except ValueError as error:
        raise ValueError(f"no game can start from {quoted(fen)} ({quoted(str(error))})") from error


def play(board: cozy.Board, uci: str) -> bool:
    """Make a move given in standard UCI (castling e1g1); False, the board unchanged, if it is not legal."""
    move = _legal_move(board, uci)
    if move is not None:
        board.play(move)
    return move is not None


def is_legal(board: cozy.Board, uci: str) -> bool:
    """Whether a move given in standard UCI (castling e1g1) is legal."""
    return _legal_move(board, uci) is not None


def _legal_move(board: cozy.Board, uci: str) -> cozy.Move | None:
    if not _UCI.fullmatch(uci):
        return None
    move = cozy.Move.from_str(uci)
    if board.piece_on(move.from_square) == cozy.Piece.King:
        if uci in _CASTLING:  # a king cannot go two squares otherwise
            move = cozy.Move.from_str(_CASTLING[uci])
        elif board.color_on(move.to_square) == board.side_to_move():  # the generator's spelling, not UCI's
            return None
    return move if board.is_legal(move) else None


def _uci(board: cozy.Board, move: cozy.Move) -> str:
    text = str(move)
    onto_own_rook = (
        text in _CASTLING_UCI
        and board.piece_on(move.from_square) == cozy.Piece.King
        and board.color_on(move.to_square) == board.side_to_move()
    )
    return _CASTLING_UCI[text] if onto_own_rook else text


def mates_in_one(board: cozy.Board) -> list[str]:
    """Standard UCI of every legal move that gives checkmate, in no particular order."""
    mates = []
    for move in board.generate_moves():
        after = copy.copy(board)
        after.play(move)
        if after.checkers() and after.status() == cozy.GameStatus.Won:
            mates.append(_uci(board, move))
    return mates


def position_key(board: cozy.Board) -> str:
    """Placement, side to move, castling and en-passant square (where a capture is legal), as in a FEN."""
    key: str = board.fen().rsplit(" ", 2)[0]
    if board.en_passant() is None or _can_capture(board, key[-2:]):
        return key
    return key[:-2] + "-"


def _can_capture(board: cozy.Board, square: str) -> bool:
    """Whether a pawn may move to the square that an enemy pawn has just passed."""
    return any(
        str(move)[2:] == square and board.piece_on(move.from_square) == cozy.Piece.Pawn
        for move in board.generate_moves()
    )


def solver_boards(fen: str, moves: Sequence[str]) -> Iterator[tuple[cozy.Board, str]]:
    """Each position that the solver of a valid line faces, with the marked move, in order.

    The board is one object that moves on with the iteration: copy it to keep it, and leave it as it was.
    """
    board = read_board(fen)
    for index, uci in enumerate(moves):
        if index % 2:
            yield board, uci
        play(board, uci)


def play_line(board: cozy.Board, moves: Sequence[str]) -> PlayedLine | int:
    """Play a line from `board`, which moves on: what it shows, or the index of its first illegal move."""
    keys = []
    for index, uci in enumerate(moves):
        if index % 2:
            keys.append(position_key(board))
        if not play(board, uci):
            return index
    return PlayedLine(tuple(keys), board.status() == cozy.GameStatus.Won)
