"""Every figure, drawn from the recorded data, can be read at the size it is printed."""

import itertools

import chess
import pandas as pd
import pytest
from matplotlib.axis import Axis, Tick
from matplotlib.figure import Figure
from matplotlib.text import Text

from searchless_rl.figures.dissociation import draw_dissociation
from searchless_rl.figures.figure5 import draw_figure5
from searchless_rl.figures.figure6 import draw_figure6
from searchless_rl.figures.figure7 import draw_figure7
from searchless_rl.figures.figure8 import draw_figure8
from searchless_rl.figures.figure9 import draw_figure9
from searchless_rl.figures.figure10 import draw_figure10
from searchless_rl.figures.strength_figure import draw_strength
from searchless_rl.figures.style import COLUMN_WIDTH, DOUBLE_WIDTH

FIGURES = {
    "figure5": draw_figure5,
    "figure6": draw_figure6,
    "figure7": draw_figure7,
    "figure8": draw_figure8,
    "figure9": draw_figure9,
    "figure10": draw_figure10,
    "dissociation": draw_dissociation,
    "strength": draw_strength,
}
PIECES = set("♚♛♜♝♞♟")


def _is_over(row):
    board = chess.Board(row["fen"])
    board.push_uci(row["move"])
    return board.is_game_over()


def _ratings(frame):
    """Ratings of about the size that the scores mean."""
    elo = 800 * (frame["score"] - 0.5)
    ladder = frame["arena"] == "argmax"
    pool = ladder.map({True: "closed", False: "base only"})
    games = ladder.map({True: 220, False: 20})
    return {"elo": elo, "elo_low": elo - 60, "elo_high": elo + 60, "pool": pool, "elo_games": games}


@pytest.fixture(params=FIGURES)
def drawn(request, monkeypatch, tmp_path, pytestconfig):
    frame = pd.read_csv(pytestconfig.rootpath / "paper_figures" / "mini" / f"{request.param}.csv")
    if request.param == "figure9":
        frame = frame.assign(by_rule=frame.apply(_is_over, axis=1), oracle=0.55)
    if request.param == "strength":
        frame = frame.assign(**_ratings(frame))
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *args, **kwargs: figures.append(figure))
    FIGURES[request.param](frame, tmp_path / request.param, "mini")
    figure = figures[0]
    figure.draw_without_rendering()
    return figure


def _words(figure):
    """Texts that are seen, with their places in pixels, without the pieces on boards."""
    hidden = _labels_beyond_the_ends(figure)
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [
        (text, text.get_window_extent())
        for text in texts
        if text.get_text() not in PIECES and id(text) not in hidden
    ]


def _labels_beyond_the_ends(figure):
    """Matplotlib keeps the labels of ticks beyond the ends of an axis but does not draw them."""
    hidden = set()
    for axis in figure.findobj(Axis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.findobj(Tick):
            if not low <= tick.get_loc() <= high:
                hidden |= {id(tick.label1), id(tick.label2)}
    return hidden


def test_letters_are_large_inside_the_page_and_do_not_overlap(drawn):
    assert drawn.get_figwidth() in (COLUMN_WIDTH, DOUBLE_WIDTH)
    words = _words(drawn)
    assert len(words) > 10
    for text, place in words:
        assert text.get_fontsize() >= 7, text
        assert place.x0 >= -1, text
        assert place.y0 >= -1, text
        assert place.x1 <= drawn.bbox.x1 + 1, text
        assert place.y1 <= drawn.bbox.y1 + 1, text
    for (one, here), (other, there) in itertools.combinations(words, 2):
        across = min(here.x1, there.x1) - max(here.x0, there.x0)
        along = min(here.y1, there.y1) - max(here.y0, there.y0)
        assert across < 2 or along < 2, (one.get_text(), other.get_text())
