"""Games that cannot be rated and are refused, and extreme ones that are rated all the same."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from rating_pools import counts_of, table_of
from scipy.optimize import linprog

from searchless_rl.statistics.rating_model import (
    Counts,
    UnboundedRatings,
    with_prior,
)
from searchless_rl.statistics.ratings import bayeselo


def test_a_player_who_won_everything_has_a_finite_rating_thanks_to_the_prior():
    games = table_of(("A", "B", 20, 0, 0), ("B", "A", 0, 0, 20), ("B", "C", 5, 5, 5))
    rated = bayeselo(games, base="B")
    assert 300 < rated.elo["A"] < 1000
    assert np.isfinite(rated.interval).all()
    assert rated.los.loc["A", "B"] > 0.999
    assert rated.score["A"] == 1.0
    assert bayeselo(games, prior=0.1, base="B").elo["A"] > rated.elo["A"] + 100


@pytest.mark.parametrize("strong", ["A", "Z"])  # the walk starts at the first name
def test_without_a_prior_a_clean_sweep_is_refused_by_name(strong):
    games = table_of((strong, "M", 3, 0, 0), ("N", strong, 0, 0, 2), ("M", "N", 1, 1, 1))
    with pytest.raises(UnboundedRatings, match=f"{strong} won every game against M, N; set a prior above 0"):
        bayeselo(games, prior=0.0)
    loses = games.replace({"result": {"1-0": "0-1", "0-1": "1-0"}})
    with pytest.raises(UnboundedRatings, match=f"M, N won every game against {strong}; set a prior"):
        bayeselo(loses, prior=0.0)


def test_one_draw_bounds_a_sweep_without_a_prior():
    rated = bayeselo(table_of(("A", "B", 9, 1, 0), ("B", "C", 2, 1, 0)), prior=0.0)
    assert np.isfinite(rated.interval).all()
    assert rated.elo["A"] > rated.elo["B"] > rated.elo["C"]


def test_a_circle_of_wins_is_bounded_without_a_prior():
    rated = bayeselo(table_of(("A", "B", 1, 0, 0), ("B", "C", 1, 0, 0), ("C", "A", 1, 0, 0)), prior=0.0)
    assert rated.elo.tolist() == pytest.approx([0, 0, 0], abs=1e-6)


@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_a_pool_that_falls_apart_is_refused_with_its_parts(prior):
    games = table_of(("A", "B", 3, 1, 2), ("C", "D", 2, 1, 1), ("D", "E", 1, 1, 1))
    with pytest.raises(ValueError, match="no games link A, B to C, D, E"):
        bayeselo(games, prior=prior)


@pytest.mark.parametrize(
    ("games", "settings", "message"),
    [
        (table_of(("A", "B", 0, 9, 0)), {"fit": ("draw",)}, "every game was drawn.*leave it out of fit"),
        # Whoever never loses can be put higher for ever if the draw parameter rises along.
        (
            table_of(("A", "B", 20, 10, 0), ("B", "A", 0, 10, 20)),
            {"fit": ("draw",)},
            r"60 games do not bound.*fit less$",
        ),
        (
            table_of(("A", "B", 9, 0, 0), ("B", "A", 9, 0, 0)),
            {"fit": ("advantage", "draw"), "prior": 0.0},
            "18 games do not bound.*or set a prior",
        ),
    ],
)
def test_results_that_do_not_bound_a_fitted_parameter_are_refused(games, settings, message):
    with pytest.raises(UnboundedRatings, match=message):
        bayeselo(games, **settings)
    assert np.isfinite(bayeselo(games).elo).all()  # the same games, nothing fitted


def random_pool(rng: np.random.Generator) -> pd.DataFrame:
    """Two to four players linked by few games, of few kinds of results."""
    names = [*"ABCD"][: rng.integers(2, 5)]
    pairs = [pair for pair in itertools.permutations(names, 2) if rng.random() < 0.4]
    pairs += itertools.pairwise(names)
    kinds = rng.choice(3, size=rng.integers(1, 4), replace=False)
    counts = np.zeros((len(pairs), 3), int)
    counts[:, kinds] = rng.integers(0, 3, (len(pairs), len(kinds)))
    counts[-len(names) + 1 :, kinds[0]] += 1
    return table_of(*((*pair, *map(int, numbers)) for pair, numbers in zip(pairs, counts, strict=True)))


def grows_for_ever(counts: Counts, fit: tuple[str, ...]) -> bool:
    """Whether moving the parameters along some line never lowers the likelihood, by linear programming.

    A win needs d(D + a) >= dd there, a loss −d(D + a) >= dd, a draw |d(D + a)| <= dd.
    """
    n = len(counts.draws)
    rows = []
    for white, black in zip(*np.nonzero(counts.games), strict=True):
        margin, draw = np.zeros(n + 2), np.zeros(n + 2)
        margin[white], margin[black], margin[n], draw[n + 1] = 1, -1, 1, 1
        rows += [draw - margin] * bool(counts.white_wins[white, black])
        rows += [draw + margin] * bool(counts.black_wins[white, black])
        rows += [margin - draw, -margin - draw] * bool(counts.draws[white, black])
    free = [False, *[True] * (n - 1), "advantage" in fit, "draw" in fit and bool(counts.draws.any())]
    box = [(-1, 1) if is_free else (0, 0) for is_free in free]
    goal = np.random.default_rng(0).normal(size=n + 2)  # no line is at right angles to it
    furthest = (
        linprog(side * goal, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=box).fun
        for side in (1, -1)
    )
    return min(furthest) < -1e-6


def test_ratings_are_refused_exactly_where_the_likelihood_grows_for_ever():
    rng = np.random.default_rng(17)
    fits = ((), ("draw",), ("advantage",), ("advantage", "draw"))
    seen = set()
    for fit, prior, _ in itertools.product(fits, (0.0, 2.0), range(12)):
        games = random_pool(rng)
        unbounded = grows_for_ever(with_prior(counts_of(games), prior), fit)
        seen.add((fit, prior, unbounded))
        try:
            rated = bayeselo(games, prior=prior, fit=fit)
        except UnboundedRatings:
            assert unbounded
        else:
            assert not unbounded
            assert np.isfinite(rated.interval).all()
    # All kinds were met; with a prior only a fitted draw parameter can be unbounded.
    bounded = {(fit, prior, False) for fit in fits for prior in (0.0, 2.0)}
    assert seen == bounded | {(fit, prior, True) for fit, prior, _ in bounded if prior == 0 or "draw" in fit}


def test_very_lopsided_results_still_converge():
    """A chain of 12 players, each of whom beats the next 1,000 to 1; 3,000 games of one pair, 2 of others."""
    names = [f"p{place:02d}" for place in range(12)]
    games = table_of(*((better, worse, 1000, 0, 1) for better, worse in itertools.pairwise(names)))
    rated = bayeselo(games, advantage=0.0, prior=0.0, fit=("draw",))
    np.testing.assert_allclose(-np.diff(rated.elo), 1200, atol=1e-3)
    games = table_of(("A", "B", 1500, 0, 1500), ("B", "C", 1, 0, 1), ("C", "D", 1, 0, 1))
    rated = bayeselo(games, advantage=0.0, prior=0.0)
    np.testing.assert_allclose(rated.elo, 0, atol=1e-6)


def test_no_games_are_refused():
    with pytest.raises(ValueError, match="no games to rate"):
        bayeselo(table_of())


def test_an_unknown_base_is_refused_with_the_names():
    with pytest.raises(ValueError, match="'base' played none of these games; the players are A, B"):
        bayeselo(table_of(("A", "B", 1, 1, 1)), base="base")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": -1.0}, "prior must be .* 0 or more, got -1.0"),
        ({"prior": math.nan}, "prior must be .*, got nan"),
        ({"prior": math.inf}, "prior must be .*, got inf"),
        ({"draw_elo": 0.0}, "draw_elo must be .* above 0, got 0.0"),
        ({"draw_elo": math.nan}, "draw_elo must be .*, got nan"),
        ({"advantage": math.inf}, "advantage must be .*, got inf"),
        ({"fit": "draw"}, "fit must be .*'draw'"),
        ({"fit": ("elo",)}, r"fit must be .*got \('elo',\)"),
    ],
)
def test_parameters_out_of_range_are_refused_with_their_values(crosstable, settings, message):
    with pytest.raises(ValueError, match=message):
        bayeselo(crosstable, **settings)
