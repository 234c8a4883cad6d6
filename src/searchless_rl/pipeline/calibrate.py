"""The stage `calibrate`: how far the base's forecasts can be trusted, and the base that is used from here on.

The base plays itself, drawing from its policy; its win/draw/loss forecasts are held against how the games
end. With `base_value: calibrated` its value head is changed by the two numbers that fit best
(`statistics.calibration`); the policy and everything else stay as they are.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from searchless_rl.evaluation.sampled_games import Forecasts, sample_games
from searchless_rl.files import atomic_writer, write_json, write_parquet
from searchless_rl.layout import CALIBRATION, FORECASTS
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.nets.value_scale import change_value_head
from searchless_rl.params import CalibrationParams
from searchless_rl.progress import Progress
from searchless_rl.statistics.calibration import (
    CalibrationError,
    cross_validated,
    fit_calibration,
    log_forecasts,
)


def calibrate_base(
    fetched: Path,
    out: Path,
    *,
    apply: bool,
    params: CalibrationParams,
    max_plies: int,
    show_progress: bool,
) -> None:
    """Write the base network that all other stages use, and the forecasts that it was calibrated on.

    Args:
        fetched: the base as it was fetched.
        out: its place; forecasts and the two numbers are written beside it.
        apply: whether the value head is changed; else `out` is `fetched`, byte for byte.
        params: how many games, and their seed.
        max_plies: a game this long is a draw.
        show_progress: whether a bar may be drawn.

    Raises:
        CalibrationError: the head is to be changed, and the games are too few, or end all alike.
    """
    network = load_network(fetched)
    with Progress("calibrate", params.games, "game", show=show_progress) as progress:
        found = sample_games(
            Evaluator(network, params.batch_size),
            params.games,
            seed=params.seed,
            max_plies=max_plies,
            progress=progress.update,
        )
    logits = log_forecasts(found.wdl)
    forecasts = {"file": found.wdl.astype(np.float64)}
    told: dict[str, Any] = {"games": params.games, "applied": apply}
    try:
        fitted = fit_calibration(logits, found.outcome)
        forecasts["in_sample"] = fitted.apply(logits)
        forecasts["out_of_sample"] = cross_validated(logits, found.outcome, found.game)
        told |= {"scale": fitted.scale, "draw": fitted.draw}
    except CalibrationError:
        if apply:
            raise
    if apply:
        change_value_head(network, fitted.scale, fitted.draw)
        save_network(network, out)
    else:
        with fetched.open("rb") as reading, atomic_writer(out) as writing:
            shutil.copyfileobj(reading, writing)
    write_parquet(_frame(found, forecasts), out.with_name(FORECASTS))
    write_json(out.with_name(CALIBRATION), told)


def _frame(found: Forecasts, forecasts: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """A row per position: its game, ply and outcome, and the forecasts of every kind."""
    columns = {
        f"{kind}_{name}": forecast[:, place].astype(np.float32)
        for kind, forecast in forecasts.items()
        for place, name in enumerate(("win", "draw", "loss"))
    }
    return pd.DataFrame({"game": found.game, "ply": found.ply, "outcome": found.outcome, **columns})
