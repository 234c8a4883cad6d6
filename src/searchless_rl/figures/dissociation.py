"""Tactics against strength: accuracy gained over the base and rating, model by model (paper section 3.6)."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import ConnectionPatch

from searchless_rl.cells import TERMS
from searchless_rl.figures.style import (
    BASE_COLOUR,
    BASE_MARKER,
    DOUBLE_WIDTH,
    TERM_COLOURS,
    TERM_MARKERS,
    use_style,
    write_figure,
)
from searchless_rl.results.names import BASE, MAIN, TAU_NAMES, TERM_NAMES
from searchless_rl.results.scores import Scores
from searchless_rl.statistics.paired import count_pair, paired_interval

_COLUMNS = (
    *("model", "term", "tau", "beta", "gain", "gain_low", "gain_high", "n"),
    *("elo", "elo_low", "elo_high"),
)


def dissociation_data(table: pd.DataFrame, scores: Scores) -> pd.DataFrame:
    """Both axes of every model of Table 1.

    Args:
        table: of `table1`.
        scores: puzzle frames of the same models, the base and the control included.

    Returns:
        Columns model, term, tau, beta; gain (accuracy over the base on the main suite, a fraction) with its
        paired 95 % interval gain_low, gain_high and n puzzles; elo, elo_low, elo_high (difference to the
        base). Models without both are left out.
    """
    rows = []
    base = scores.get(BASE, {}).get(MAIN)
    for _, row in table[table["model"] != BASE].iterrows():
        tuned = scores.get(row["model"], {}).get(MAIN)
        if base is None or tuned is None or pd.isna(row["elo"]):
            continue
        pair = count_pair(tuned, base, MAIN)
        low, high = paired_interval(pair)
        gain = {"gain": pair.difference, "gain_low": low, "gain_high": high, "n": pair.n}
        rows.append({key: row[key] for key in _COLUMNS if key in row.index} | gain)
    return pd.DataFrame(rows, columns=list(_COLUMNS))


def draw_dissociation(data: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw and write the figure (PDF, PNG, CSV); every point is named at the right edge."""
    use_style()
    figure, axes = plt.subplots(figsize=(DOUBLE_WIDTH, 2.8), layout="constrained")
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.axvline(0, color="0.6", linewidth=0.8)
    axes.plot(0, 0, BASE_MARKER, color=BASE_COLOUR, markersize=5)
    axes.annotate("base", (0, 0), xytext=(-4, 4), textcoords="offset points", fontsize=7, ha="right")
    for _, row in data.iterrows():
        colour, marker, fill = _look(row)
        axes.errorbar(
            100 * row["gain"],
            row["elo"],
            xerr=[[100 * (row["gain"] - row["gain_low"])], [100 * (row["gain_high"] - row["gain"])]],
            yerr=[[row["elo"] - row["elo_low"]], [row["elo_high"] - row["elo"]]],
            fmt=marker,
            color=colour,
            markerfacecolor=fill,
            elinewidth=0.7,
            capsize=2,
        )
    axes.margins(x=0.12)
    axes.set_xlabel("puzzle accuracy over the base (points)")
    axes.set_ylabel("Elo over the base")
    measured = "points with 95 % intervals" if len(data) else "nothing measured yet"
    figure.suptitle(f"Tactics against playing strength; {measured} ({scale} scale)", fontsize=8)
    _name_points(axes, data)
    write_figure(figure, data, stem)
    plt.close(figure)


def _look(row: pd.Series) -> tuple[str, str, str]:
    """Colour, marker and fill of a model: hollow where it is trained at the fixed temperature."""
    if row["term"] not in TERMS:
        return BASE_COLOUR, "*", BASE_COLOUR
    colour = TERM_COLOURS[row["term"]]
    return colour, TERM_MARKERS[row["term"]], colour if row["tau"] == "adaptive" else "white"


def _name(row: pd.Series) -> str:
    if row["term"] not in TERMS:
        return "Puzzle-tuned control"
    return f"{TERM_NAMES[row['term']]}, {'adaptive τ' if row['tau'] == 'adaptive' else TAU_NAMES[row['tau']]}"


def _name_points(axes: Axes, data: pd.DataFrame) -> None:
    """A column of names right of the axes, the strongest first, with a line from each to its point."""
    ordered = data.sort_values(["elo", "gain"], ascending=[False, True])
    for place, (_, row) in enumerate(ordered.iterrows()):
        height = 1 - (place + 0.5) / len(ordered)
        colour, marker, fill = _look(row)
        inside = axes.transAxes
        axes.plot(1.06, height, marker, color=colour, markerfacecolor=fill, transform=inside, clip_on=False)
        axes.text(1.075, height, _name(row), fontsize=7, va="center", transform=inside)
        point = (100 * row["gain"], row["elo"])
        line = ConnectionPatch((1.05, height), point, inside, axes.transData, color=colour, linewidth=0.4)
        axes.add_artist(line)
        line.set_clip_on(False)
