"""Intervals of means and medians of a sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from statsmodels.stats.weightstats import DescrStatsW

from searchless_rl.statistics.combination import Interval


def mean_interval(values: Sequence[float] | np.ndarray) -> Interval:
    """The mean with Student's 95 % interval; NaN bounds below two values, NaN without any."""
    sample = np.asarray(values, np.float64)
    if len(sample) == 0:
        return Interval(math.nan, math.nan, math.nan)
    value = float(sample.mean())
    if len(sample) < 2:
        return Interval(value, math.nan, math.nan)
    low, high = DescrStatsW(sample).tconfint_mean()
    return Interval(value, float(low), float(high))


def median_interval(values: Sequence[float] | np.ndarray) -> Interval:
    """The median with the order statistics that hold the population's with at least 95 %.

    How many values fall below the population's median is binomial with probability one half, whatever the
    distribution. Below six values no pair of them holds it so often: NaN bounds; NaN without any value.
    """
    sample = np.sort(np.asarray(values, np.float64))
    if len(sample) == 0:
        return Interval(math.nan, math.nan, math.nan)
    value, rank = float(np.median(sample)), _rank(len(sample))
    if rank == 0:
        return Interval(value, math.nan, math.nan)
    return Interval(value, float(sample[rank - 1]), float(sample[len(sample) - rank]))


def _rank(count: int) -> int:
    """The largest r for which fewer than r of `count` fair coins come up heads with at most 2.5 %."""
    heads = np.arange(1, count + 1)
    log_mass = count * math.log(0.5) + np.concatenate([[0.0], np.cumsum(np.log((count - heads + 1) / heads))])
    return int((np.cumsum(np.exp(log_mass)) <= 0.025).sum())
