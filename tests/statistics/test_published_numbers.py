"""Numbers printed in the paper, recomputed from the counts that it prints or states."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from searchless_rl.statistics.intervals import half_width
from searchless_rl.statistics.matches import format_los, head_to_head
from searchless_rl.statistics.ratings import bayeselo

PAPER = Path(__file__).resolve().parents[2] / "data" / "paper"


def rows_of(table: str) -> list[dict[str, str]]:
    with (PAPER / f"{table}.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


MATCHES = [row for row in rows_of("table1") if row["wins"]]


def match_of(row: dict[str, str]) -> pd.DataFrame:
    """The 1,000 games of a row of Table 1 against the base, colours in turn."""
    points = np.repeat([1.0, 0.5, 0.0], [int(row[key]) for key in ("wins", "draws", "losses")])
    had_white = np.arange(len(points)) % 2 == 0
    result = {1.0: "1-0", 0.5: "1/2-1/2", 0.0: "0-1"}
    return pd.DataFrame(
        {
            "white": np.where(had_white, "model", "base"),
            "black": np.where(had_white, "base", "model"),
            "result": [result[point] for point in np.where(had_white, points, 1 - points)],
        }
    )


# --- accuracies and their Wilson intervals ---


def printed_accuracies() -> list[tuple[str, str, str, int]]:
    """(where, accuracy in percent, half-width in points, n) of every accuracy with an interval."""
    found = []
    for row in rows_of("table1"):
        for accuracy, width, n in (
            ("acc_pct", "acc_halfwidth", 100_000),
            ("acc2400_pct", "acc2400_halfwidth", 20_000),
        ):
            found.append((f"Table 1 {row['term']} {row['tau']} {accuracy}", row[accuracy], row[width], n))
    for row in rows_of("table3"):
        where = f"Table 3 {row['term']} {row['tau']} mate in {row['mate_in']}"
        found.append((where, row["acc_pct"], row["halfwidth"], int(row["n"])))
    for row in rows_of("table6"):
        where = f"Table 6 {row['term']} {row['tau']} {row['beta']}"
        found.append((where, row["acc_pct"], row["halfwidth"], 10_000))
    # Named in the caption of Table 6.
    found += [
        ("Table 6 frozen base", "93.52", "0.48", 10_000),
        ("Table 6 none adaptive", "93.99", "0.47", 10_000),
        ("Table 6 none fixed", "94.04", "0.46", 10_000),
    ]
    return found


def test_every_printed_accuracy_is_a_count_and_has_the_printed_wilson_half_width():
    printed = printed_accuracies()
    assert len(printed) == 98
    for where, accuracy, width, n in printed:
        k = round(Decimal(accuracy) * n / 100)
        assert f"{100 * k / n:.2f}" == accuracy, f"{where}: no count of {n} is {accuracy} %"
        assert f"{100 * half_width(k, n):.2f}" == width, where


def test_table6_marks_the_best_beta_of_each_arm():
    rows = pd.DataFrame(rows_of("table6")).astype({"acc_pct": float, "selected": int})
    best = rows.loc[rows.groupby(["term", "tau"])["acc_pct"].idxmax()]
    assert sorted(best.index) == rows.index[rows["selected"] == 1].tolist()


# --- matches against the base ---


def test_every_match_has_a_thousand_games():
    assert [sum(int(row[key]) for key in ("wins", "draws", "losses")) for row in MATCHES] == [1000] * 9


@pytest.mark.parametrize("row", MATCHES, ids=lambda row: f"{row['term']}-{row['tau']}")
def test_every_printed_los_is_reproduced(row):
    assert format_los(head_to_head(match_of(row), "model", "base").los) == row["los"]


@pytest.mark.parametrize("row", MATCHES, ids=lambda row: f"{row['term']}-{row['tau']}")
def test_bayeselo_with_its_parameters_fitted_prints_the_same_los(row):
    """The paper calls it BayesElo's, whose default draw parameter gives five of the nine otherwise."""
    rated = bayeselo(match_of(row), fit=("advantage", "draw"))
    assert format_los(rated.los.loc["model", "base"]) == row["los"]


