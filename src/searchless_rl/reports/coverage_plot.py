"""What Figures 7 and 10 share: panels of coverage against draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from searchless_rl.cells import TERMS
from searchless_rl.reports.coverage import POSITION_NAMES
from searchless_rl.reports.style import BASE_COLOUR, TERM_COLOURS, use_style
from searchless_rl.results.names import SHARE, TERM_NAMES

ORDER = ("base", *TERMS)
COLOURS = dict(zip(ORDER, (BASE_COLOUR, *(TERM_COLOURS[term] for term in TERMS)), strict=True))
NAMES = dict(zip(ORDER, ("Frozen base", *(TERM_NAMES[term] for term in TERMS)), strict=True))
DASHES: dict[str, Literal["-"] | tuple[float, Sequence[float]]] = {"adaptive": "-", "raw": (0, (3, 1.5))}
LINE_NAMES = {"adaptive": "tempered μ (adaptive τ)", "raw": "raw π (τ ≡ 1)"}
MARKER_SIZE = 3.5


def draw_panels(frame: pd.DataFrame, size: tuple[float, float], title: str) -> Figure:
    """A row of panels, one per position of the frame (one empty panel where it has none).

    Args:
        frame: as `reports.coverage.coverage_curves` gives it.
        size: inches.
        title: of the whole figure.
    """
    use_style()
    positions = list(dict.fromkeys(frame["position"])) or [None]
    figure, panels = plt.subplots(
        1, len(positions), figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for axes, position in zip(panels[0], positions, strict=True):
        axes.axhline(SHARE, color="0.6", linewidth=0.6, zorder=1)
        for _, curve in frame[frame["position"] == position].groupby("model", sort=False):
            _draw_curve(axes, curve)
        if len(positions) > 1:
            axes.set_title(POSITION_NAMES.get(position, position))
        axes.set_xlabel("sampled lines K")
    first = panels[0, 0]
    first.set_xscale("log")
    first.set_xlim(0.85, _right_edge(frame))
    first.set_ylim(0, 1.04)
    plies = f" (N = {frame['plies'].iloc[0]})" if len(frame) else ""
    first.set_ylabel(f"trajectory coverage Ω{plies}")
    figure.suptitle(title if len(frame) else f"{title}: nothing measured yet", fontsize=8)
    if len(frame):
        _legend(figure, frame)
    return figure


def _draw_curve(axes: Axes, curve: pd.DataFrame) -> None:
    """The curve with its band of uncertainty, and a marker where it reaches the share."""
    colour, policy = COLOURS[curve["term"].iloc[0]], curve["policy"].iloc[0]
    axes.plot(curve["draws"], curve["coverage"], color=colour, linestyle=DASHES[policy], zorder=2)
    axes.fill_between(curve["draws"], curve["coverage"], curve["upper"], color=colour, alpha=0.2, linewidth=0)
    low, high = curve["draws_95_low"].iloc[0], curve["draws_95_high"].iloc[0]
    fill = colour if policy == "adaptive" else "white"
    # Where the cut mass hides the crossing, a triangle points to the side on which it lies.
    draws, marker = (low, ">") if pd.isna(high) else (high, "o")
    height = SHARE if pd.isna(high) else np.interp(np.log(draws), np.log(curve["draws"]), curve["coverage"])
    axes.plot(draws, height, marker, color=colour, markerfacecolor=fill, markersize=MARKER_SIZE, zorder=3)


def _right_edge(frame: pd.DataFrame) -> float:
    """Half a decade beyond the last crossing, so that curves are seen to flatten, if they go so far."""
    if frame.empty:
        return 10.0
    crossings = frame["draws_95_high"].fillna(frame["draws_95_low"])
    return float(np.clip(3 * crossings.max(), 10, frame["draws"].max()))


def _legend(figure: Figure, frame: pd.DataFrame) -> None:
    terms = [term for term in ORDER if term in set(frame["term"])]
    handles = [Line2D([], [], color=COLOURS[term], label=NAMES[term]) for term in terms]
    if len(terms) % 2:  # keeps the two policies in one column
        handles.append(Line2D([], [], linestyle="none", label=" "))
    for policy, dashes in DASHES.items():
        handle = Line2D([], [], color="0.3", linestyle=dashes, marker="o", markersize=MARKER_SIZE)
        handle.set_markerfacecolor("0.3" if policy == "adaptive" else "white")
        handle.set_label(LINE_NAMES[policy])
        handles.append(handle)
    if frame["draws_95_high"].isna().any():
        hidden = Line2D([], [], color="0.3", linestyle="none", marker=">", markersize=MARKER_SIZE)
        hidden.set_label(f"{SHARE:.0%} not before here")
        handles.append(hidden)
    columns = 2 if figure.get_figwidth() < 5 else math.ceil(len(handles) / 2)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, columnspacing=1.0)
