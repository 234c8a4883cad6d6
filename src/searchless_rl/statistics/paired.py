"""Two players on the same puzzles: paired differences, McNemar's test, Holm's correction.

The paper compares models by unpaired intervals (Table 1); on one suite both are given the same puzzles,
and what separates two players is the puzzles that only one of them solves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import pandas as pd
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from searchless_rl.statistics.intervals import wilson

EXACT_BELOW = 1000
"""Discordant puzzles from which McNemar's test takes the χ² approximation, by then the same to 0.001."""
COLUMNS = (
    *("suite", "a", "b", "n", "both", "only_a", "only_b", "neither"),
    *("difference", "low", "high", "p", "p_holm"),
)


class Pair(NamedTuple):
    """How many puzzles both players solve, only the first, only the second, and neither."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def n(self) -> int:
        """Number of puzzles."""
        return sum(self)

    @property
    def difference(self) -> float:
        """Accuracy of the first less that of the second, a fraction; NaN without puzzles."""
        return (self.only_a - self.only_b) / self.n if self.n else math.nan


def align(a: pd.DataFrame, b: pd.DataFrame, suite: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Puzzle frames of two players in one order of puzzles, that of `a`.

    Raises:
        ValueError: an id occurs twice, or a puzzle was given to one player only (suite and ids named).
    """
    for frame in (a, b):
        if not frame["puzzle_id"].is_unique:
            repeated = frame.loc[frame["puzzle_id"].duplicated(), "puzzle_id"].iloc[0]
            raise ValueError(f"suite {suite}: puzzle {repeated} stands twice. Run the stage `tactics` again.")
    unmatched = sorted(set(a["puzzle_id"]) ^ set(b["puzzle_id"]))
    if unmatched:
        raise ValueError(
            f"suite {suite}: {len(unmatched)} puzzles were asked of one player only, {unmatched[0]} among "
            "them. Run the stage `tactics` of both on the same suites."
        )
    place = pd.Series(range(len(b)), index=b["puzzle_id"].to_numpy())
    return a.reset_index(drop=True), b.iloc[place.loc[a["puzzle_id"]].to_numpy()].reset_index(drop=True)


def count_pair(a: pd.DataFrame, b: pd.DataFrame, suite: str) -> Pair:
    """Count a pair's puzzles from two puzzle frames (puzzle_id, solved), matched by id as `align` does."""
    first, second = (frame["solved"].to_numpy(bool) for frame in align(a, b, suite))
    return Pair(
        both=int((first & second).sum()),
        only_a=int((first & ~second).sum()),
        only_b=int((~first & second).sum()),
        neither=int((~first & ~second).sum()),
    )


def mcnemar_p(pair: Pair) -> float:
    """Two-sided p of McNemar's test that neither player solves more; NaN without puzzles.

    Exact (binomial on the discordant puzzles) below `EXACT_BELOW` of them, χ² with continuity correction
    from there on; 1 where both counts are equal.
    """
    if pair.n == 0:
        return math.nan
    if pair.only_a == pair.only_b:
        return 1.0  # the continuity correction would overshoot
    exact = pair.only_a + pair.only_b < EXACT_BELOW
    table = [[pair.both, pair.only_a], [pair.only_b, pair.neither]]
    return float(mcnemar(table, exact=exact, correction=True).pvalue)


def paired_interval(pair: Pair) -> tuple[float, float]:
    """95 % interval of `Pair.difference`, by Newcombe's method 10 (Statistics in Medicine 17, 1998, 2635).

    It joins the Wilson intervals of both accuracies through their correlation φ, so that it holds the
    observed difference, stays within [-1, 1] and has a width also where no puzzle is discordant.

    Returns:
        ``(low, high)`` as fractions; ``(nan, nan)`` without puzzles.
    """
    n = pair.n
    if n == 0:
        return math.nan, math.nan
    a, b = pair.both + pair.only_a, pair.both + pair.only_b
    (low_a, high_a), (low_b, high_b) = wilson(a, n), wilson(b, n)
    down_a, up_a, down_b, up_b = a / n - low_a, high_a - a / n, b / n - low_b, high_b - b / n
    phi = _correlation(pair)
    below = math.sqrt(max(down_a**2 - 2 * phi * down_a * up_b + up_b**2, 0.0))
    above = math.sqrt(max(up_a**2 - 2 * phi * up_a * down_b + down_b**2, 0.0))
    return max(pair.difference - below, -1.0), min(pair.difference + above, 1.0)


def _correlation(pair: Pair) -> float:
    """φ of the 2 x 2 table, shrunk by n / 2 where positive (continuity), 0 where a margin is."""
    a, b = pair.both + pair.only_a, pair.both + pair.only_b
    margins = a * (pair.n - a) * b * (pair.n - b)
    if margins == 0:
        return 0.0
    association: float = pair.both * pair.neither - pair.only_a * pair.only_b
    if association > 0:
        association = max(association - pair.n / 2, 0)
    return association / math.sqrt(margins)


def compare_models(scores: Mapping[str, Mapping[str, pd.DataFrame]]) -> pd.DataFrame:
    """Every pair of models on every suite that both were measured on.

    Args:
        scores: model -> suite -> puzzle frame (`evaluation.tactics.SuiteScores`).

    Returns:
        One row per suite and pair, in the order given: suite, a, b (models), n, both, only_a, only_b, neither
        (puzzles), difference (accuracy of a less b) with low, high (95 %, `paired_interval`), p (McNemar),
        p_holm (p corrected over the suite's pairs by Holm's method).

    Raises:
        ValueError: see `align`.
    """
    rows: list[dict[str, Any]] = []
    for suite in dict.fromkeys(suite for suites in scores.values() for suite in suites):
        measured = {model: suites[suite] for model, suites in scores.items() if suite in suites}
        pairs = [(a, b, count_pair(measured[a], measured[b], suite)) for a, b in combinations(measured, 2)]
        found = [mcnemar_p(pair) for _, _, pair in pairs]
        for (a, b, pair), p, p_holm in zip(pairs, found, holm(found), strict=True):
            low, high = paired_interval(pair)
            rows.append(
                {"suite": suite, "a": a, "b": b, "n": pair.n, **pair._asdict()}
                | {"difference": pair.difference, "low": low, "high": high, "p": p, "p_holm": p_holm}
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def holm(p: list[float]) -> list[float]:
    """Correct the p values of one suite's pairs by Holm's method; without puzzles all are NaN and stay so."""
    # A suite's pairs share its puzzles: they are all tested, or all without puzzles.
    if not p or math.isnan(p[0]):
        return p
    return [float(value) for value in multipletests(p, method="holm")[1]]
