"""Figures of a run that other stages measured: all suites, games against the base, ratings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.params import Params
from searchless_rl.reports.models import evaluated_folders

_STRENGTH = {
    "ladder.csv": ("player", ("elo", "elo_low", "elo_high", "points")),
    "strength.csv": ("model", ("wins", "draws", "losses", "score", "score_low", "score_high")),
}


def evaluated_suites(root: Path, model: str) -> dict[str, dict[str, Any]]:
    """Figures by suite of a chosen model ("base" or cell id) as the stage `evaluate` wrote them; else empty.

    Raises:
        ValueError: a file is not what its stage writes (named).
    """
    folder = evaluated_folders(root / "data").get(model)
    path = None if folder is None else folder / "summary.json"
    if path is None or not path.exists():
        return {}
    try:
        suites: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["suites"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path.relative_to(root)}: not a summary of suites ({error!r})") from error
    return suites


def strength_metrics(root: Path, params: Params, model: str) -> dict[str, float]:
    """``arena/elo``, ``arena/score``, ... of a model, from the scale's reports; empty where it did not play.

    Raises:
        ValueError: a report without its columns (named).
    """
    metrics: dict[str, float] = {}
    for name, (key, columns) in _STRENGTH.items():
        path = root / "reports" / params.scale / name
        if not path.exists():
            continue
        frame = pd.read_csv(path)
        if missing := {key, *columns} - set(frame.columns):
            raise ValueError(f"{path.relative_to(root)}: lacks the columns {', '.join(sorted(missing))}")
        for row in frame[frame[key] == model].to_dict("records"):
            metrics |= {f"arena/{column}": float(row[column]) for column in columns if pd.notna(row[column])}
    return metrics
