"""Figure 6: solution probability and accuracy gained over the base, by mate depth and by puzzle rating."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from searchless_rl.cells import format_beta
from searchless_rl.figures.style import (
    BASE_COLOUR,
    DOUBLE_WIDTH,
    TERM_COLOURS,
    TERM_MARKERS,
    use_style,
    write_figure,
)
from searchless_rl.results.names import BASE, MAIN, MATES, TAU_NAMES, TERM_NAMES, identity
from searchless_rl.results.scores import Scores
from searchless_rl.statistics.bootstrap import mean_gain
from searchless_rl.statistics.paired import align, count_pair, paired_interval

BIN_WIDTH, LAST_BIN = 200, 2600
DEPTH, RATING, ACCURACY = "mate depth", "rating", "accuracy by rating"
COLUMNS = (
    *("panel", "model", "term", "tau", "beta", "seed", "bin", "label", "n"),
    *("gain", "low", "high", "loss_nats"),
)
_TITLES = {
    DEPTH: "solution probability, mates",
    RATING: "solution probability, main suite",
    ACCURACY: "accuracy, main suite",
}


def rating_bins(ratings: pd.Series) -> pd.Series:
    """Lower end of each rating's bin: 200 wide, the last open (2600 and above)."""
    return (ratings // BIN_WIDTH * BIN_WIDTH).clip(upper=LAST_BIN)


def bin_label(low: int) -> str:
    """How a rating bin is written on an axis: its lower end."""
    return f"≥{low}" if low == LAST_BIN else str(low)


def figure6_data(scores: Scores, seed: int = 0) -> pd.DataFrame:
    """Gains of every model over the base, on the same puzzles; bins without puzzles are left out.

    The paper plots Table 4's models: every term at the headline beta and the adaptive temperature.

    Args:
        scores: of the base and the models, with the main suite and those of `scores.MATES`.
        seed: of the bootstrap.

    Returns:
        Columns panel ("mate depth", "rating", "accuracy by rating"), model, term, tau, beta, seed, bin
        (depth, or lower end of the rating bin), label, n (puzzles), gain, low, high, loss_nats. In the first
        two panels the gain is the mean of log p* − log p*_base (nats) with a 95 % bootstrap interval, and
        loss_nats, its opposite, is what section 3.3 quotes of the entropy bonus; in the third the gain is the
        difference of accuracies (fraction) with `paired_interval`, and loss_nats is missing.

    Raises:
        ValueError: a model was not asked the same puzzles as the base.
    """
    rows: list[dict[str, Any]] = []
    base = scores.get(BASE, {})
    for model, suites in scores.items():
        if model == BASE:
            continue
        shared = {suite: align(frame, base[suite], suite) for suite, frame in suites.items() if suite in base}
        for depth, suite in MATES.items():
            if suite in shared and len(shared[suite][0]):
                rows.append(_retention(DEPTH, model, depth, str(depth), *shared[suite], seed))
        if MAIN not in shared:
            continue
        tuned, frozen = shared[MAIN]
        bins = rating_bins(frozen["rating"])
        parts = [(low, tuned[bins == low], frozen[bins == low]) for low in sorted(bins.unique())]
        rows += [_retention(RATING, model, low, bin_label(low), a, b, seed) for low, a, b in parts]
        rows += [_accuracy(model, low, bin_label(low), a, b) for low, a, b in parts]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    frame = frame.astype({"bin": "int64", "n": "int64", "seed": "Int64", "loss_nats": "float64"})
    place = frame["panel"].map([DEPTH, RATING, ACCURACY].index)
    return frame.iloc[place.argsort(kind="stable")].reset_index(drop=True)


def _retention(
    panel: str, model: str, place: int, label: str, tuned: pd.DataFrame, base: pd.DataFrame, seed: int
) -> dict[str, Any]:
    logs = (frame["log_probability"].to_numpy() for frame in (tuned, base))
    found = mean_gain(*logs, seed=seed)
    return _row(panel, model, place, label, len(base), found.value, found.low, found.high)


def _accuracy(model: str, place: int, label: str, tuned: pd.DataFrame, base: pd.DataFrame) -> dict[str, Any]:
    pair = count_pair(tuned, base, MAIN)
    return _row(ACCURACY, model, place, label, pair.n, pair.difference, *paired_interval(pair))


def _row(
    panel: str, model: str, place: int, label: str, n: int, gain: float, low: float, high: float
) -> dict[str, Any]:
    where = {"panel": panel, "bin": place, "label": label}
    loss = None if panel == ACCURACY else 0.0 - gain  # no negative zero
    return identity(model) | where | {"n": n, "gain": gain, "low": low, "high": high, "loss_nats": loss}


def draw_figure6(data: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw and write Figure 6 (PDF, PNG, CSV)."""
    use_style()
    figure, row = plt.subplots(
        1, 3, figsize=(DOUBLE_WIDTH, 2.7), layout="constrained", width_ratios=[1, 1.3, 1.3]
    )
    for axis, (panel, title) in zip(row, _TITLES.items(), strict=True):
        rows = data[data["panel"] == panel]
        labels = rows.drop_duplicates("bin").sort_values("bin")["label"]
        _panel(axis, rows, panel)
        axis.set_title(title)
        axis.set_xticks(range(len(labels)), labels, rotation=90 if len(labels) > 6 else 0)
        axis.set_xlabel("mate in N" if panel == DEPTH else f"puzzle rating (bins of {BIN_WIDTH})")
        axis.set_ylabel("gain (percentage points)" if panel == ACCURACY else "gain (nats)")
        if panel != ACCURACY:
            ratio = axis.secondary_yaxis("right", functions=(np.exp, _log))
            ratio.set_ylabel("ratio to the base")
            marks = ratio_marks(*axis.get_ylim())
            if len(marks) > 2:
                ratio.set_yticks(marks, [f"{mark:g}" for mark in marks])
    handles, names = row[0].get_legend_handles_labels()
    if handles:
        base = Line2D([], [], color=BASE_COLOUR, linewidth=0.8, label="Frozen base")
        figure.legend([base, *handles], ["Frozen base", *names], loc="outside lower center", ncols=5)
    figure.suptitle(_heading(data, scale), fontsize=8)
    write_figure(figure, data, stem)
    plt.close(figure)


def ratio_marks(low: float, high: float) -> list[float]:
    """Ratios 1, 2 and 5 times a power of ten whose logarithms lie between two ends (nats).

    Ratios at equal steps would run into one another at the upper end of an axis that is linear in nats.
    """
    decades = range(math.floor(low / math.log(10)), math.ceil(high / math.log(10)) + 1)
    marks = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    return [mark for mark in marks if low <= math.log(mark) <= high]


def _heading(data: pd.DataFrame, scale: str) -> str:
    if data.empty:
        return "nothing measured yet"
    betas = sorted(set(data.loc[data["term"] != "none", "beta"]))
    temperatures = " and ".join(
        "τ adaptive" if tau == "adaptive" else TAU_NAMES[tau] for tau in TAU_NAMES if tau in set(data["tau"])
    )
    models = f"β = {', '.join(map(format_beta, betas))}, {temperatures}" if betas else temperatures
    return f"Gains over the base with 95 % intervals; {models} ({scale} scale)"


def _panel(axis: Axes, data: pd.DataFrame, panel: str) -> None:
    unit = 100.0 if panel == ACCURACY else 1.0
    axis.axhline(0, color=BASE_COLOUR, linewidth=0.8)
    places = sorted(set(data["bin"]))
    models = list(dict.fromkeys(data["model"]))
    for number, model in enumerate(models):
        rows = data[data["model"] == model]
        # Side by side, so that intervals do not hide one another.
        offset = min(0.16, 0.7 / len(models)) * (number - (len(models) - 1) / 2)
        term = rows["term"].iloc[0]
        axis.errorbar(
            rows["bin"].map(places.index) + offset,
            unit * rows["gain"],
            yerr=[unit * (rows["gain"] - rows["low"]), unit * (rows["high"] - rows["gain"])],
            fmt=TERM_MARKERS[term],
            linestyle="-",
            color=TERM_COLOURS[term],
            markersize=3,
            capsize=1.5,
            linewidth=0.9,
            elinewidth=0.7,
            label=TERM_NAMES[term],
        )


def _log(ratio: np.ndarray) -> np.ndarray:
    # The axis also asks for ends that are not drawn, 0 among them.
    logarithm: np.ndarray = np.log(np.maximum(ratio, np.finfo(float).tiny))
    return logarithm
