"""Binomial confidence intervals for every rate the study prints.

The paper reports accuracies in percent with a half-width beside them. Wilson's score interval at 95 %
reproduces every half-width printed in its Tables 1, 3 and 6, so that is the interval used throughout.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import SupportsIndex

from statsmodels.stats.proportion import proportion_confint


def _checked(k: SupportsIndex, n: SupportsIndex, confidence: float) -> tuple[int, int]:
    for name, value in (("k", k), ("n", n)):
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise ValueError(f"{name} must be an integer count, got {value!r} ({type(value).__name__})")
    k, n = int(k), int(n)
    if n < 0 or k < 0 or k > n:
        raise ValueError(f"counts must satisfy 0 <= k <= n, got k = {k}, n = {n}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    return k, n


def wilson(k: SupportsIndex, n: SupportsIndex, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a rate (paper Tables 1, 3, 6; E. B. Wilson, 1927), as fractions in [0, 1].

    Args:
        k: number of successes, an integer (NumPy integers too), 0 <= k <= n.
        n: number of trials, an integer >= 0.
        confidence: two-sided coverage, strictly between 0 and 1.

    Returns:
        ``(low, high)`` with ``0 <= low <= k / n <= high <= 1``; ``(nan, nan)`` when ``n`` is 0.

    Raises:
        ValueError: a count is not an integer or out of range, or `confidence` is.
    """
    k, n = _checked(k, n, confidence)
    if n == 0:
        return math.nan, math.nan
    low, high = proportion_confint(k, n, alpha=1.0 - confidence, method="wilson")
    rate = k / n
    # Rounding may put an end point a last bit beyond 0, 1 or, at k = 0 and k = n, beyond the rate itself.
    return min(max(float(low), 0.0), rate), max(min(float(high), 1.0), rate)


def half_width(k: SupportsIndex, n: SupportsIndex, confidence: float = 0.95) -> float:
    """Half the length of `wilson`'s interval, as a fraction (the paper prints it in percentage points).

    The interval is not centred on ``k / n``; this is the number the paper prints after its plus-minus sign.
    NaN when ``n`` is 0. Raises `ValueError` as `wilson` does.
    """
    low, high = wilson(k, n, confidence)
    return (high - low) / 2.0
