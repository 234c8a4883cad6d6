"""Long frames as Markdown and LaTeX beside their CSV: paired tests, recovery, and what cells.csv holds."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from searchless_rl.files import write_atomically
from searchless_rl.reports.formats import MISSING, Source, csv_text, percent, signed, write_table
from searchless_rl.reports.rows import short_name
from searchless_rl.results.glossary import meaning_of


def write_paired(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write the frame of `statistics.paired.compare_models` as CSV, Markdown and LaTeX."""
    write_table(
        frame,
        stem,
        title="pairs of models on the same puzzles",
        note="Only A, only B: puzzles that one of the two solves. Difference: accuracy of A less that of B, "
        "points, with its 95 % interval (Newcombe's method 10). p: McNemar's test; Holm: corrected over the "
        "pairs of a suite.",
        source=source,
        columns={
            "Suite": lambda row: row["suite"],
            "A": lambda row: short_name(row["a"]),
            "B": lambda row: short_name(row["b"]),
            "n": lambda row: row["n"],
            "Only A": lambda row: row["only_a"],
            "Only B": lambda row: row["only_b"],
            "Difference": _difference,
            "p": lambda row: _p(row["p"]),
            "Holm": lambda row: _p(row["p_holm"]),
        },
        widths={
            **{"Suite": 0.09, "A": 0.21, "B": 0.21, "n": 0.07, "Only A": 0.07, "Only B": 0.07},
            **{"Difference": 0.14, "p": 0.07, "Holm": 0.07},
        },
    )


def _difference(row: pd.Series) -> str:
    if pd.isna(row["difference"]):
        return MISSING
    low, high = (signed(100 * row[key], 2) for key in ("low", "high"))
    return f"{signed(100 * row['difference'], 2)} [{low}, {high}]"


def _p(value: float) -> str:
    if pd.isna(value):
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def write_recovery(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `recovery_table`'s frame as CSV, Markdown and LaTeX."""
    write_table(
        frame,
        stem,
        title="what fine-tuning recovers",
        note="The statistics of section 3.5 on the main suite. Solution: the base's probability of the "
        "winning set. Lead: the base's top move over its runner-up; over the solution: over the most likely "
        "winning move. Mass moved: the tuned model's probability of the winning set less the base's. Win "
        "minus loss: the value head's. Shares in percent with half-widths of 95 % Wilson intervals; the CSV "
        "has intervals of means and medians. Paper: as it prints them, of its two anchors.",
        source=source,
        columns={
            "Statistic": lambda row: row["statistic"],
            "Model": lambda row: short_name(row["model"]),
            "Here": _value,
            "n": lambda row: row["n"],
            "Paper": lambda row: row["paper"] or MISSING,
        },
        widths={"Statistic": 0.42, "Model": 0.24, "Here": 0.14, "n": 0.08, "Paper": 0.12},
    )


def _value(row: pd.Series) -> str:
    if pd.isna(row["value"]):
        return MISSING
    if not pd.isna(row["k"]):
        return percent(row["value"], row["low"], row["high"])
    return f"{row['value']:.4g}".replace("-", "−")


def write_cells(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `cells` as CSV, and what its columns mean as Markdown.

    Raises:
        KeyError: a column that the glossary lacks.
    """
    write_atomically(stem.with_suffix(".csv"), csv_text(frame))
    meanings = {name: meaning_of(name) for name in frame.columns}
    rows = [
        {"Column": f"`{name}`", "Meaning": text, "Unit": unit, "Paper": where}
        for name, (text, unit, where) in meanings.items()
    ]
    table = pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)
    note = (
        f"One row for each of the {len(frame)} networks, everything measured of it. Columns `final_...` are "
        "means over the last tenth of the training steps, of running counts the end."
    )
    write_atomically(stem.with_suffix(".md"), f"# Columns of cells.csv\n\n{source} {note}\n\n{table}\n")
