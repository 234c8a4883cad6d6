"""Intervals of what is computed from several estimates, and of the mean over a few seeds.

A difference takes the square-and-add rule of Newcombe (1998) and Zou and Donner (2008): each bound is as far
from the difference as the two distances to the bounds that pull it there, added in quadrature. It presupposes
independent estimates; where they rise and fall together (the same puzzles, the same pool) it is too wide,
never too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
from statsmodels.stats.weightstats import DescrStatsW

NORMAL_95 = 1.959963984540054
"""Half-width of a 95 % interval in standard deviations of a normal distribution."""


class Interval(NamedTuple):
    """A value with the bounds of its 95 % interval."""

    value: float
    low: float
    high: float


def difference(a: Interval, b: Interval) -> Interval:
    """A − b of independent estimates."""
    value = a.value - b.value
    below = math.hypot(a.value - a.low, b.high - b.value)
    above = math.hypot(a.high - a.value, b.value - b.low)
    return Interval(value, value - below, value + above)


def ratio(a: Interval, b: Interval) -> Interval:
    """A / b of independent positive estimates: `difference` of their logarithms.

    A bound that is not positive has no logarithm; the ratio is then unbounded on that side (0 or infinity).

    Raises:
        ValueError: a value is not positive.
    """
    if a.value <= 0 or b.value <= 0:
        raise ValueError(f"a ratio needs positive values, not {a.value:g} / {b.value:g}")
    logs = difference(*(Interval(*map(_log, part)) for part in (a, b)))
    return Interval(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high))


def mean(parts: Sequence[Interval]) -> Interval:
    """The mean of independent estimates.

    Raises:
        ValueError: there are none.
    """
    if not parts:
        raise ValueError("a mean of nothing")
    count = len(parts)
    value = math.fsum(part.value for part in parts) / count
    below = math.hypot(*(part.value - part.low for part in parts)) / count
    above = math.hypot(*(part.high - part.value for part in parts)) / count
    return Interval(value, value - below, value + above)


def over_seeds(values: Sequence[float]) -> Interval:
    """The mean of repeated trainings with Student's 95 % interval; two values at least.

    Raises:
        ValueError: fewer than two values: one training says nothing of another.
    """
    if len(values) < 2:
        raise ValueError(f"an interval over seeds needs two of them, not {len(values)}")
    low, high = DescrStatsW(values).tconfint_mean()
    return Interval(math.fsum(values) / len(values), float(low), float(high))


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> Interval:
    """Spearman's rank correlation with the 95 % interval of Bonett and Wright (2000).

    Perfect agreement has no width by their formula.

    Raises:
        ValueError: lists of different lengths, fewer than four pairs, or a list of equal values.
    """
    if len(x) != len(y) or len(x) < 4:
        raise ValueError(f"a rank correlation needs four pairs, not {len(x)} and {len(y)} values")
    value = float(pd.Series(x).rank().corr(pd.Series(y).rank()))
    if math.isnan(value):
        raise ValueError("a rank correlation needs values that differ")
    value = max(-1.0, min(1.0, value))
    if abs(value) == 1:
        return Interval(value, value, value)
    spread = NORMAL_95 * math.sqrt((1 + value**2 / 2) / (len(x) - 3))
    centre = math.atanh(value)
    return Interval(value, math.tanh(centre - spread), math.tanh(centre + spread))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
