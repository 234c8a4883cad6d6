"""One data frame, three files: CSV for machines, Markdown and LaTeX for readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.files import write_atomically

MISSING = "–"
INTERVALS = (
    "Accuracies are percentages with half-widths of 95 % Wilson intervals; the CSV has k, n and both bounds."
)


def percent(rate: float, low: float, high: float) -> str:
    """``34.40 ± 1.15``: a rate and the half-width of its Wilson interval, in percent."""
    if pd.isna(rate):
        return MISSING
    return f"{100 * rate:.2f} ± {50 * (high - low):.2f}"


def counts(row: pd.Series, prefix: str) -> str:
    """``688 / 2000``: the counts k and n behind a rate."""
    return MISSING if pd.isna(row[f"{prefix}k"]) else f"{row[f'{prefix}k']} / {row[f'{prefix}n']}"


def write_table(
    frame: pd.DataFrame,
    stem: Path,
    *,
    title: str,
    note: str,
    columns: Mapping[str, Callable[[pd.Series], Any]],
) -> None:
    """Write `stem`.csv (every column, full precision), .md and .tex (the printed columns).

    Args:
        frame: one row per entry of the table.
        stem: path without suffix.
        title: first line of the Markdown, caption of the LaTeX.
        note: how to read it, below the table.
        columns: printed header -> text of a row.
    """
    shown = pd.DataFrame(
        {header: [str(text(row)) for _, row in frame.iterrows()] for header, text in columns.items()}
    )
    write_atomically(stem.with_suffix(".csv"), frame.to_csv(index=False, lineterminator="\n"))
    markdown = shown.to_markdown(index=False, disable_numparse=True)
    write_atomically(stem.with_suffix(".md"), f"# {title}\n\n{markdown}\n\n{note}\n")
    write_atomically(stem.with_suffix(".tex"), _latex(shown, f"{title}. {note}", stem.name))


def _latex(shown: pd.DataFrame, caption: str, label: str) -> str:
    body = [" & ".join(_escape(header) for header in shown.columns) + r" \\", r"\midrule"]
    body += [" & ".join(_cell(text) for text in row) + r" \\" for row in shown.itertuples(index=False)]
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escape(caption)}}}\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{'l' * shown.shape[1]}}}",
        r"\toprule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    if text.startswith("**") and text.endswith("**"):
        return rf"\textbf{{{_escape(text[2:-2])}}}"
    return _escape(text)


_TEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "≡": r"$\equiv$",
    "β": r"$\beta$",
    "τ": r"$\tau$",
    "×": r"$\times$",
    "−": r"$-$",
    "–": "--",
}


def _escape(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)
