"""Table 6: coefficient selection, the arms down and beta across."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.cells import DECADES, format_beta
from searchless_rl.reports.formats import INTERVALS, MISSING, Source, percent, write_table
from searchless_rl.reports.rows import PROPOSED, frame_of, rates, tau_name, term_name
from searchless_rl.results.models import Measured
from searchless_rl.results.names import SELECTION, identity
from searchless_rl.results.selection import select_cells

_ALONE = "no term"
"""Column of the base and the unregularized runs, which have no beta."""
_BETAS = {beta: f"β = {format_beta(beta)}" for beta in DECADES}


def table6(models: Sequence[Measured]) -> pd.DataFrame:
    """Coefficient selection on the selection suite: base, unregularized runs, every decade cell.

    Columns: model, term, tau, beta, seed, k, n, accuracy, low, high (fractions, 95 % Wilson), selected.
    """
    selected = {model.name for model in select_cells(models)}
    return frame_of(
        [
            identity(model.name) | rates(model, SELECTION) | {"selected": model.name in selected}
            for model in models
            if model.cell is None or model.competes
        ]
    )


def matrix(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of `table6` as the paper has them: base and arms down, beta across.

    Seeds of one cell are averaged, their intervals too: all were asked the same puzzles, so that more seeds
    say nothing about other puzzles.

    Returns:
        Columns term, tau, and for each beta and for "no term" the accuracy as text, the arm's choice bold.
    """
    rows = []
    for (term, tau), arm in frame.groupby(["term", "tau"], sort=False, dropna=False):
        row: dict[str, Any] = {"term": term, "tau": tau} | dict.fromkeys((_ALONE, *_BETAS.values()), MISSING)
        for beta, seeds in arm.groupby("beta", sort=False, dropna=False):
            name = _BETAS.get(float(beta), _ALONE)  # type: ignore[arg-type]  # a number, or none
            row[name] = _entry(seeds, bold=name != _ALONE)
        rows.append(row)
    return pd.DataFrame(rows, columns=["term", "tau", _ALONE, *_BETAS.values()])


def _entry(seeds: pd.DataFrame, *, bold: bool) -> str:
    known = seeds.dropna(subset="k")
    if known.empty:
        return MISSING
    text = percent(*known[["accuracy", "low", "high"]].astype(float).mean())
    number, _, half = text.partition(" ")
    return f"**{number}** {half}" if bold and known["selected"].all() else text


def write_table6(frame: pd.DataFrame, stem: Path, source: Source, others: str = "") -> None:
    """Write `table6`'s frame as CSV, and its `matrix` as Markdown and LaTeX.

    Args:
        frame: of `table6`.
        stem: path without suffix.
        source: named in the table.
        others: a last sentence, of `others_text`.
    """
    n = frame["n"].max()
    puzzles = "" if pd.isna(n) else f"{n} puzzles. "
    columns: dict[str, Callable[[pd.Series], str]] = {"Exploration term": term_name, "Self-play τ": tau_name}
    columns |= {name: (lambda row, name=name: row[name]) for name in (_ALONE, *_BETAS.values())}  # type: ignore[misc]
    write_table(
        frame,
        stem,
        number=6,
        title="coefficient selection, accuracy (%) on the selection suite",
        note=f"{puzzles}Bold: the largest of its row, the smaller beta of equals, which the arm carries into "
        f"Table 1; {PROPOSED}. {INTERVALS}{others}",
        source=source,
        groups=dict.fromkeys(_BETAS.values(), "Coefficient β"),
        columns=columns,
        printed=matrix(frame),
    )


def others_text(models: Sequence[Measured]) -> str:
    """Cells measured on the suite that take no part in the selection."""
    found = [
        f"{model.name} {percent(*(figures[key] for key in ('accuracy', 'low', 'high')))}"
        for model in models
        if model.cell is not None and not model.competes
        if (figures := model.suites.get(SELECTION, {})).get("n")
    ]
    if not found:
        return ""
    return f" Measured too, never selected (half-decades, requested cells, variants): {'; '.join(found)}."
