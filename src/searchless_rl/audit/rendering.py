"""A report folder's tables, findings and printed comparisons, written anew from its CSV files alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from searchless_rl.claims.findings import findings, read_frames, write_findings
from searchless_rl.claims.frames import paper_frames
from searchless_rl.claims.frames import read_frames as read_judged
from searchless_rl.claims.judged import claims_table, read_statements
from searchless_rl.claims.judged_document import write_claims
from searchless_rl.claims.published import published, read_tables, write_published
from searchless_rl.params import Params
from searchless_rl.reports.calibration import write_calibration
from searchless_rl.reports.coverage import write_coverage_table
from searchless_rl.reports.formats import Source
from searchless_rl.reports.listings import write_paired, write_recovery
from searchless_rl.reports.puzzle_ratings import write_puzzle_ratings
from searchless_rl.reports.strength import write_ladder
from searchless_rl.reports.table1 import write_table1
from searchless_rl.reports.table3 import write_table3
from searchless_rl.reports.table4 import write_table4
from searchless_rl.reports.table5 import write_table5
from searchless_rl.reports.table6 import write_table6
from searchless_rl.reports.tables import PAPER_BASE

Writer = Callable[[pd.DataFrame, Path], None]


class Rendered(NamedTuple):
    """A file that was written anew.

    Attributes:
        name: of the file.
        lines: how many of its lines follow from the CSV files.
        differing: the lines of the folder's file that are others, or are too many; `missing` for no file.
    """

    name: str
    lines: int
    differing: tuple[str, ...]


def table_writers(params: Params) -> Mapping[str, Writer]:
    """How a table of each name is written from its own CSV; what its note says beside is left out."""
    source = Source.of(params)
    sourced = {
        "table3": write_table3,
        "table5": write_table5,
        "table6": write_table6,
        "ladder": write_ladder,
        "coverage": write_coverage_table,
        "paired": write_paired,
        "recovery": write_recovery,
        "calibration": write_calibration,
        "puzzle_ratings": write_puzzle_ratings,
    }
    writers: dict[str, Writer] = {name: partial(write, source=source) for name, write in sourced.items()}
    writers["table1"] = lambda frame, stem: write_table1(frame, stem, params, stem.parent)
    writers["table4"] = lambda frame, stem: write_table4(frame, stem, source, params.headline_beta)
    return writers


def render_tables(
    frames: Mapping[str, pd.DataFrame], params: Params, folder: Path, scratch: Path
) -> list[Rendered]:
    """The rows of every printed table, and its CSV, against those in the folder.

    Args:
        frames: the tables as `audit.tables.read_table` reads them, by name.
        params: those of the run.
        folder: the report folder.
        scratch: an empty folder to write into.
    """
    found = []
    for name, write in table_writers(params).items():
        if name in frames:
            write(frames[name], scratch / name)
            for suffix, is_row in ((".csv", _any), (".md", _markdown_row), (".tex", _latex_row)):
                found.append(_differences(f"{name}{suffix}", folder, scratch, is_row))
    return found


def render_claims(params: Params, folder: Path, figures: Path, paper: Path, scratch: Path) -> list[Rendered]:
    """Findings, claims, and the paper's printed numbers beside this run's, whole files.

    Args:
        params: those of the run.
        folder: the report folder.
        figures: the folder of its figures.
        paper: the paper's printed numbers (data/paper).
        scratch: a folder to write into.
    """
    source = Source.of(params)
    write_published(published(paper, read_tables(folder)), scratch / "published", source, PAPER_BASE)
    write_findings(findings(read_frames(folder), params), scratch / "findings", params)
    judged = claims_table(read_judged(folder, figures), paper_frames(paper), read_statements(paper), params)
    write_claims(judged, scratch / "claims", params)
    names = [f"published{suffix}" for suffix in (".csv", ".md", ".tex")] + [
        "findings.csv",
        "findings.md",
        "claims.csv",
        "claims.md",
    ]
    return [_differences(name, folder, scratch, _any) for name in names]


def _differences(name: str, folder: Path, scratch: Path, is_row: Callable[[str], bool]) -> Rendered:
    wanted = [line for line in (scratch / name).read_text(encoding="utf-8").splitlines() if is_row(line)]
    path = folder / name
    if not path.exists():
        return Rendered(name, len(wanted), ("missing",))
    written = [line for line in path.read_text(encoding="utf-8").splitlines() if is_row(line)]
    longer = written + [""] * (len(wanted) - len(written))
    right = wanted + [""] * (len(written) - len(wanted))
    return Rendered(name, len(wanted), tuple(a for a, b in zip(longer, right, strict=True) if a != b))


def _any(line: str) -> bool:
    return True


def _markdown_row(line: str) -> bool:
    return line.startswith("|")


def _latex_row(line: str) -> bool:
    return " & " in line
