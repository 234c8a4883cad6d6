"""Intervals of means and medians, against scipy and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from searchless_rl.statistics.location import mean_interval, median_interval


@pytest.mark.parametrize("count", [2, 5, 400])
def test_a_mean_has_students_interval(count):
    values = np.random.default_rng(count).exponential(size=count)
    wanted = stats.t.interval(0.95, count - 1, values.mean(), stats.sem(values))
    assert mean_interval(values) == pytest.approx((values.mean(), *wanted))


@pytest.mark.parametrize("count", [*range(1, 30), 434, 6840])
def test_a_median_lies_between_the_order_statistics_that_the_binomial_names(count):
    values = np.random.default_rng(count).permutation(np.arange(1.0, count + 1))
    found = median_interval(values)
    assert found.value == (count + 1) / 2
    rank = int(stats.binom.ppf(0.025, count, 0.5))  # the smallest with P(B <= rank) >= 2.5 %
    if stats.binom.cdf(rank, count, 0.5) <= 0.025:
        rank += 1
    if rank:
        assert (found.low, found.high) == (rank, count + 1 - rank)
    else:
        assert count < 6
        assert math.isnan(found.low)
        assert math.isnan(found.high)


def test_a_medians_interval_holds_the_truth_as_often_as_it_says():
    rng, truth = np.random.default_rng(0), math.log(2)
    held = [
        low < truth < high for _, low, high in (median_interval(rng.exponential(size=41)) for _ in range(800))
    ]
    assert 0.94 <= np.mean(held) <= 0.99


@pytest.mark.parametrize("interval", [mean_interval, median_interval])
def test_of_nothing_nothing_is_known(interval):
    assert all(map(math.isnan, interval([])))
    assert interval([3.0]).value == 3
    assert math.isnan(interval([3.0]).low)
