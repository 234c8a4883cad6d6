"""Figure 5: puzzle error of the forward-KL arm (adaptive temperature) against beta."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from searchless_rl.cells import DECADES, format_beta
from searchless_rl.figures.style import BASE_COLOUR, COLUMN_WIDTH, TERM_COLOURS, use_style, write_figure
from searchless_rl.results.models import Measured
from searchless_rl.results.names import BASE

ARM, UNREGULARIZED, SUITE = "forward_kl-adaptive", "none-adaptive", "main"
_SERIES = {
    "decade": ("o", True, "decades"),
    "half-decade": ("o", False, "half-decades"),
    "requested": ("D", True, "requested"),
}
"""Series on the curve -> marker, whether it is filled, label."""


def figure5_data(models: Sequence[Measured]) -> pd.DataFrame:
    """Error rates on the main suite.

    Columns: series ("base", "unregularized", "decade", "half-decade", "requested"), model, beta, k (missed),
    n, error, low, high (fractions, 95 % Wilson). Cells that were not measured are left out.
    """
    rows = [
        _row(series, model)
        for model in models
        if (series := _series(model)) is not None and model.count(SUITE, "n")
    ]
    columns = ["series", "model", "beta", "k", "n", "error", "low", "high"]
    return pd.DataFrame(rows, columns=columns).astype({"k": "int64", "n": "int64"})


def _series(model: Measured) -> str | None:
    if model.name == BASE:
        return "base"
    assert model.cell is not None
    if model.cell.variant != "full":
        return None
    if model.cell.arm == UNREGULARIZED and model.in_grid:
        return "unregularized"
    if model.cell.arm != ARM:
        return None
    if not model.in_grid:
        return "requested"
    return "decade" if model.cell.beta in DECADES else "half-decade"


def _row(series: str, model: Measured) -> dict[str, Any]:
    figures = model.suites[SUITE]
    n, solved = int(figures["n"]), int(figures["k"])
    return {
        "series": series,
        "model": model.name,
        "beta": None if model.cell is None or model.cell.term == "none" else model.cell.beta,
        "k": n - solved,
        "n": n,
        "error": (n - solved) / n,
        # The interval of the complement is the complement of the interval.
        "low": 1 - figures["high"],
        "high": 1 - figures["low"],
    }


def draw_figure5(data: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw and write Figure 5 (PDF, PNG, CSV)."""
    use_style()
    figure, axes = plt.subplots(figsize=(COLUMN_WIDTH, 2.7), layout="constrained")
    _reference(axes, data, "base", "frozen\nbase", BASE_COLOUR, "--")
    _reference(axes, data, "unregularized", "β = 0", TERM_COLOURS["none"], ":")
    swept = data["series"].isin(["decade", "half-decade"])
    curve = data[swept].sort_values("beta")
    colour = TERM_COLOURS["forward_kl"]
    axes.plot(curve["beta"], 100 * curve["error"], color=colour, zorder=2)
    for series, (marker, filled, label) in _SERIES.items():
        points = data[data["series"] == series]
        if points.empty:
            continue
        bars = [100 * (points["error"] - points["low"]), 100 * (points["high"] - points["error"])]
        axes.errorbar(
            points["beta"],
            100 * points["error"],
            yerr=bars,
            fmt=marker,
            color=colour,
            markerfacecolor=colour if filled else "white",
            capsize=2,
            elinewidth=0.8,
            zorder=3,
            label=label,
        )
    if len(curve):
        _mark_trough(axes, curve)
    axes.set_xscale("log")
    if len(curve):
        axes.set_xlim(right=6 * curve["beta"].max())  # room for the names of the reference lines
    axes.set_xlabel("coefficient β of the forward-KL prior, τ adaptive")
    axes.set_ylabel("puzzle error (%)")
    puzzles = f"{SUITE} suite, n = {data['n'].max():,}" if len(data) else "nothing measured yet"
    axes.set_title(f"{puzzles}, 95 % intervals ({scale} scale)")
    axes.margins(y=0.2)  # room for the legend above and the lowest point's number below
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper left", ncols=3, columnspacing=1.0, handlelength=1.0, borderaxespad=0.0)
    write_figure(figure, data, stem)
    plt.close(figure)


def _mark_trough(axes: Axes, curve: pd.DataFrame) -> None:
    """Ring and write down the lowest point, of equals the smallest beta."""
    lowest = curve.sort_values("error", kind="stable").iloc[0]
    where = (lowest["beta"], 100 * lowest["error"])
    axes.plot(*where, "o", markersize=9, markerfacecolor="none", markeredgecolor="black", zorder=4)
    text = f"ring: lowest, {where[1]:.1f} % at β = {format_beta(float(lowest['beta']))}"
    axes.text(0.02, 0.02, text, transform=axes.transAxes, fontsize=7)


def _reference(axes: Axes, data: pd.DataFrame, series: str, label: str, colour: str, line: str) -> None:
    """A model without a beta: its error with the band of its interval, named right of the curve."""
    rows = data[data["series"] == series]
    for error, low, high in zip(rows["error"], rows["low"], rows["high"], strict=True):
        axes.axhspan(100 * low, 100 * high, color=colour, alpha=0.1, linewidth=0)
        axes.axhline(100 * error, color=colour, linestyle=line, linewidth=1.0)
        style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": 7, "linespacing": 0.9}
        axes.text(0.99, 100 * error, label, ha="right", va="center", backgroundcolor="white", **style)
