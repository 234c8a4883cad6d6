"""`searchless verify`: does a report folder follow from its own numbers?

What can be recomputed from the committed files is: every rate, Wilson interval, match record and paired test
from the counts beside it, every printed table from its CSV, findings, claims and the paper's numbers
beside ours from the tables. Puzzle by puzzle and game by game, only `dvc repro` can tell.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from searchless_rl import layout
from searchless_rl.audit.arithmetic import Checked, check_tables
from searchless_rl.audit.rendering import Rendered, render_claims, render_tables
from searchless_rl.audit.tables import ReportError, read_table
from searchless_rl.params import Params

UNCHECKED = ("sweep", "learning_curves")
"""Trials outside the pipeline, and means of logs that are not committed."""
_SHOWN = 5


class Verification(NamedTuple):
    """What was recomputed of a report folder.

    Attributes:
        numbers: those computed anew, by table.
        files: those written anew.
    """

    numbers: dict[str, list[Checked]]
    files: list[Rendered]

    @property
    def holds(self) -> bool:
        """Whether every number and every line is as it should be."""
        return all(number.holds for found in self.numbers.values() for number in found) and not any(
            file.differing for file in self.files
        )


def verify(folder: Path, figures: Path, params: Params, data: Path = layout.DATA) -> Verification:
    """Recompute a report folder.

    Args:
        folder: for example reports/mini.
        figures: the figures of the same run, for example paper_figures/mini.
        params: those of its run.
        data: where the paper's printed numbers are.

    Raises:
        ReportError: a folder without tables, or a table that cannot be read.
    """
    paths = {path.stem: path for path in sorted(folder.glob("*.csv")) if path.stem not in UNCHECKED}
    if "cells" not in paths:
        raise ReportError(f"{folder}: no cells.csv in this folder; name a report folder such as reports/mini")
    frames: dict[str, pd.DataFrame] = {name: read_table(path) for name, path in paths.items()}
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        files = render_tables(frames, params, folder, scratch)
        files += render_claims(params, folder, figures, layout.paper(data), scratch)
    return Verification(check_tables(frames), files)


def report_of(found: Verification, folder: Path) -> str:
    """What was recomputed and what does not hold, as text."""
    lines = []
    for name, numbers in found.numbers.items():
        wrong = [number for number in numbers if not number.holds]
        for number in wrong[:_SHOWN]:
            lines.append(
                f"{folder / name}.csv: {number.row}: {number.column} is {number.written:g}, "
                f"its counts give {number.found:g}"
            )
        if len(wrong) > _SHOWN:
            lines.append(f"{folder / name}.csv: {len(wrong) - _SHOWN} more numbers that do not hold")
    for file in found.files:
        lines += [f"{folder / file.name}: not what the CSV gives: {line}" for line in file.differing[:_SHOWN]]
        if len(file.differing) > _SHOWN:
            lines.append(f"{folder / file.name}: {len(file.differing) - _SHOWN} more lines")
    count, written = sum(map(len, found.numbers.values())), sum(file.lines for file in found.files)
    verdict = "all hold" if found.holds else "NOT all hold"
    lines.append(
        f"{folder}: {count:,} numbers computed anew, {written:,} lines of {len(found.files)} files written "
        f"anew: {verdict}"
    )
    return "\n".join(lines)
