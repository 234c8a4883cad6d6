"""When a stage ran, from the records that stages leave in scratch/timings (see `pipeline.timing`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from searchless_rl import layout
from searchless_rl.checkout import main_checkout

SLACK = 120.0
"""Seconds after the end of a stage within which DVC may still have touched its files."""


class Interval(NamedTuple):
    """Beginning and end in milliseconds since 1970, as MLflow counts."""

    begin: int
    end: int


def ran(root: Path, stage: str, made: Path) -> Interval | None:
    """When `stage` (as in dvc.yaml: ``train@CELL``) made the file `made`; None where nobody knows.

    A file that DVC took from its cache was made by an earlier run, perhaps on another machine: its time of
    modification then lies outside the stage's last run, whose record says nothing about it.
    """
    path = main_checkout(root) / layout.TIMINGS / f"{stage}.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        end = float(record["ended"])
        begin = end - float(record["seconds"])
        modified = made.stat().st_mtime
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not begin <= modified <= end + SLACK:
        return None
    return Interval(round(1000 * begin), round(1000 * end))
