"""Score against the base over beta, term by term: the ladder that the sweep makes."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from searchless_rl.cells import TAUS, TERMS
from searchless_rl.reports.style import DOUBLE_WIDTH, TERM_COLOURS, use_style, write_figure
from searchless_rl.results.names import TAU_NAMES, TERM_NAMES


def draw_strength(frame: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw `strength.strength`'s frame: a panel per temperature; write PDF, PNG, CSV."""
    use_style()
    figure, panels = plt.subplots(1, 2, figsize=(DOUBLE_WIDTH, 2.6), layout="constrained", sharey=True)
    swept = frame[frame["variant"] == "full"]
    for axes, tau in zip(panels, TAUS, strict=True):
        axes.axhline(0.5, color="0.6", linewidth=0.8)
        for number, term in enumerate(TERMS):
            rows = swept[(swept["term"] == term) & (swept["tau"] == tau)].sort_values("beta")
            colour = TERM_COLOURS[term]
            if term == "none":
                for row in rows.itertuples():
                    axes.axhspan(row.score_low, row.score_high, color=colour, alpha=0.12, linewidth=0)
                    axes.axhline(row.score, color=colour, linestyle=":", label=TERM_NAMES[term])
                continue
            axes.errorbar(
                rows["beta"] * 1.12 ** (number - 2),  # side by side, so that intervals stay readable
                rows["score"],
                yerr=[rows["score"] - rows["score_low"], rows["score_high"] - rows["score"]],
                fmt="o-",
                color=colour,
                capsize=2,
                elinewidth=0.8,
                label=TERM_NAMES[term],
            )
        axes.set_xscale("log")
        axes.set_xlabel("coefficient β")
        axes.set_title(f"self-play τ: {TAU_NAMES[tau]}")
    panels[0].set_ylabel("points per game against the base")
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        shown = dict(zip(labels, handles, strict=True))
        figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=4)
    note = "95 % intervals over pairs of games" if len(swept) else "nothing measured yet"
    figure.suptitle(f"Most likely moves; {note} ({scale} scale)", fontsize=8)
    write_figure(figure, frame, stem)
    plt.close(figure)
