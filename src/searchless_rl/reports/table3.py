"""Table 3: accuracy by mate depth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.reports.formats import Source, percent, write_table
from searchless_rl.reports.rows import (
    PROPOSED,
    RATE_KEYS,
    beta_name,
    frame_of,
    rates,
    sizes,
    tau_name,
    term_name,
)
from searchless_rl.results.models import Measured
from searchless_rl.results.names import BASE, MATES, identity

_HEADERS = {suite: f"N = {depth}" for depth, suite in MATES.items()}


def table3(models: Sequence[Measured]) -> pd.DataFrame:
    """Accuracy on the mate suites, a row per model in the order given.

    Args:
        models: the base and the selected models, as in Table 1.

    Returns:
        Columns model, term, tau, beta, seed, then k, n, accuracy, low, high (fractions, 95 % Wilson) of each
        depth, prefixed mate1_ to mate5_; empty where a model was not measured.
    """
    rows = []
    for model in models:
        row: dict[str, Any] = identity(model.name)
        for suite in MATES.values():
            row |= rates(model, suite, f"{suite}_")
        rows.append(row)
    return frame_of(rows, [*identity(BASE), *(f"{suite}_{key}" for suite in _HEADERS for key in RATE_KEYS)])


def write_table3(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `table3`'s frame as CSV, Markdown and LaTeX."""
    write_table(
        frame,
        stem,
        number=3,
        title="accuracy (%) by forced-mate depth",
        note="Mate-in-N accuracy in percent with half-widths of 95 % Wilson intervals; the CSV has k, n and "
        "both bounds. A puzzle is solved when the most likely move at every position is the marked one or "
        f"an optimal mate. Models as in Table 1; {PROPOSED}. Puzzles: {sizes(frame, _HEADERS)}.",
        source=source,
        groups=dict.fromkeys(_HEADERS.values(), "Mate-in-N accuracy (%)"),
        columns={
            "Exploration term": term_name,
            "Self-play τ": tau_name,
            "β": beta_name,
            **{header: _accuracy(suite) for suite, header in _HEADERS.items()},
        },
    )


def _accuracy(suite: str) -> Callable[[pd.Series], str]:
    return lambda row: percent(row[f"{suite}_accuracy"], row[f"{suite}_low"], row[f"{suite}_high"])
