"""Strength of a run, as the reports have it: games against the base and ratings."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from searchless_rl import layout
from searchless_rl.params import Params

# Of a player of the ladder both say the same Elo; of the others only the second has one.
_STRENGTH = {
    "ladder.csv": ("player", ("elo", "elo_low", "elo_high", "points")),
    "strength.csv": (
        "model",
        ("wins", "draws", "losses", "score", "score_low", "score_high", "elo", "elo_low", "elo_high"),
    ),
}


def strength_metrics(root: Path, params: Params, model: str) -> dict[str, float]:
    """``arena/elo``, ``arena/score``, ... of a model, from the scale's reports; empty where it did not play.

    Raises:
        ValueError: a report without its columns (named).
    """
    metrics: dict[str, float] = {}
    for name, (key, columns) in _STRENGTH.items():
        path = root / layout.reports(params.scale) / name
        if not path.exists():
            continue
        frame = pd.read_csv(path)
        if missing := {key, *columns} - set(frame.columns):
            raise ValueError(f"{path.relative_to(root)}: lacks the columns {', '.join(sorted(missing))}")
        for row in frame[frame[key] == model].to_dict("records"):
            metrics |= {f"arena/{column}": float(row[column]) for column in columns if pd.notna(row[column])}
    return metrics
