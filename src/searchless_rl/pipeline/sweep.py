"""Cells tried outside the grid: other seeds, other settings. They are reported, and decide nothing.

`searchless sweep` alone writes reports/SCALE/sweep.csv. Each row says what it was made with: the revision of
the code, a fingerprint of the parameters, and those that differ from the scale's own file. It holds what
settings are chosen by: puzzles, the hard ones too, and strength against the base.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl import layout
from searchless_rl.cells import Cell
from searchless_rl.evaluation.stage import run_tactics
from searchless_rl.files import flatten, sha256_of, write_atomically
from searchless_rl.params import Params
from searchless_rl.pipeline.requested import GAMES_FOLDER, play_base, require_inputs, train_requested
from searchless_rl.reports.formats import csv_text
from searchless_rl.reports.strength import ladder, read_games
from searchless_rl.results.models import read_cell
from searchless_rl.results.names import BASE, identity

KEYS = ("games", "steps", "warmup_steps", "ema_decay", "precision")
SECTIONS = {"base", "base_value", "calibration", "threads", "suites", "selfplay", "evaluation", "arena"}
"""Parameters on which the figures of a row depend, beside its cell."""
FIGURES = ("k", "n", "accuracy", "low", "high", "geometric_mean", "arithmetic_mean")
RECORD = ("elo", "elo_low", "elo_high", "games", "score", "score_low", "score_high")
"""Of the most likely moves against the base (`reports.strength.ladder`)."""
HARD = "hard"


class SweepError(ValueError):
    """A sweep.csv that no row can be added to."""


def run_sweep(
    params: Params,
    wanted: Sequence[Cell],
    *,
    usual: Params,
    revision: str,
    base: Path,
    suites: Path,
    openings: Path,
    scratch: Path,
    report: Path,
    show_progress: bool = False,
) -> None:
    """Train and measure each cell under `params`, and add or replace its row in `report` (CSV) as it is done.

    A row is known by its cell and parameters; rows of other parameters stay.

    Args:
        params: of every cell.
        wanted: the cells.
        usual: the parameters of the scale's own file, of which the differences are recorded.
        revision: of the code.
        base: the base network.
        suites: folder of the puzzle suites.
        openings: where the games against the base begin.
        scratch: holds unfinished cells.
        report: the CSV.
        show_progress: with bars on stderr.

    Raises:
        SweepError: `report` was written with other columns; nothing is trained.
        ValueError: an input is missing; nothing is trained.
    """
    require_inputs(base=base, suites=suites, openings=openings)
    origin = {"revision": revision, **fingerprint(params, base), "changed": changed(params, usual)}
    _read(report)
    for cell in wanted:
        asked = params.model_copy(update=asdict(cell))
        out = scratch / cell.id / "out"
        run = scratch / cell.id / "run"
        train_requested(asked, base=base, out=out, scratch=run, show_progress=show_progress)
        run_tactics(
            out / layout.WEIGHTS,
            suites,
            scored(asked),
            out / "tactics",
            batch_size=asked.evaluation.batch_size,
            show_progress=show_progress,
        )
        play_base(
            asked,
            base=base,
            openings=openings,
            out=out,
            scratch=scratch / cell.id,
            show_progress=show_progress,
        )
        add_row(report, _row(asked, cell, out, origin))


def scored(params: Params) -> tuple[str, ...]:
    """The suites of a row: those of every cell, and the hard puzzles."""
    return tuple(dict.fromkeys((*params.evaluation.suites, HARD)))


def fingerprint(params: Params, base: Path) -> dict[str, str]:
    """SHA-256 of the parameters that a row depends on, and of the base; the first 12 digits of each."""
    text = json.dumps(params.model_dump(mode="json", include=SECTIONS), sort_keys=True)
    return {
        "params_sha256": hashlib.sha256(text.encode()).hexdigest()[:12],
        "base_sha256": sha256_of(base)[:12],
    }


def changed(params: Params, usual: Params) -> str:
    """What differs from the scale's own file, as ``selfplay.steps=600 selfplay.games=256``; may be empty."""
    here, there = (flatten(each.model_dump(mode="json", include=SECTIONS)) for each in (params, usual))
    return " ".join(f"{key}={here[key]}" for key in here if here[key] != there.get(key))


def _row(params: Params, cell: Cell, out: Path, origin: Mapping[str, str]) -> dict[str, Any]:
    model = read_cell(out, out / "tactics", cell)
    settings = {key: getattr(params.selfplay, key) for key in KEYS}
    rates = {f"rate_{role}": rate for role, rate in params.selfplay.learning_rates.model_dump().items()}
    figures = {f"{suite}_{key}": model.figure(suite, key) for suite in scored(params) for key in FIGURES}
    rated = ladder(read_games(out / GAMES_FOLDER), BASE).set_index("player").loc[cell.id]
    record = {f"base_{key}" if key == "games" else key: rated[key] for key in RECORD}
    final = {f"final_{key}": value for key, value in model.final.items()}
    return {**identity(cell.id), **origin, **settings, **rates, **figures, **record, **final}


def add_row(report: Path, row: Mapping[str, Any]) -> None:
    """Add a row to the CSV, in place of one with the same cell and fingerprints; sorted by these.

    Raises:
        SweepError: it was written with other columns.
    """
    keys = ["model", "params_sha256", "base_sha256"]
    rows = pd.concat([_read(report), pd.DataFrame([row])], ignore_index=True).drop_duplicates(
        keys, keep="last"
    )
    write_atomically(report, csv_text(rows.sort_values(keys)))


def _read(report: Path) -> pd.DataFrame:
    if not report.exists():
        return pd.DataFrame()
    rows = pd.read_csv(
        report, dtype={"revision": str, "params_sha256": str, "base_sha256": str, "changed": str}
    )
    missing = [name for name in ("revision", "params_sha256", "base_sha256", "changed") if name not in rows]
    if missing:
        cells = " ".join(map(str, rows["model"])) if "model" in rows else "CELL ..."
        raise SweepError(
            f"{report}: an older version wrote it, without {', '.join(missing)}. Delete it and make its rows "
            f"again: `searchless sweep {cells}`"
        )
    return rows
