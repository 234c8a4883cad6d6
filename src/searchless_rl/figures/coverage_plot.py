"""What Figures 7 and 10 share: panels of coverage against draws, with a legend that holds the numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from searchless_rl.cells import TERMS
from searchless_rl.figures.style import BASE_COLOUR, BASE_MARKER, TERM_COLOURS, TERM_MARKERS, use_style
from searchless_rl.reports.coverage import POSITION_NAMES
from searchless_rl.reports.formats import MISSING
from searchless_rl.results.names import SHARE, TERM_NAMES

ORDER = ("base", *TERMS)
COLOURS = dict(zip(ORDER, (BASE_COLOUR, *(TERM_COLOURS[term] for term in TERMS)), strict=True))
MARKERS = dict(zip(ORDER, (BASE_MARKER, *(TERM_MARKERS[term] for term in TERMS)), strict=True))
NAMES = dict(zip(ORDER, ("Frozen base", *(TERM_NAMES[term] for term in TERMS)), strict=True))
DASHES: dict[str, Literal["-"] | tuple[float, Sequence[float]]] = {"adaptive": "-", "raw": (0, (3, 1.5))}
POLICY_SYMBOLS = {"adaptive": "μ", "raw": "π"}
MARKER_SIZE = 3.5
_PERCENT = f"{100 * SHARE:.0f} %"
_LINE = 0.15  # inches, height of a line of the legend
_NAME_WIDTH = 1.3  # inches, sample and name of a term in the legend


def draw_panels(frame: pd.DataFrame, size: tuple[float, float], title: str) -> Figure:
    """A row of panels, one per position of the frame, above a table of the draws that reach the share.

    The table is the legend: a row per exploration term with a sample of its marker and colour, and its draws
    through the tempered μ (solid, filled) and the raw π (dashed, hollow) at every position.

    Args:
        frame: as `reports.coverage.coverage_curves` gives it; one empty panel where it has no rows.
        size: inches.
        title: of the whole figure.
    """
    use_style()
    positions = list(dict.fromkeys(frame["position"])) or [None]
    terms = [term for term in ORDER if term in set(frame["term"])]
    key_height = _LINE * _lines(frame) if terms else 0.01
    figure = plt.figure(figsize=size, layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[size[1] - key_height, key_height])[
        :, 0
    ]
    panels = above.subplots(1, len(positions), sharex=True, sharey=True, squeeze=False)[0]
    for axes, position in zip(panels, positions, strict=True):
        axes.axhline(SHARE, color="0.5", linewidth=0.6, zorder=1)
        for _, curve in frame[frame["position"] == position].groupby("model", sort=False):
            _draw_curve(axes, curve)
        if len(positions) > 1:
            axes.set_title(POSITION_NAMES.get(position, position))
        axes.set_xlabel("sampled lines K")
    first = panels[0]
    first.text(0.02, SHARE, _PERCENT, transform=first.get_yaxis_transform(), fontsize=7, va="bottom")
    first.set_xscale("log")
    first.set_xlim(0.85, _right_edge(frame))
    first.set_ylim(0, 1.06)
    plies = f" (N = {frame['plies'].iloc[0]})" if len(frame) else ""
    first.set_ylabel(f"trajectory coverage Ω{plies}")
    above.suptitle(title if len(frame) else f"{title}: nothing measured yet", fontsize=8)
    if terms:
        _key(below, frame, terms, size[0])
    return figure


def _draw_curve(axes: Axes, curve: pd.DataFrame) -> None:
    """The curve with its band of uncertainty, and a marker where it reaches the share."""
    term, policy = curve["term"].iloc[0], curve["policy"].iloc[0]
    colour = COLOURS[term]
    axes.plot(curve["draws"], curve["coverage"], color=colour, linestyle=DASHES[policy], zorder=2)
    axes.fill_between(curve["draws"], curve["coverage"], curve["upper"], color=colour, alpha=0.2, linewidth=0)
    low, high = curve["draws_95_low"].iloc[0], curve["draws_95_high"].iloc[0]
    # Where the cut mass hides the crossing, an arrow head points to the side on which it lies.
    draws, marker = (low, ">") if pd.isna(high) else (high, MARKERS[term])
    height = SHARE if pd.isna(high) else np.interp(np.log(draws), np.log(curve["draws"]), curve["coverage"])
    axes.plot(draws, height, marker, zorder=3, **_marker(term, policy))
    # A second marker where curves lie apart, each term's at its own height.
    height = 0.25 + 0.12 * ORDER.index(term)
    if curve["coverage"].iloc[0] < height < curve["coverage"].iloc[-1]:
        draws = np.exp(np.interp(height, curve["coverage"], np.log(curve["draws"])))
        axes.plot(draws, height, MARKERS[term], zorder=3, **_marker(term, policy))


def _marker(term: str, policy: str) -> dict[str, Any]:
    fill = COLOURS[term] if policy == "adaptive" else "white"
    return {
        "color": COLOURS[term],
        "markerfacecolor": fill,
        "markersize": MARKER_SIZE,
        "markeredgewidth": 0.9,
    }


def _right_edge(frame: pd.DataFrame) -> float:
    """Half a decade beyond the last crossing, so that curves are seen to flatten, if they go so far."""
    if frame.empty:
        return 10.0
    crossings = frame["draws_95_high"].fillna(frame["draws_95_low"])
    return float(np.clip(3 * crossings.max(), 10, frame["draws"].max()))


_LONG = 100_000
"""From here on a bound in full would not fit its column beside another."""


def draws_text(low: int, high: int) -> str:
    """Draws that reach the share: exact where known, rounded where large bounds agree so, else both bounds.

    Args:
        low: lower bound.
        high: upper bound, missing where the cut mass leaves it open.
    """
    if pd.isna(high):
        return f"≥ {low:,}"
    if low == high:
        return f"{low:,}"
    for digits in (3, 2):
        ends = {int(float(f"{end:.{digits - 1}e}")) for end in (low, high)}
        if len(ends) == 1 and low >= 1000:
            return f"≈ {ends.pop():,}"
    if low >= _LONG:
        return f"{_short(low, math.floor)}–{_short(high, math.ceil)}"
    return f"{low:,}–{high:,}"


def _short(number: int, outward: Callable[[float], int]) -> str:
    """A large bound in thousands or in hundredths of a million, rounded away from the other one."""
    if number < 1_000_000:
        return f"{outward(number / 1000)}k"
    return f"{outward(number / 10_000) / 100:.2f}M"


def _key(figure: SubFigure, frame: pd.DataFrame, terms: Sequence[str], width: float) -> None:
    """The legend as a table; places are inches to the right and lines downwards."""
    positions = list(dict.fromkeys(frame["position"]))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(_lines(frame), 0))
    axes.axis("off")
    axes.set_in_layout(False)
    columns = [(position, policy) for position in positions for policy in DASHES]
    step = (width - _NAME_WIDTH - 0.1) / len(columns)
    right = [_NAME_WIDTH + step * (number + 0.88) for number in range(len(columns))]
    y = 0.6
    if len(positions) > 1:
        for number, position in enumerate(positions):
            _write(axes, _NAME_WIDTH + step * (2 * number + 1), y, POSITION_NAMES.get(position, position))
        y += 1
    _write(axes, 0.08, y, f"draws to {_PERCENT}:", "left")
    for place, (_, policy) in zip(right, columns, strict=True):
        axes.plot([place - 0.42, place - 0.12], [y, y], color="0.2", linewidth=1.2, linestyle=DASHES[policy])
        _write(axes, place, y, POLICY_SYMBOLS[policy], "right")
    keys = ["term", "policy", "position"]
    curves = frame.drop_duplicates(keys)
    numbers = map(draws_text, curves["draws_95_low"], curves["draws_95_high"])
    texts = dict(zip(curves[keys].itertuples(index=False, name=None), numbers, strict=True))
    for term in terms:
        y += 1
        axes.plot([0.08, 0.32], [y, y], color=COLOURS[term], linewidth=1.2)
        axes.plot(0.2, y, MARKERS[term], **_marker(term, "adaptive"))
        _write(axes, 0.4, y, NAMES[term], "left")
        for place, (position, policy) in zip(right, columns, strict=True):
            _write(axes, place, y, texts.get((term, policy, position), MISSING), "right")
    note = "μ: tempered, adaptive τ (filled); π: raw, τ ≡ 1 (hollow)"
    if frame["draws_95_high"].isna().any():
        note += f"; ▶ {_PERCENT} not before here"
    _write(axes, width / 2, y + 1.1, note)


def _lines(frame: pd.DataFrame) -> float:
    """Height of the legend in lines of text."""
    return frame["term"].nunique() + 2.3 + (frame["position"].nunique() > 1)


def _write(axes: Axes, x: float, y: float, text: str, align: str = "center") -> None:
    axes.text(x, y, text, fontsize=7, ha=align, va="center")
