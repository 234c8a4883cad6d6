"""Intervals of differences, ratios, means and correlations: other libraries, formulas and simulation."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep

from searchless_rl.statistics.combination import (
    Interval,
    difference,
    mean,
    over_seeds,
    rank_correlation,
    ratio,
)
from searchless_rl.statistics.intervals import wilson


@pytest.mark.parametrize(("k", "n", "j", "m"), [(30, 40, 10, 50), (0, 25, 3, 30), (561, 2000, 687, 2000)])
def test_a_difference_of_rates_is_newcombes(k, n, j, m):
    found = difference(Interval(k / n, *wilson(k, n)), Interval(j / m, *wilson(j, m)))
    low, high = confint_proportions_2indep(k, n, j, m, method="newcomb", compare="diff")
    assert found == pytest.approx((k / n - j / m, low, high))


def test_a_ratio_of_lognormal_estimates_has_their_normal_interval():
    a, b = (
        Interval(math.exp(c), math.exp(c - 1.96 * s), math.exp(c + 1.96 * s))
        for c, s in ((1, 0.2), (0.5, 0.3))
    )
    half = 1.96 * math.hypot(0.2, 0.3)
    assert ratio(a, b) == pytest.approx((math.exp(0.5), math.exp(0.5 - half), math.exp(0.5 + half)))


def test_a_ratio_with_a_bound_at_zero_is_unbounded():
    assert ratio(Interval(1, 0, 2), Interval(1, 1, 1))[1:] == pytest.approx((0, 2))
    assert ratio(Interval(1, 1, 1), Interval(1, -1, 2)).high == math.inf
    with pytest.raises(ValueError, match="positive values, not 0 / 1"):
        ratio(Interval(0, 0, 1), Interval(1, 1, 1))


def test_a_mean_of_equal_estimates_narrows_by_the_root_of_their_number():
    assert mean([Interval(2, 1, 4)] * 4) == pytest.approx((2, 1.5, 3))
    with pytest.raises(ValueError, match="nothing"):
        mean([])


@pytest.mark.parametrize("values", [[1.0, 2.0], [0.3, 0.31, 0.29, 0.35, 0.28]])
def test_seeds_have_students_interval(values):
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    assert over_seeds(values) == pytest.approx((np.mean(values), low, high))
    with pytest.raises(ValueError, match="needs two of them, not 1"):
        over_seeds(values[:1])


def test_a_rank_correlation_is_spearmans_with_ties_too():
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.integers(0, 6, 12), rng.integers(0, 6, 12)
        assert rank_correlation(x, y).value == pytest.approx(stats.spearmanr(x, y).statistic)
    assert rank_correlation([1, 2, 3, 4], [9, 8, 7, 6]) == (-1, -1, -1)


def test_the_interval_of_a_rank_correlation_holds_the_truth_as_often_as_it_says():
    """Of a bivariate normal with correlation 0.6, Spearman's is 6/π·asin(0.3)."""
    rng, truth, held = np.random.default_rng(1), 6 / math.pi * math.asin(0.3), 0
    for _ in range(400):
        x, y = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 40).T
        found = rank_correlation(x, y)
        held += found.low < truth < found.high
    assert 0.92 <= held / 400 <= 0.98


@pytest.mark.parametrize(
    "pair", [([1, 2, 3], [1, 2, 3]), ([1, 2, 3, 4], [1, 2, 3]), ([1, 1, 1, 1], [1, 2, 3, 4])]
)
def test_too_little_for_a_rank_correlation_is_refused(pair):
    with pytest.raises(ValueError, match="rank correlation needs"):
        rank_correlation(*pair)
