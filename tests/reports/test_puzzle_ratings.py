"""Puzzle ratings and accuracy by tier and theme, on made-up results."""

import numpy as np
import pandas as pd
import pytest
from made_results import FORWARD, NONE, puzzle_frame

from searchless_rl import layout
from searchless_rl.figures.tiers import draw_tiers, gains
from searchless_rl.reports.formats import Source
from searchless_rl.reports.puzzle_ratings import (
    LEAST,
    accuracy_tiers,
    puzzle_ratings,
    read_themes,
    write_puzzle_ratings,
)
from searchless_rl.statistics.intervals import wilson
from searchless_rl.statistics.puzzle_rating import puzzle_rating


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    ratings = rng.integers(400, 2800, 300)
    ratings[:3] = 800, 1199, 2400  # on the ends of tiers
    strength = {"base": 1200, NONE: 1400, FORWARD: 1700, "control": 2000}
    return {
        name: {
            "main": puzzle_frame(
                300, rng.random(300) < 1 / (1 + 10 ** ((ratings - r) / 400)), ratings=ratings
            )
        }
        for name, r in strength.items()
    }


@pytest.fixture
def themes():
    """Every third puzzle a fork, every fourth a pin and long, a few a skewer."""
    return {
        f"p{place:05d}": frozenset(
            name
            for name, every in (("fork", 3), ("pin", 4), ("long", 4), ("skewer", 300 // (LEAST - 1)))
            if place % every == 0
        )
        for place in range(1, 301)
    }


def test_a_rating_a_model_and_more_for_the_better(scores, tmp_path):
    table = puzzle_ratings({**scores, "entropy-fixed-1-s0": {}}).set_index("model")
    assert list(table.index) == ["base", NONE, FORWARD, "control"]  # what was not measured is left out
    assert table["rating"].is_monotonic_increasing
    frame = scores[FORWARD]["main"]
    wanted = puzzle_rating(frame["rating"], frame["solved"])
    assert tuple(table.loc[FORWARD, ["rating", "low", "high"]]) == wanted
    assert (table.loc[FORWARD, "k"], table.loc[FORWARD, "n"]) == (frame["solved"].sum(), 300)
    write_puzzle_ratings(table.reset_index(), tmp_path / "ratings", Source("maia-1900", "mini"))
    assert (
        f"{wanted.value:.0f} [{wanted.low:.0f}, {wanted.high:.0f}]" in (tmp_path / "ratings.md").read_text()
    )
    assert len(pd.read_csv(tmp_path / "ratings.csv")) == 4


def test_a_model_that_solves_all_or_none_has_a_bound(tmp_path):
    every, none = (puzzle_frame(50, np.full(50, solved)) for solved in (True, False))
    table = puzzle_ratings({"base": {"main": none}, "control": {"main": every}})
    write_puzzle_ratings(table, tmp_path / "ratings", Source("maia-1900", "mini"))
    text = (tmp_path / "ratings.md").read_text()
    assert "above " in text
    assert "below " in text


def test_groups_are_counted_as_by_hand(scores, themes):
    table = accuracy_tiers(scores, themes).set_index(["model", "group"])
    for name in scores:
        frame = scores[name]["main"]
        for group, low, high in (("0–799", 0, 799), ("800–1199", 800, 1199), ("≥2400", 2400, 9999)):
            inside = frame[[low <= rating <= high for rating in frame["rating"]]]
            k, n = int(inside["solved"].sum()), len(inside)
            row = table.loc[(name, group)]
            assert (row["k"], row["n"], row["accuracy"]) == (k, n, k / n)
            assert (row["low"], row["high"]) == wilson(k, n)
        forks = [solved for place, solved in enumerate(frame["solved"]) if place and place % 3 == 0]
        assert (table.loc[(name, "fork"), "k"], table.loc[(name, "fork"), "n"]) == (sum(forks), len(forks))
        tiers = table.loc[name].query("kind == 'rating'")
        assert tiers["n"].sum() == 300
        assert list(table.loc[name].query("kind == 'theme'").index) == [
            "fork",
            "pin",
        ]  # no tag, no rare theme


def test_the_heat_map_shows_gains_over_the_base(scores, themes, tmp_path):
    data = accuracy_tiers(scores, themes)
    models = list(scores)
    rates, over_base = gains(data[data["kind"] == "theme"], models)
    row = data.set_index(["model", "group"])["accuracy"]
    assert rates.loc[NONE, "pin"] == pytest.approx(100 * row[NONE, "pin"])
    assert over_base.loc[NONE, "pin"] == pytest.approx(100 * (row[NONE, "pin"] - row["base", "pin"]))
    assert (over_base.loc["base"] == 0).all()
    draw_tiers(data, tmp_path / "tiers", "mini")
    draw_tiers(accuracy_tiers({}, {}), tmp_path / "empty", "mini")
    for name in ("tiers.pdf", "tiers.png", "empty.png"):
        assert (tmp_path / name).stat().st_size > 1000
    assert len(pd.read_csv(tmp_path / "tiers.csv")) == len(data)


def test_themes_are_read_from_the_suite(tmp_path):
    assert read_themes(tmp_path) == {}
    path = layout.suite("main", tmp_path)
    path.parent.mkdir()
    path.write_text(
        "PuzzleId,FEN,Moves,Rating,Themes,GameUrl,Winning\na,f,m,1500,fork pin,u,w\nb,f,m,900,,u,w\n"
    )
    assert read_themes(tmp_path) == {"a": {"fork", "pin"}, "b": frozenset()}
