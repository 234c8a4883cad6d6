"""The game behind a puzzle: its moves, SAN or UCI, read from the standard start to the puzzle's position.

What a network with history sees depends on the moves before the puzzle (paper, Table 3: "the network's true
move history"), and those are no part of the Lichess export.
"""

from __future__ import annotations

import re
from enum import StrEnum

import chess

_ASIDE = re.compile(r"\{[^}]*\}|\$\d+|\d+\.+|[!?]+")  # comments, glyphs, move numbers
_RESULTS = {"1-0", "0-1", "1/2-1/2", "*"}
_UCI = re.compile(r"[a-h][1-8][a-h][1-8][qrbn]?")


class HistoryOutcome(StrEnum):
    """What became of the game moves given for a puzzle; the values are the keys of the reports."""

    REACHED = "reached"  # they lead to the puzzle's position
    MISSED = "missed"  # they are too few, or lead elsewhere
    ILLEGAL = "illegal"  # one of them cannot be played
    ABSENT = "absent"  # there are none


def read_history(text: str, fen: str) -> tuple[HistoryOutcome, tuple[str, ...]]:
    """The moves of a game that lead to a position, UCI (castling e1g1), and how that went.

    Args:
        text: moves from the standard start position, SAN or UCI; move numbers, comments, glyphs and the
            result are skipped. Moves beyond the position are not looked at.
        fen: the position. Its move number and side say at which ply it stands in the game.

    Returns:
        The outcome, and the moves if it is REACHED: placement, side to move, castling, en passant (where
        legal) and both counters are those of `fen`. Otherwise no moves.
    """
    target = chess.Board(fen)
    words = [word for word in _ASIDE.sub(" ", text).split() if word not in _RESULTS]
    if not words:
        return HistoryOutcome.ABSENT, ()
    board = chess.Board()
    moves = []
    for word in words[: target.ply()]:
        try:
            move = board.parse_uci(word) if _UCI.fullmatch(word) else board.parse_san(word)
        except ValueError:
            return HistoryOutcome.ILLEGAL, ()
        # Null moves get through, and so does castling spelt e1h1; neither is a move of this data.
        if not move or (_UCI.fullmatch(word) and move.uci() != word):
            return HistoryOutcome.ILLEGAL, ()
        board.push(move)
        moves.append(move.uci())
    if board.fen() != target.fen():
        return HistoryOutcome.MISSED, ()
    return HistoryOutcome.REACHED, tuple(moves)
