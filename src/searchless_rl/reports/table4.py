"""Table 4: the probability of sampling a whole solution, its two means and the gap between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from searchless_rl.cells import Cell
from searchless_rl.reports.formats import MISSING, Source, write_table
from searchless_rl.reports.rows import PROPOSED, sizes, term_name
from searchless_rl.results.names import BASE, HARD, MAIN, MATES, identity
from searchless_rl.results.scores import Scores
from searchless_rl.statistics.bootstrap import (
    Interval,
    arithmetic_mean,
    geometric_mean,
    geometric_ratio,
    mean_gap,
)
from searchless_rl.statistics.paired import align

SUITES = {MAIN: "All", HARD: "≥2400", **{suite: f"N = {depth}" for depth, suite in MATES.items()}}
"""Suite -> column of the table."""
GEOMETRIC, ARITHMETIC, GAP, RATIO = "geometric", "arithmetic", "arithmetic / geometric", "forward / reverse"
_MEANS = {GEOMETRIC: geometric_mean, ARITHMETIC: arithmetic_mean, GAP: mean_gap}


def table4(scores: Scores, seed: int = 0) -> pd.DataFrame:
    """Solution probabilities with 95 % bootstrap intervals over puzzles.

    Args:
        scores: of the base and the adaptive arms at the headline beta, with the suites of `SUITES`.
        seed: of the bootstrap.

    Returns:
        Three rows per model, for its geometric and its arithmetic mean and their ratio, then a row for every
        forward-KL and reverse-KL model of equal temperature and seed: the ratio of their geometric means over
        the same puzzles. Columns model, term, tau, beta, seed, statistic, and for each suite its value, n
        (puzzles), low and high, named SUITE, SUITE_n, SUITE_low, SUITE_high; empty where not measured.

    Raises:
        ValueError: a pair's models were not asked the same puzzles.
    """
    rows: list[dict[str, Any]] = []
    for model, suites in scores.items():
        for statistic, mean in _MEANS.items():
            row = identity(model) | {"statistic": statistic}
            for suite in SUITES:
                if (puzzles := suites.get(suite)) is not None:
                    log_p = puzzles["log_probability"].to_numpy()
                    row |= _entries(suite, mean(log_p, seed=seed), len(log_p))
            rows.append(row)
    for forward, reverse in _anchor_pairs(scores):
        row = identity(forward) | {"model": f"{forward} / {reverse}", "term": None, "statistic": RATIO}
        if identity(reverse)["beta"] != row["beta"]:
            row["beta"] = None
        for suite in SUITES:
            if suite in scores[forward] and suite in scores[reverse]:
                first, second = align(scores[forward][suite], scores[reverse][suite], suite)
                logs = (frame["log_probability"].to_numpy() for frame in (first, second))
                row |= _entries(suite, geometric_ratio(*logs, seed=seed), len(first))
        rows.append(row)
    keys = ("", "_n", "_low", "_high")
    columns = [*identity(BASE), "statistic", *(f"{suite}{key}" for suite in SUITES for key in keys)]
    counts = ["seed", *(f"{suite}_n" for suite in SUITES)]
    return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(counts, "Int64"))


def _entries(suite: str, interval: Interval, n: int) -> dict[str, Any]:
    return {
        suite: interval.value,
        f"{suite}_n": n,
        f"{suite}_low": interval.low,
        f"{suite}_high": interval.high,
    }


def _anchor_pairs(models: Iterable[str]) -> list[tuple[str, str]]:
    cells = [Cell.parse(model) for model in models if model != BASE]
    return [
        (forward.id, reverse.id)
        for forward in cells
        for reverse in cells
        if (forward.term, reverse.term) == ("forward_kl", "reverse_kl")
        and (forward.tau, forward.seed) == (reverse.tau, reverse.seed)
    ]


def write_table4(frame: pd.DataFrame, stem: Path, source: Source, beta: float) -> None:
    """Write `table4`'s frame as CSV, and a row per model as Markdown and LaTeX.

    Args:
        frame: of `table4`.
        stem: path without suffix.
        source: named in the table.
        beta: the headline beta, named in the note.
    """
    write_table(
        frame,
        stem,
        number=4,
        title="solution probability",
        note="Chance of sampling the whole solution in one pass, geometric mean over puzzles, in parentheses "
        "at ≥2400 the arithmetic mean: a wide gap between the two says that some solutions are seized while "
        f"others are dropped. Models: the adaptive arms at β = {beta:g}; {PROPOSED}. Bold: the highest of a "
        "column; ▲ above the base, ▼ below it. The CSV has both means on every suite, their ratio and the "
        "paired ratio of forward to reverse anchor, with 95 % bootstrap intervals over puzzles. Puzzles: "
        f"{sizes(frame, SUITES)}.",
        source=source,
        groups=dict.fromkeys(("All", "≥2400"), "Tactics suite")
        | dict.fromkeys((SUITES[suite] for suite in MATES.values()), "Mate-in-N"),
        columns={"Model": term_name, **{header: _cell(frame, suite) for suite, header in SUITES.items()}},
        printed=frame[frame["statistic"] == GEOMETRIC],
    )


def _cell(frame: pd.DataFrame, suite: str) -> Callable[[pd.Series], str]:
    geometric = frame[frame["statistic"] == GEOMETRIC].set_index("model")[suite]
    arithmetic = frame[frame["statistic"] == ARITHMETIC].set_index("model")[suite]
    best, base = geometric.max(), geometric.get(BASE, np.nan)

    def text(row: pd.Series) -> str:
        value = row[suite]
        if pd.isna(value):
            return MISSING
        shown = f"**{_number(value)}**" if value == best else _number(value)
        if value != base and not pd.isna(base):
            shown += " ▲" if value > base else " ▼"
        return f"{shown} ({_number(arithmetic[row['model']])})" if suite == HARD else shown

    return text


def _number(value: float) -> str:
    """Three decimals as in the paper, fewer from 10 on, an exponent where they would say nothing."""
    if not np.isfinite(value):
        return "∞" if value > 0 else str(value)
    if value == 0 or 0.001 <= value < 10:
        return f"{value:.3f}"
    return f"{value:.1f}" if 10 <= value < 1000 else f"{value:.1e}"
