"""Cells tried outside the grid: other seeds, other settings. They are reported, and decide nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.cells import Cell
from searchless_rl.evaluation.stage import run_tactics
from searchless_rl.files import write_atomically
from searchless_rl.params import Params
from searchless_rl.pipeline.requested import train_requested
from searchless_rl.results.models import read_cell
from searchless_rl.results.names import identity

KEYS = ("games", "steps", "warmup_steps", "ema_decay", "precision")


def run_sweep(
    params: Params,
    wanted: Sequence[Cell],
    *,
    base: Path,
    suites: Path,
    scratch: Path,
    report: Path,
    show_progress: bool = False,
) -> None:
    """Train and measure each cell under `params`, and add or replace its row in `report` (CSV) as it is done.

    A row is known by its cell and settings; rows of other settings stay.
    """
    for cell in wanted:
        asked = params.model_copy(update=asdict(cell))
        out = scratch / cell.id / "out"
        run = scratch / cell.id / "run"
        train_requested(asked, base=base, out=out, scratch=run, show_progress=show_progress)
        run_tactics(
            out / "weights.pb.gz",
            suites,
            asked.evaluation.suites,
            out / "tactics",
            batch_size=asked.evaluation.batch_size,
            show_progress=show_progress,
        )
        _add_row(report, _row(asked, cell, out))


def _row(params: Params, cell: Cell, out: Path) -> dict[str, Any]:
    model = read_cell(out, out / "tactics", cell)
    settings = {key: getattr(params.selfplay, key) for key in KEYS}
    rates = params.selfplay.learning_rates.model_dump()
    figures = {
        f"{suite}_{key}": model.figure(suite, key)
        for suite in params.evaluation.suites
        for key in ("k", "n", "accuracy", "low", "high", "geometric_mean", "arithmetic_mean")
    }
    final = {f"final_{key}": value for key, value in model.final.items()}
    return (
        identity(cell.id)
        | settings
        | {f"rate_{role}": rate for role, rate in rates.items()}
        | figures
        | final
    )


def _add_row(report: Path, row: dict[str, Any]) -> None:
    fresh = pd.DataFrame([row])
    keys = ["model", *KEYS, *(name for name in fresh.columns if name.startswith("rate_"))]
    if report.exists():
        before = pd.read_csv(report)
        fresh = pd.concat([before, fresh], ignore_index=True).drop_duplicates(keys, keep="last")
    text = fresh.sort_values(keys).to_csv(index=False, lineterminator="\n")
    write_atomically(report, text)
