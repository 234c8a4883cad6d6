"""What stages cost on this machine, kept apart from their results: times differ from run to run.

Each stage leaves its last wall time and peak memory in a folder that is neither in Git nor in DVC.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil

from searchless_rl.files import write_json


def record(folder: Path, stage: str) -> None:
    """Write this process's seconds since it started, its end and its peak resident memory.

    Into `folder`/STAGE.json; the end in seconds since 1970.
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    mebibytes = peak / 2**20 if sys.platform == "darwin" else peak / 2**10
    ended = time.time()
    record = {
        "seconds": round(ended - psutil.Process().create_time(), 1),
        "peak_memory_mib": round(mebibytes),
        "ended": round(ended, 1),
    }
    write_json(folder / f"{stage}.json", record)


def collect(folder: Path, stages: Iterable[str], around: str) -> dict[str, Any]:
    """The last record of each stage that has one, and the sum of their seconds, as if one after the other.

    The record of the command `around` the stages stands beside them, outside the sum.
    """
    found = {
        stage: {key: record[key] for key in ("seconds", "peak_memory_mib")}
        for stage in (around, *stages)
        if (path := folder / f"{stage}.json").exists()
        for record in [json.loads(path.read_text(encoding="utf-8"))]
    }
    seconds = sum(part["seconds"] for stage, part in found.items() if stage != around)
    return {"sum_seconds": round(seconds, 1), "stages": found}
