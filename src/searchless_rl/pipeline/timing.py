"""What stages cost on this machine, kept apart from their results: times differ from run to run.

Each stage leaves its last wall time and peak memory in a folder that is neither in Git nor in DVC.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import psutil
from ruamel.yaml import YAML

from searchless_rl.files import write_json
from searchless_rl.params import Params


def label(arguments: argparse.Namespace) -> str:
    """The name under which a command's cost is recorded: train@CELL."""
    given = [getattr(arguments, name, None) for name in ("seed", "cell", "model", "name")]
    return "@".join([arguments.command, *(str(value) for value in given if value is not None)])


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


def write_timings(folder: Path, out: Path, params: Params, pipeline: Path = Path("dvc.yaml")) -> None:
    """Write timings.json into `out`: what the stages of a pipeline cost, from the records in `folder`."""
    stages = YAML(typ="safe").load(pipeline)["stages"]
    write_json(out / "timings.json", collect(folder, stage_labels(stages, params), around="fan-out"))


def stage_labels(stages: Mapping[str, Any], params: Params) -> list[str]:
    """The names under which stages are recorded, e.g. "train@CELL", in the order of dvc.yaml.

    Args:
        stages: the stages of dvc.yaml.
        params: what its templates ask for.
    """
    labels = []
    for stage in stages.values():
        words = [word for word in stage.get("do", stage)["cmd"].split()[3:] if not word.startswith("-")]
        for key, item in _items(stage.get("foreach", {"": ""}), params).items():
            labels.append("@".join(words).replace("${key}", str(key)).replace("${item}", str(item)))
    return labels


def _items(foreach: Any, params: Params) -> Mapping[str, Any]:
    if isinstance(foreach, str):  # ${grid.cells}
        value: Any = params
        for key in foreach.removeprefix("${").removesuffix("}").split("."):
            value = getattr(value, key)
        foreach = value
    assert isinstance(foreach, Mapping)
    return foreach
