"""Strength against the base over beta, term by term: the ladder that the sweep makes (paper section 3.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from searchless_rl.cells import TAUS, TERMS
from searchless_rl.figures.style import DOUBLE_WIDTH, TERM_COLOURS, TERM_MARKERS, use_style, write_figure
from searchless_rl.results.names import TAU_NAMES, TERM_NAMES


def draw_strength(frame: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw `strength.strength`'s frame: a panel per temperature; write PDF, PNG, CSV.

    The height is the Elo difference to the base where the frame has it, else the score. Cells with fewer
    games against the base than the best measured ones are hollow, their number in the legend.
    """
    use_style()
    figure, panels = plt.subplots(1, 2, figsize=(DOUBLE_WIDTH, 2.8), layout="constrained", sharey=True)
    points = _points(frame[frame["variant"] == "full"])
    for axes, tau in zip(panels, TAUS, strict=True):
        axes.axhline(0 if _is_elo(frame) else 0.5, color="0.6", linewidth=0.8)
        for number, term in enumerate(TERMS):
            rows = points[(points["term"] == term) & (points["tau"] == tau)].sort_values("beta")
            if term == "none":
                _draw_reference(axes, rows)
            elif len(rows):
                _draw_term(axes, rows, points["games"].max(), shift=1.12 ** (number - 2))
        axes.set_xscale("log")
        axes.set_xlabel("coefficient β")
        axes.set_title("self-play τ adaptive" if tau == "adaptive" else f"self-play {TAU_NAMES[tau]}")
    panels[0].set_ylabel("Elo over the base" if _is_elo(frame) else "points per game against the base")
    if len(points):
        figure.legend(handles=_legend(points), loc="outside lower center", ncols=6, columnspacing=1.2)
    note = "95 % intervals" if len(points) else "nothing measured yet"
    figure.suptitle(f"Playing strength over the base, argmax play; {note} ({scale} scale)", fontsize=8)
    write_figure(figure, frame, stem)
    plt.close(figure)


def _is_elo(frame: pd.DataFrame) -> bool:
    return "elo" in frame and bool(frame["elo"].notna().any())


def _points(frame: pd.DataFrame) -> pd.DataFrame:
    """Columns term, tau, beta, games, value, low, high of every cell that has them."""
    points = frame[["term", "tau", "beta"]].copy()
    games = frame["games"] if "games" in frame else frame["wins"] + frame["draws"] + frame["losses"]
    points["games"] = games.astype("float64")
    if _is_elo(frame):
        points["value"] = frame["elo"]
        points["low"] = frame["elo"] - frame["elo_half_width"]
        points["high"] = frame["elo"] + frame["elo_half_width"]
    else:
        points[["value", "low", "high"]] = frame[["score", "score_low", "score_high"]].astype("float64")
    return points.dropna(subset="value")


def _draw_reference(axes: Axes, rows: pd.DataFrame) -> None:
    """The unregularized run, which has no beta: a line with the band of its interval."""
    colour = TERM_COLOURS["none"]
    for _, row in rows.iterrows():
        axes.axhspan(row["low"], row["high"], color=colour, alpha=0.12, linewidth=0)
        axes.axhline(row["value"], color=colour, linestyle=":")


def _draw_term(axes: Axes, rows: pd.DataFrame, most: float, shift: float) -> None:
    """A term's curve; `shift` moves it sideways, so that intervals stay readable."""
    term = rows["term"].iloc[0]
    axes.plot(shift * rows["beta"], rows["value"], color=TERM_COLOURS[term], zorder=2)
    for is_full, part in rows.groupby(rows["games"] == most):
        axes.errorbar(
            shift * part["beta"],
            part["value"],
            yerr=[part["value"] - part["low"], part["high"] - part["value"]],
            capsize=2,
            elinewidth=0.8,
            zorder=3,
            **_look(term, is_full=bool(is_full)),
        )


def _look(term: Any, *, is_full: bool) -> dict[str, Any]:
    fill = TERM_COLOURS[term] if is_full else "white"
    marker = {"marker": TERM_MARKERS[term], "markerfacecolor": fill}
    return {"color": TERM_COLOURS[term], "linestyle": "", **marker}


def _legend(points: pd.DataFrame) -> list[Line2D]:
    """The terms that are drawn, then what filled and hollow markers mean."""
    handles = []
    for term in TERMS:
        if term not in set(points["term"]):
            continue
        if term == "none":
            line: dict[str, Any] = {"color": TERM_COLOURS[term], "linestyle": ":"}
        else:
            line = _look(term, is_full=True) | {"linestyle": "-"}
        handles.append(Line2D([], [], label=TERM_NAMES[term], **line))
    counts = sorted(set(points["games"].dropna().astype(int)), reverse=True)
    marker: dict[str, Any] = {"color": "0.3", "marker": "o", "linestyle": ""}
    if counts:
        handles.append(Line2D([], [], label=f"{counts[0]} games", **marker))
    if len(counts) > 1:
        fewer = " or ".join(map(str, counts[1:]))
        handles.append(Line2D([], [], label=f"{fewer} games", markerfacecolor="white", **marker))
    return handles
