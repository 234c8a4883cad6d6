"""A chess board drawn with Matplotlib; the pieces are glyphs of DejaVu Sans, which comes with it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import chess
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.patheffects import Normal, Stroke

_LIGHT, _DARK, _TOUCHED = "#f0ede4", "#c3ccd4", "#f2dc8c"
_GLYPHS = {
    chess.KING: "♚", chess.QUEEN: "♛", chess.ROOK: "♜", chess.BISHOP: "♝", chess.KNIGHT: "♞", chess.PAWN: "♟",
}  # fmt: skip


class Arrow(NamedTuple):
    """A move on the board: UCI, its colour, and its line width in points."""

    move: str
    colour: str
    width: float


def draw_board(axis: Axes, fen: str, *, last_move: str, arrows: Iterable[Arrow], piece_size: float) -> None:
    """Draw a position from the side to move's point of view, its last move's squares tinted (paper Figure 9).

    Args:
        axis: emptied of ticks and frame.
        fen: the position.
        last_move: UCI of the move that led to it.
        arrows: drawn in this order, later ones above.
        piece_size: of the glyphs, in points; about 0.6 of a square.
    """
    board = chess.Board(fen)
    is_white = board.turn == chess.WHITE
    touched = {chess.Move.from_uci(last_move).from_square, chess.Move.from_uci(last_move).to_square}
    for square in chess.SQUARES:
        x, y = _place(square, is_white)
        is_dark = (chess.square_file(square) + chess.square_rank(square)) % 2 == 0
        colour = _TOUCHED if square in touched else _DARK if is_dark else _LIGHT
        axis.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="none"))
    for square, piece in board.piece_map().items():
        x, y = _place(square, is_white)
        # One solid glyph for both colours: its outline keeps White's pieces apart from light squares.
        outline = [Stroke(linewidth=0.9, foreground="black"), Normal()] if piece.color else None
        axis.text(
            x,
            y - 0.04,
            _GLYPHS[piece.piece_type],
            family="DejaVu Sans",
            fontsize=piece_size,
            ha="center",
            va="center",
            color="white" if piece.color else "black",
            path_effects=outline,
        )
    for arrow in arrows:
        move = chess.Move.from_uci(arrow.move)
        axis.add_patch(
            FancyArrowPatch(
                _place(move.from_square, is_white),
                _place(move.to_square, is_white),
                arrowstyle="-|>",
                mutation_scale=4 + 2 * arrow.width,
                linewidth=arrow.width,
                color=arrow.colour,
                alpha=0.85,
                shrinkA=2,
                shrinkB=2,
                zorder=4,
            )
        )
    files = "abcdefgh" if is_white else "hgfedcba"
    for place in range(8):
        axis.text(place, -0.6, files[place], fontsize=7, ha="center", va="top")
        axis.text(
            -0.62, place, str(place + 1 if is_white else 8 - place), fontsize=7, ha="right", va="center"
        )
    axis.set_xlim(-0.5, 7.5)
    axis.set_ylim(-0.5, 7.5)
    axis.set_aspect("equal")
    axis.axis("off")


def _place(square: chess.Square, is_white: bool) -> tuple[int, int]:
    file, rank = chess.square_file(square), chess.square_rank(square)
    return (file, rank) if is_white else (7 - file, 7 - rank)