@pytest.mark.parametrize(
    ("term", "tau", "printed"),
    [
        ("forward_kl", "fixed", "0.52"),  # section 3.2
        ("reverse_kl", "adaptive", "0.55"),
        ("none", "fixed", "0.53"),
        ("entropy", "adaptive", "0.49"),  # section 3.6
    ],
)
def test_every_printed_score_is_reproduced(term, tau, printed):
    (row,) = (row for row in MATCHES if (row["term"], row["tau"]) == (term, tau))
    assert f"{head_to_head(match_of(row), 'model', 'base').score:.2f}" == printed


def test_the_control_scores_one_in_five():
    score = head_to_head(match_of(MATCHES[-1]), "model", "base").score
    assert MATCHES[-1]["term"] == "puzzle_tuned"
    assert f"1 in {1 / score:.0f}" == "1 in 5"


# --- rating intervals ---


def likeliest_games(elo: dict[str, float], each_colour: dict[tuple[str, str], int]) -> pd.DataFrame:
    """A round-robin whose results are what a = 100, d = 120 lets expect, rounded to whole games."""
    rows: list[tuple[str, str, str]] = []
    for (white, black), n in each_colour.items():
        margin = elo[white] - elo[black] + 100
        wins, losses = (round(n / (1 + 10 ** ((120 - side * margin) / 400))) for side in (1, -1))
        for result, number in (("1-0", wins), ("0-1", losses), ("1/2-1/2", n - wins - losses)):
            rows += [(white, black, result)] * number
    return pd.DataFrame(rows, columns=["white", "black", "result"])


def test_the_printed_rating_intervals_are_of_the_difference_to_the_base():
    """Table 5: 10 players, 200 games a pair. Intervals around the pool's mean would be half as long."""
    rows = rows_of("table5")
    elo = {f"{row['term']} {row['sampling']}": float(row["elo"]) for row in rows}
    pairs = {(white, black): 100 for white in elo for black in elo if white != black}
    games = likeliest_games(elo, pairs)
    rated = bayeselo(games, fit=("advantage", "draw"), base="frozen_base raw")
    printed = {
        name: float(row["elo_halfwidth"]) for name, row in zip(elo, rows, strict=True) if row["elo_halfwidth"]
    }
    assert len(printed) == 9
    for name, width in printed.items():
        assert rated.elo[name] == pytest.approx(elo[name], abs=15)
        assert rated.interval[name] == pytest.approx(width, abs=1.3)
    around_mean = bayeselo(games, fit=("advantage", "draw")).interval
    assert (around_mean[list(printed)] < 0.6 * pd.Series(printed)).all()


def test_the_intervals_of_table_1_fit_a_pool_of_34_with_a_thousand_games_against_the_base():
    """Base, control and 32 swept models, 200 games a pair (appendices F and G).

    Of the models outside Table 1 the text rates two, the entropy bonus at fixed τ with β = 0.01 and 1; the
    others are put at 0.
    """
    elo = {f"{row['term']} {row['tau']}": float(row["elo"]) for row in MATCHES}
    printed = {name: float(row["elo_halfwidth"]) for name, row in zip(elo, MATCHES, strict=True)}
    elo |= {"base": 0.0, "entropy 0.01": -119.0, "entropy 1": -576.0}
    elo |= {f"other {place}": 0.0 for place in range(34 - len(elo))}
    pairs = {
        (white, black): 500 if "base" in (white, black) else 100
        for white in elo
        for black in elo
        if white != black
    }
    games = likeliest_games(elo, pairs)
    rated = bayeselo(games, fit=("advantage", "draw"), base="base").interval
    around_mean = bayeselo(games, fit=("advantage", "draw")).interval
    for name, width in printed.items():
        assert rated[name] == pytest.approx(width, abs=0.2)
        assert around_mean[name] < width - 0.5
