"""Puzzle ratings against a generalised linear model, the closed form and scipy's root finder."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import optimize, stats

from searchless_rl.statistics.puzzle_rating import SCALE, puzzle_rating


def _made(seed, n=400, rating=1500.0):
    rng = np.random.default_rng(seed)
    ratings = rng.integers(400, 2800, n)
    return ratings, rng.random(n) < 1 / (1 + 10 ** ((ratings - rating) / 400))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_intercept_of_a_logistic_regression_with_offset(seed):
    ratings, solved = _made(seed)
    model = sm.GLM(
        solved.astype(float), np.ones((len(ratings), 1)), sm.families.Binomial(), offset=-ratings / SCALE
    )
    fitted = model.fit(tol=1e-12)
    found = puzzle_rating(ratings, solved)
    assert found.value == pytest.approx(fitted.params[0] * SCALE, abs=1e-5)

    def dropped(rating):
        return 2 * (fitted.llf - model.loglike(np.array([rating / SCALE]))) - stats.chi2.ppf(0.95, 1)

    assert found.low == pytest.approx(optimize.brentq(dropped, found.value - 500, found.value), abs=1e-5)
    assert found.high == pytest.approx(optimize.brentq(dropped, found.value, found.value + 500), abs=1e-5)


def test_puzzles_of_one_rating_have_a_closed_form():
    """k of n at R: r = R + 400 log10(k / (n − k))."""
    found = puzzle_rating(np.full(100, 1200), np.arange(100) < 30)
    assert found.value == pytest.approx(1200 + 400 * math.log10(30 / 70), abs=1e-6)
    half = puzzle_rating(np.array([1000, 2000]), np.array([True, False]))
    assert half.value == pytest.approx(1500, abs=1e-6)
    assert half.high - 1500 == pytest.approx(1500 - half.low, abs=1e-6)


def test_all_or_none_solved_has_one_bound():
    """With all of n at R solved, n·log P falls by half the chi-squared quantile."""
    ratings = np.full(50, 1800)
    every, none = puzzle_rating(ratings, np.ones(50, bool)), puzzle_rating(ratings, np.zeros(50, bool))
    chance = math.exp(-stats.chi2.ppf(0.95, 1) / 2 / 50)
    assert every == (math.inf, pytest.approx(1800 + SCALE * math.log(chance / (1 - chance))), math.inf)
    assert none[:2] == (-math.inf, -math.inf)
    assert none.high == pytest.approx(2 * 1800 - every.low)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    held = 0
    for seed in range(300):
        found = puzzle_rating(*_made(seed, n=150))
        held += found.low < 1500 < found.high
    assert 0.92 <= held / 300 <= 0.98


def test_what_is_no_set_of_puzzles_is_refused():
    assert all(map(math.isnan, puzzle_rating(np.array([]), np.array([], bool))))
    with pytest.raises(ValueError, match="a rating and a result for each puzzle"):
        puzzle_rating(np.array([1000.0]), np.array([True, False]))
    with pytest.raises(ValueError, match="not finite"):
        puzzle_rating(np.array([math.nan]), np.array([True]))
