"""One data frame, three files: CSV for machines, Markdown and LaTeX for readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.files import write_atomically
from searchless_rl.params import Params
from searchless_rl.reports.latex import latex_table

MISSING = "–"
INTERVALS = (
    "Accuracies are percentages with half-widths of 95 % Wilson intervals; the CSV has k, n and both bounds."
)
DIGITS = 8
"""Significant digits of written floats: more would only tell one machine's rounding from another's."""


@dataclass(frozen=True)
class Source:
    """Where the numbers of a table come from.

    Attributes:
        base: the base network, by its name or file.
        scale: name of the parameter file.
    """

    base: str
    scale: str

    @classmethod
    def of(cls, params: Params) -> Source:
        """The base and the scale of these parameters."""
        return cls(Path(params.base).name, params.scale)

    def __str__(self) -> str:
        return f"Base network: {self.base}. Scale: {self.scale}."


def percent(rate: float, low: float, high: float) -> str:
    """``34.40 ± 1.15``: a rate and the half-width of its Wilson interval, in percent."""
    if pd.isna(rate):
        return MISSING
    return f"{100 * rate:.2f} ± {50 * (high - low):.2f}"


def signed(value: float, digits: int) -> str:
    """``+0.12`` or ``−0.12``; what rounds to zero is positive."""
    shown = f"{value:+.{digits}f}"
    return (shown if float(shown) else shown.replace("-", "+")).replace("-", "−")


def significant(value: float) -> float:
    """The value rounded to `DIGITS` significant digits; below 1e-15 there is nothing but rounding: 0."""
    return 0.0 if abs(value) < 1e-15 else float(f"{value:.{DIGITS}g}")


def csv_text(frame: pd.DataFrame) -> str:
    """A frame as CSV, its floats as `significant` gives them, so that equal results are equal files."""
    rounded = frame.map(lambda value: f"{significant(value):.{DIGITS}g}" if _is_number(value) else value)
    return str(rounded.to_csv(index=False, lineterminator="\n"))


def _is_number(value: Any) -> bool:
    return isinstance(value, float) and not pd.isna(value)


def write_table(
    frame: pd.DataFrame,
    stem: Path,
    *,
    title: str,
    note: str,
    columns: Mapping[str, Callable[[pd.Series], Any]],
    source: Source,
    number: int | None = None,
    groups: Mapping[str, str] | None = None,
    widths: Mapping[str, float] | None = None,
    printed: pd.DataFrame | None = None,
) -> None:
    """Write `stem`.csv (every column), .md and .tex (the printed columns).

    Args:
        frame: one row per entry of the table.
        stem: path without suffix.
        title: what the table shows, without its number.
        note: how to read it.
        columns: printed header -> text of a row. Text may hold ``**bold**`` and `` `code` ``.
        source: named in the Markdown and in the caption.
        number: of the paper's table; None for a table the paper does not have.
        groups: header -> heading that spans it and its neighbours of the same group (LaTeX only).
        widths: header -> share of the line, for tables of prose or of many rows: they are broken over pages.
        printed: rows to print where they are not those of the CSV.
    """
    rows = frame if printed is None else printed
    shown = pd.DataFrame(
        {header: [str(text(row)) for _, row in rows.iterrows()] for header, text in columns.items()}
    )
    heading = title[:1].upper() + title[1:] if number is None else f"Table {number}: {title}"
    safe = shown.map(lambda text: text.replace("|", "\\|"))
    markdown = safe.to_markdown(index=False, disable_numparse=True)
    write_atomically(stem.with_suffix(".csv"), csv_text(frame))
    write_atomically(stem.with_suffix(".md"), f"# {heading}\n\n{source}\n\n{markdown}\n\n{note}\n")
    caption = f"{title[:1].upper()}{title[1:]}. {note} {source}"
    text = latex_table(shown, caption, stem.name, number=number, groups=groups or {}, widths=widths)
    write_atomically(stem.with_suffix(".tex"), text)
