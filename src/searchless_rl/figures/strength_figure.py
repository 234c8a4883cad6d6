"""Strength against the base over beta, term by term: the ladder that the sweep makes (paper section 3.2)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from searchless_rl.cells import TAUS, TERMS, Term
from searchless_rl.figures.style import (
    BASE_COLOUR,
    DOUBLE_WIDTH,
    TERM_COLOURS,
    TERM_MARKERS,
    use_style,
    write_figure,
)
from searchless_rl.results.names import TAU_NAMES, TERM_NAMES

_POOLS = {"closed": "in the closed ladder", "base only": "against the base alone"}
"""Pools of `strength.strength`, the first one filled in the figure."""


def draw_strength(frame: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw `strength.strength`'s frame: a panel per temperature; write PDF, PNG, CSV.

    Cells rated in the closed ladder are filled, those that met the base alone hollow; the legend says on how
    many games a rating of each kind rests.
    """
    use_style()
    figure, panels = plt.subplots(1, 2, figsize=(DOUBLE_WIDTH, 3.0), layout="constrained", sharey=True)
    swept = frame[frame["variant"] == "full"]
    for axes, tau in zip(panels, TAUS, strict=True):
        axes.axhline(0, color=BASE_COLOUR, linewidth=0.8)
        for number, term in enumerate(TERMS):
            rows = swept[(swept["term"] == term) & (swept["tau"] == tau)].sort_values("beta")
            if term == "none":
                _draw_reference(axes, rows)
            elif len(rows):
                _draw_term(axes, rows, term, shift=1.12 ** (number - 2))
        axes.set_xscale("log")
        axes.set_xlabel("coefficient β")
        axes.set_title("self-play τ adaptive" if tau == "adaptive" else f"self-play {TAU_NAMES[tau]}")
    panels[0].set_ylabel("Elo over the base")
    if len(swept):
        figure.legend(handles=_legend(swept), loc="outside lower center", ncols=4, columnspacing=1.2)
    note = "95 % intervals" if len(swept) else "nothing measured yet"
    figure.suptitle(f"Playing strength, argmax play; {note} ({scale} scale)", fontsize=8)
    write_figure(figure, frame, stem)
    plt.close(figure)


def _draw_reference(axes: Axes, rows: pd.DataFrame) -> None:
    """The unregularized run, which has no beta: a line with the band of its interval."""
    colour = TERM_COLOURS["none"]
    for _, row in rows.iterrows():
        axes.axhspan(row["elo_low"], row["elo_high"], color=colour, alpha=0.12, linewidth=0)
        axes.axhline(row["elo"], color=colour, linestyle=":")


def _draw_term(axes: Axes, rows: pd.DataFrame, term: Term, shift: float) -> None:
    """A term's curve; `shift` moves it sideways, so that intervals stay readable."""
    axes.plot(shift * rows["beta"], rows["elo"], color=TERM_COLOURS[term], zorder=2)
    for pool in _POOLS:
        part = rows[rows["pool"] == pool]
        axes.errorbar(
            shift * part["beta"],
            part["elo"],
            yerr=[part["elo"] - part["elo_low"], part["elo_high"] - part["elo"]],
            capsize=2,
            elinewidth=0.8,
            zorder=3,
            **_look(term, pool),
        )


def _look(term: Term, pool: str) -> dict[str, Any]:
    fill = TERM_COLOURS[term] if pool == next(iter(_POOLS)) else "white"
    look = {"color": TERM_COLOURS[term], "marker": TERM_MARKERS[term], "markerfacecolor": fill}
    return {**look, "linestyle": ""}


def _legend(swept: pd.DataFrame) -> list[Line2D]:
    """The base, the terms that are drawn, then what filled and hollow markers mean."""
    handles = [Line2D([], [], color=BASE_COLOUR, linewidth=0.8, label="Frozen base")]
    for term in TERMS:
        if term in set(swept["term"]):
            look = {"color": TERM_COLOURS[term]} if term == "none" else _look(term, next(iter(_POOLS)))
            look["linestyle"] = ":" if term == "none" else "-"
            handles.append(Line2D([], [], label=TERM_NAMES[term], **look))
    for (pool, name), fill in zip(_POOLS.items(), ("0.3", "white"), strict=True):
        games = swept.loc[swept["pool"] == pool, "elo_games"]
        if len(games):
            low, high = int(games.min()), int(games.max())
            label = f"{name} ({low if low == high else f'{low} to {high}'} games)"
            marker: dict[str, Any] = {"color": "0.3", "marker": "o", "linestyle": ""}
            handles.append(Line2D([], [], label=label, markerfacecolor=fill, **marker))
    return handles
