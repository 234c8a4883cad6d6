"""How far the base's win/draw/loss forecasts can be trusted: their scores, and their reliability."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from searchless_rl import layout
from searchless_rl.reports.formats import MISSING, Source, write_table
from searchless_rl.statistics.calibration import brier, log_loss, reliability

KINDS = {
    "file": "as in the file",
    "in_sample": "calibrated, in sample",
    "out_of_sample": "calibrated, out of sample",
    "constant": "constant forecast",
}
_OUTCOMES = ("win", "draw", "loss")
_SCORES = np.array([1.0, 0.5, 0.0])
_REPLICATES = 1000


def calibration_table(data: Path) -> pd.DataFrame:
    """Brier score and log loss of each kind of forecast, with intervals over games.

    Returns:
        Columns forecast, brier, brier_low, brier_high (95 % bootstrap over games), log_loss, expected_score,
        score, draws_expected, draws, positions, games, scale, draw_offset, applied (whether the base that is
        used is the calibrated one). Empty where nothing was measured.
    """
    found = _read(data)
    columns = (
        *("forecast", "brier", "brier_low", "brier_high", "log_loss", "expected_score", "score"),
        *("draws_expected", "draws", "positions", "games", "scale", "draw_offset", "applied"),
    )
    if found is None:
        return pd.DataFrame(columns=list(columns))
    frame, told = found
    outcomes = frame["outcome"].to_numpy()
    games = frame["game"].to_numpy()
    rows: list[dict[str, Any]] = []
    for kind in _kinds(frame):
        probability = _forecasts(frame, kind)
        low, high = _brier_interval(probability, outcomes, games)
        rows.append(
            {
                "forecast": kind,
                "brier": brier(probability, outcomes),
                "brier_low": low,
                "brier_high": high,
                "log_loss": log_loss(probability, outcomes),
                "expected_score": float((probability @ _SCORES).mean()),
                "score": float(_SCORES[outcomes].mean()),
                "draws_expected": float(probability[:, 1].mean()),
                "draws": float((outcomes == 1).mean()),
                "positions": len(outcomes),
                "games": int(told["games"]),
                "scale": told.get("scale") if kind == "in_sample" else None,
                "draw_offset": told.get("draw") if kind == "in_sample" else None,
                "applied": bool(told["applied"]),
            }
        )
    return pd.DataFrame(rows, columns=list(columns))


def reliability_data(data: Path) -> pd.DataFrame:
    """Expected score against the score that was reached, in tenths of the expected score.

    Returns:
        Columns forecast ("file", "out_of_sample"), expected, score, low, high (95 % over games), positions.
    """
    found = _read(data)
    rows: list[dict[str, Any]] = []
    if found is not None:
        frame = found[0]
        score = _SCORES[frame["outcome"].to_numpy()]
        for kind in [kind for kind in _kinds(frame) if kind in ("file", "out_of_sample")]:
            expected = _forecasts(frame, kind) @ _SCORES
            place = np.minimum((10 * expected).astype(int), 9)
            bins = reliability(expected, score)
            for number, (mean, reached, count) in zip(np.unique(place), bins, strict=True):
                inside = place == number
                low, high = _mean_interval(score[inside], frame["game"].to_numpy()[inside])
                rows.append(
                    {
                        "forecast": kind,
                        "expected": mean,
                        "score": reached,
                        "low": low,
                        "high": high,
                        "positions": count,
                    }
                )
    return pd.DataFrame(rows, columns=["forecast", "expected", "score", "low", "high", "positions"])


def write_calibration(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `calibration_table` as CSV, Markdown and LaTeX."""
    applied = bool(len(frame)) and bool(frame["applied"].iloc[0])
    used = "calibrated" if applied else "as in the file"
    write_table(
        frame,
        stem,
        title="the base's win/draw/loss forecasts",
        note="Over games that the base plays against itself, its moves drawn from its policy. Brier score: "
        "the mean of Σ (p − y)² over win, draw and loss, with 95 % bootstrap intervals over games. "
        "Calibrated: logits times one number, another added to the draw's, fitted by maximum likelihood; out "
        "of sample by five folds of games. Constant: the shares of the outcomes themselves. The value head "
        f"in use: {used}.",
        source=source,
        columns={
            "Forecast": lambda row: KINDS[row["forecast"]],
            "Brier": lambda row: f"{row['brier']:.3f} [{row['brier_low']:.3f}, {row['brier_high']:.3f}]",
            "Log loss": lambda row: f"{row['log_loss']:.3f}",
            "Expected score": lambda row: f"{row['expected_score']:.3f}",
            "Draws expected": lambda row: f"{row['draws_expected']:.3f}",
            "Draws": lambda row: f"{row['draws']:.3f}",
            "Scale": lambda row: _number(row["scale"]),
            "Draw offset": lambda row: _number(row["draw_offset"]),
        },
    )


def _number(value: float) -> str:
    return MISSING if pd.isna(value) else f"{value:.3f}"


def _read(data: Path) -> tuple[pd.DataFrame, dict[str, Any]] | None:
    folder = layout.base(data).parent
    if not (folder / layout.FORECASTS).exists():
        return None
    told = json.loads((folder / layout.CALIBRATION).read_text(encoding="utf-8"))
    return pd.read_parquet(folder / layout.FORECASTS), told


def _kinds(frame: pd.DataFrame) -> list[str]:
    """The kinds of forecast in a frame; where no two numbers could be fitted there is the file's alone."""
    return [kind for kind in KINDS if kind == "constant" or f"{kind}_win" in frame]


def _forecasts(frame: pd.DataFrame, kind: str) -> np.ndarray:
    if kind == "constant":
        shares = np.bincount(frame["outcome"], minlength=3) / len(frame)
        return np.tile(shares, (len(frame), 1))
    probability: np.ndarray = frame[[f"{kind}_{name}" for name in _OUTCOMES]].to_numpy(np.float64)
    return probability


def _brier_interval(probability: np.ndarray, outcomes: np.ndarray, games: np.ndarray) -> tuple[float, float]:
    each = ((probability - np.eye(3)[outcomes]) ** 2).sum(1)
    return _mean_interval(each, games)


def _mean_interval(values: np.ndarray, games: np.ndarray) -> tuple[float, float]:
    """95 % bootstrap interval of a mean over positions, whole games drawn: those of a game go together."""
    _, place = np.unique(games, return_inverse=True)
    total, count = np.bincount(place, values), np.bincount(place)
    drawn = np.random.default_rng(0).integers(len(total), size=(_REPLICATES, len(total)))
    means = total[drawn].sum(1) / count[drawn].sum(1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
