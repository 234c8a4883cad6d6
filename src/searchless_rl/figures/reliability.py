"""Reliability of the base's value head: the score it expects against the score that was reached."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from searchless_rl.figures.style import BASE_COLOUR, COLUMN_WIDTH, TERM_COLOURS, use_style, write_figure

_LOOKS = {
    "file": ("as in the file", BASE_COLOUR, "o", "white"),
    "out_of_sample": (
        "calibrated, out of sample",
        TERM_COLOURS["reverse_kl"],
        "s",
        TERM_COLOURS["reverse_kl"],
    ),
}


def draw_reliability(frame: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw `reports.calibration.reliability_data`; write PDF, PNG, CSV."""
    use_style()
    figure, axes = plt.subplots(figsize=(COLUMN_WIDTH, 3.3), layout="constrained")
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=0.8, linestyle="--")
    for kind, (label, colour, marker, fill) in _LOOKS.items():
        rows = frame[frame["forecast"] == kind]
        if rows.empty:
            continue
        axes.errorbar(
            rows["expected"],
            rows["score"],
            yerr=[rows["score"] - rows["low"], rows["high"] - rows["score"]],
            color=colour,
            marker=marker,
            markerfacecolor=fill,
            capsize=2,
            elinewidth=0.8,
            label=label,
        )
    axes.set(xlabel="expected score", ylabel="score reached", xlim=(0, 1), ylim=(0, 1))
    if len(frame):
        axes.legend(loc="upper left")
    note = "95 % intervals over games" if len(frame) else "nothing measured yet"
    figure.suptitle(f"The base's value head ({scale} scale)\n{note}", fontsize=8)
    write_figure(figure, frame, stem)
    plt.close(figure)
