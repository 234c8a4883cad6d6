"""Games as PGN text, in standard algebraic notation.

Notation is made with the compiled move generator, in less than half of python-chess's time, which would be as
much as stepping the game takes. The tests hold it to python-chess.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

import cozy_chess as cozy

from searchless_rl.arena.openings import first_ply
from searchless_rl.board.roots import read_root

_WIDTH = 79


def game_text(headers: Mapping[str, str], fen: str | None, moves: Iterable[str], result: str) -> str:
    """One game of a PGN file, in export format, with an empty line after it.

    Args:
        headers: tags in the order written, without FEN and SetUp, which are added where `fen` is given.
        fen: first position, None for the standard start position.
        moves: UCI (castling as e1g1).
        result: the PGN result, "*" for an unfinished game.

    Raises:
        ValueError: an illegal move (named with its position).
    """
    tags = dict(headers) | ({} if fen is None else {"FEN": fen, "SetUp": "1"})
    lines = [f'[{name} "{_escape(value)}"]' for name, value in tags.items()]
    words = [*_numbered(notation(fen, moves), first_ply(fen)), result]
    # Words hold no hyphen to break at but castling and results, which must stay whole.
    text = textwrap.fill(" ".join(words), _WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n".join([*lines, "", text, "", ""])


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _numbered(words: Iterable[str], first: int) -> Iterator[str]:
    for ply, word in enumerate(words, start=first):
        if ply % 2 == 0:
            yield f"{ply // 2 + 1}."
        elif ply == first:
            yield f"{ply // 2 + 1}..."
        yield word


def notation(fen: str | None, moves: Iterable[str]) -> Iterator[str]:
    """Standard algebraic notation of UCI `moves` from `fen`, with + and #.

    Raises:
        ValueError: an illegal move (named with its position).
    """
    board = read_root(fen).board
    for uci in moves:
        move = _castling(board, cozy.Move.from_str(uci))
        if not board.is_legal(move):
            raise ValueError(f"illegal move {uci} in {board.fen()}")
        text = _without_check(board, move)
        board.play(move)
        if board.checkers():
            text += "+" if board.generate_piece_moves() else "#"
        yield text


def _castling(board: cozy.Board, move: cozy.Move) -> cozy.Move:
    """The generator writes castling as the king taking its own rook."""
    start, end = move.from_square.__index__(), move.to_square.__index__()
    if board.piece_on(move.from_square) != cozy.Piece.King or abs(end - start) != 2:
        return move
    rook = start - start % 8 + (7 if end > start else 0)
    return cozy.Move(move.from_square, cozy.Square.from_index(rook))


def _without_check(board: cozy.Board, move: cozy.Move) -> str:
    piece = board.piece_on(move.from_square)
    assert piece is not None  # the move is legal
    start, end = str(move.from_square), str(move.to_square)
    target = board.color_on(move.to_square)
    if target == board.side_to_move():
        return "O-O" if end > start else "O-O-O"
    is_capture = target is not None
    if piece == cozy.Piece.Pawn:
        text = f"{start[0]}x{end}" if start[0] != end[0] else end
        return text + ("" if move.promotion is None else f"={_letter(move.promotion)}")
    return _letter(piece) + _origin(board, move) + ("x" if is_capture else "") + end


def _letter(piece: cozy.Piece) -> str:
    return str(piece).upper()


def _origin(board: cozy.Board, move: cozy.Move) -> str:
    """What tells the moving piece from others of its kind that may go to the same square."""
    piece, start = board.piece_on(move.from_square), str(move.from_square)
    rivals = [
        str(other.from_square)
        for other in board.generate_piece_moves()
        if other.piece == piece and other.from_square != move.from_square and other.to.has(move.to_square)
    ]
    if not rivals:
        return ""
    if all(rival[0] != start[0] for rival in rivals):
        return start[0]
    return start[1] if all(rival[1] != start[1] for rival in rivals) else start
