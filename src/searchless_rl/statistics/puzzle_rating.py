"""The rating of a player from the rated puzzles it solves: one parameter, by maximum likelihood.

P(solve) = 1 / (1 + 10^((R − r) / 400)) for a puzzle rated R, the Elo curve. The puzzles' ratings are taken as
given and as the only thing that makes one harder than another; whether a player's successes fall with R as
steeply as the curve does, the rating does not say.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from searchless_rl.statistics.combination import NORMAL_95, Interval

SCALE = 400 / math.log(10)
"""Rating points to a unit of the logit."""
_DROP = NORMAL_95**2 / 2
"""Half the 95 % quantile of chi-squared with one degree of freedom."""
_REACH, _STEPS = 10_000.0, 200


def puzzle_rating(ratings: np.ndarray, solved: np.ndarray) -> Interval:
    """The most likely rating with its 95 % profile-likelihood interval.

    Args:
        ratings: of the puzzles, finite float or int [n].
        solved: bool [n].

    Returns:
        In rating points; NaN without puzzles. Where none is solved value and low are −∞, where all are value
        and high are +∞: the likelihood has no maximum, and the other bound is where it has dropped from its
        limit.

    Raises:
        ValueError: arrays of different lengths, or a rating that is not finite.
    """
    ratings, solved = np.asarray(ratings, np.float64), np.asarray(solved, bool)
    if ratings.shape != solved.shape or ratings.ndim != 1:
        raise ValueError(f"a rating and a result for each puzzle, not {ratings.shape} and {solved.shape}")
    if not np.isfinite(ratings).all():
        raise ValueError("a puzzle's rating is not finite")
    if not len(ratings):
        return Interval(math.nan, math.nan, math.nan)
    least, most = float(ratings.min()) - _REACH, float(ratings.max()) + _REACH
    count = int(solved.sum())
    if count == 0:
        value, best = -math.inf, 0.0
    elif count == len(solved):
        value, best = math.inf, 0.0
    else:
        value = _root(lambda rating: count - _expected(rating, ratings), least, most)
        best = _log_likelihood(value, ratings, solved)

    def above(rating: float) -> float:
        return _log_likelihood(rating, ratings, solved) - best + _DROP

    low = value if count == 0 else _root(lambda rating: -above(rating), least, min(value, most))
    high = value if count == len(solved) else _root(above, max(value, least), most)
    return Interval(value, low, high)


def _expected(rating: float, ratings: np.ndarray) -> float:
    """Puzzles that a player of this rating solves on average."""
    return float(np.exp(-np.logaddexp(0, (ratings - rating) / SCALE)).sum())


def _log_likelihood(rating: float, ratings: np.ndarray, solved: np.ndarray) -> float:
    logit = (rating - ratings) / SCALE
    return -float(np.logaddexp(0, np.where(solved, -logit, logit)).sum())


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that falls from positive to negative crosses 0, by bisection."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
