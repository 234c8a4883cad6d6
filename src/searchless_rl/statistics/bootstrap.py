"""Percentile bootstrap intervals over puzzles (paper section 3.3: Table 4 and Figure 6).

Puzzles are drawn with replacement and every statistic is a function of means over the drawn puzzles. Paired
statistics draw pairs. Everything stays in logarithms until the last step, since a line's probability may be
too small for any other form.

A line of probability zero (log p = −∞) does not occur with a softmax over legal moves taken in logarithms,
but nothing breaks on it: the geometric mean is then 0, the difference of two such lines is 0 (neither kept
it), and a mean that meets both +∞ and −∞ is NaN. Bounds are order statistics of the resamples, never
interpolated, so that −∞ may stand among them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

RESAMPLES = 2000
_DRAWS_AT_ONCE = 2**21  # about 40 MB


class Interval(NamedTuple):
    """A statistic of the puzzles as they are and its bootstrap bounds; NaN without puzzles."""

    value: float
    low: float
    high: float


def resampled_means(columns: np.ndarray, *, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Means of resampled rows; equal seeds and lengths draw equal rows.

    Args:
        columns: float [n, k], a row per puzzle, n >= 1.
        seed: of the draws.
        resamples: how many.

    Returns:
        float64 [resamples, k].
    """
    rng = np.random.default_rng(seed)
    n = len(columns)
    by_column = np.ascontiguousarray(columns.T)
    means = np.empty((resamples, len(by_column)))
    block = max(_DRAWS_AT_ONCE // n, 1)
    for begin in range(0, resamples, block):
        drawn = rng.integers(0, n, (min(block, resamples - begin), n), dtype=np.int32)
        for place, column in enumerate(by_column):
            means[begin : begin + block, place] = column[drawn].mean(axis=1)
    return means


def bootstrap(
    columns: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
) -> Interval:
    """A function of column means with its percentile interval.

    Args:
        columns: float [n, k], a row per puzzle.
        statistic: float [m, k] means -> float [m].
        seed: of the draws.
        resamples: how many.
        confidence: two-sided coverage, strictly between 0 and 1.

    Raises:
        ValueError: `confidence` or `resamples` out of range.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples!r}")
    if len(columns) == 0:
        return Interval(np.nan, np.nan, np.nan)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        value = statistic(columns.mean(axis=0, dtype=np.float64)[None])[0]
        drawn = statistic(resampled_means(columns, seed=seed, resamples=resamples))
        tail = (1.0 - confidence) / 2.0
        low = np.quantile(drawn, tail, method="lower")
        high = np.quantile(drawn, 1.0 - tail, method="higher")
    return Interval(float(value), float(low), float(high))


def geometric_mean(log_p: np.ndarray, *, seed: int, resamples: int = RESAMPLES) -> Interval:
    """exp(mean log p) of float [n] log-probabilities, in [0, 1]."""
    return bootstrap(_columns(log_p), _exp_of_first, seed=seed, resamples=resamples)


def arithmetic_mean(log_p: np.ndarray, *, seed: int, resamples: int = RESAMPLES) -> Interval:
    """Mean p of float [n] log-probabilities, in [0, 1]."""
    return bootstrap(_columns(np.exp(log_p)), _first, seed=seed, resamples=resamples)


def mean_gap(log_p: np.ndarray, *, seed: int, resamples: int = RESAMPLES) -> Interval:
    """Arithmetic over geometric mean, >= 1: large where some lines are seized and others dropped."""
    return bootstrap(
        _columns(np.exp(log_p), log_p),
        lambda means: np.exp(np.log(means[:, 0]) - means[:, 1]),
        seed=seed,
        resamples=resamples,
    )


def mean_gain(log_a: np.ndarray, log_b: np.ndarray, *, seed: int, resamples: int = RESAMPLES) -> Interval:
    """Mean of log p_a − log p_b over pairs (float [n] each), in nats."""
    return bootstrap(_columns(paired_gain(log_a, log_b)), _first, seed=seed, resamples=resamples)


def geometric_ratio(
    log_a: np.ndarray, log_b: np.ndarray, *, seed: int, resamples: int = RESAMPLES
) -> Interval:
    """Ratio of two geometric means over pairs: exp of `mean_gain`, bounds included."""
    return bootstrap(_columns(paired_gain(log_a, log_b)), _exp_of_first, seed=seed, resamples=resamples)


def paired_gain(log_a: np.ndarray, log_b: np.ndarray) -> np.ndarray:
    """The gain log p_a − log p_b of each pair, in nats; 0 where both are −∞.

    Raises:
        ValueError: the two differ in length.
    """
    if len(log_a) != len(log_b):
        raise ValueError(f"pairs need two equally long arrays, got {len(log_a)} and {len(log_b)} puzzles")
    with np.errstate(invalid="ignore"):
        return np.where(log_a == log_b, 0.0, np.asarray(log_a, float) - np.asarray(log_b, float))


def _columns(*columns: np.ndarray) -> np.ndarray:
    return np.column_stack([np.asarray(column, np.float64) for column in columns])


def _first(means: np.ndarray) -> np.ndarray:
    return means[:, 0]


def _exp_of_first(means: np.ndarray) -> np.ndarray:
    value: np.ndarray = np.exp(means[:, 0])
    return value
