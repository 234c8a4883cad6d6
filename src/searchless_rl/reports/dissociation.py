"""Tactics against strength: accuracy gained over the base and rating, model by model (paper section 3.6)."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from searchless_rl.cells import TERMS
from searchless_rl.reports.style import BASE_COLOUR, COLUMN_WIDTH, TERM_COLOURS, use_style, write_figure
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
    """Draw and write the figure (PDF, PNG, CSV)."""
    use_style()
    figure, axes = plt.subplots(figsize=(COLUMN_WIDTH, 3.1), layout="constrained")
    axes.axhline(0, color="0.6", linewidth=0.8)
    axes.axvline(0, color="0.6", linewidth=0.8)
    for _, row in data.iterrows():
        is_arm = row["term"] in TERMS
        colour = TERM_COLOURS[row["term"]] if is_arm else BASE_COLOUR
        is_filled = not is_arm or row["tau"] == "adaptive"
        label = f"{TERM_NAMES[row['term']]}, {TAU_NAMES[row['tau']]}" if is_arm else "Puzzle-tuned control"
        axes.errorbar(
            100 * row["gain"],
            row["elo"],
            xerr=[[100 * (row["gain"] - row["gain_low"])], [100 * (row["gain_high"] - row["gain"])]],
            yerr=[[row["elo"] - row["elo_low"]], [row["elo_high"] - row["elo"]]],
            fmt=("o" if row["tau"] == "adaptive" else "s") if is_arm else "D",
            color=colour,
            markerfacecolor=colour if is_filled else "white",
            elinewidth=0.7,
            capsize=2,
            label=label,
        )
    axes.set_xlabel("puzzle accuracy gained over the base (points)")
    axes.set_ylabel("Elo over the base")
    axes.set_title(f"95 % intervals ({scale} scale)" if len(data) else "nothing measured yet")
    if len(data):
        figure.legend(loc="outside lower center", ncols=2, columnspacing=1.0, handlelength=1.4)
    write_figure(figure, data, stem)
    plt.close(figure)
