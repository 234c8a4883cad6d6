"""Figure 8: what fine-tuning recovers is gated by what the base kept alive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from searchless_rl.cells import Term, format_beta
from searchless_rl.evaluation.recovery import position_changes, tuned_models
from searchless_rl.figures.style import (
    BASE_COLOUR,
    DOUBLE_WIDTH,
    TERM_COLOURS,
    TERM_MARKERS,
    use_style,
    write_figure,
)
from searchless_rl.reports.recovery import LEAD_BINS, PROBABILITY_BINS, RANK_BINS, Bin
from searchless_rl.results.names import TAU_NAMES, TERM_NAMES, identity
from searchless_rl.statistics.intervals import wilson

COLUMNS = ("panel", "model", "term", "tau", "beta", "seed", "group", "k", "n", "value", "low", "high")
PROBABILITY, RANK, LEAD = "recovered by probability", "recovered by rank", "given back by lead"
BEHIND, MOVED = "lead over the solution", "mass moved"
SCORE, BASE_SCORE = "win minus loss", "win minus loss of the base"
RECOVERED, STUCK, LOST = "recovered", "not recovered", "given back"
_TITLES = {
    PROBABILITY: ("a  recovered, by probability", r"$\pi_{\mathrm{base}}$ of the solution", "recovered (%)"),
    RANK: ("b  recovered, by rank", "base's rank of the solution", "recovered (%)"),
    LEAD: ("c  given back, by lead", "base's lead over the runner-up", "given back (%)"),
    BEHIND: ("d  lead of the wrong move", "", "π, wrong − winning (points)"),
    MOVED: ("e  mass moved onto the solution", "", "π, tuned − base (points)"),
    SCORE: ("f  value head", "", "win − loss"),
}


def figure8_data(frame: pd.DataFrame) -> pd.DataFrame:
    """Recovery at the level of positions, from a side-by-side frame (`evaluation.recovery`).

    Returns:
        Columns panel, model, term, tau, beta, seed, group (bin, or "recovered", "not recovered", "given
        back"), k, n (positions), value, low, high. In the first three panels value is the share k / n of the
        bin's positions (wrong ones, in the third right ones) with its 95 % Wilson interval; in the others a
        median with the quartiles, k missing. "win minus loss of the base" is at the positions that the model
        did or did not recover.
    """
    rows: list[dict[str, Any]] = []
    for model in tuned_models(frame):
        changes = position_changes(frame, model)
        wrong = changes[changes["wrong"]]
        right = changes[~changes["wrong"]]
        rows += _shares(PROBABILITY, model, wrong, "solution", PROBABILITY_BINS, "recovered")
        rows += _shares(RANK, model, wrong, "rank", RANK_BINS, "recovered")
        rows += _shares(LEAD, model, right, "lead", LEAD_BINS, "given_back")
        groups = {RECOVERED: wrong[wrong["recovered"]], STUCK: wrong[~wrong["recovered"]]}
        for group, of in groups.items():
            rows.append(_median(BEHIND, model, group, of["behind"]))
            rows.append(_median(SCORE, model, group, of["tuned_score"]))
            rows.append(_median(BASE_SCORE, model, group, of["score"]))
        groups[LOST] = right[right["given_back"]]
        rows += [_median(MOVED, model, group, of["moved"]) for group, of in groups.items()]
    data = pd.DataFrame(rows, columns=list(COLUMNS))
    return data.astype(dict.fromkeys(("k", "n", "seed"), "Int64"))


def _shares(
    panel: str, model: str, positions: pd.DataFrame, by: str, bins: Sequence[Bin], what: str
) -> list[dict[str, Any]]:
    rows = []
    for part in bins:
        inside = positions.loc[part.holds(positions[by]), what]
        k, n = int(inside.sum()), len(inside)
        low, high = wilson(k, n)
        value = k / n if n else np.nan
        counts = {"k": k, "n": n, "value": value, "low": low, "high": high}
        rows.append(identity(model) | {"panel": panel, "group": part.label} | counts)
    return rows


def _median(panel: str, model: str, group: str, values: pd.Series) -> dict[str, Any]:
    low, value, high = values.quantile([0.25, 0.5, 0.75]) if len(values) else (np.nan,) * 3
    figures = {"k": None, "n": len(values), "value": value, "low": low, "high": high}
    return identity(model) | {"panel": panel, "group": group} | figures


def draw_figure8(data: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw and write Figure 8 (PDF, PNG, CSV)."""
    use_style()
    figure, grid = plt.subplots(2, 3, figsize=(DOUBLE_WIDTH, 4.6), layout="constrained")
    models = list(dict.fromkeys(data["model"]))
    for axis, (panel, (title, below, beside)) in zip(grid.flat, _TITLES.items(), strict=True):
        if panel == SCORE:
            axis.axhline(0, color="0.7", linewidth=0.8)
            _points(axis, data[data["panel"] == BASE_SCORE], models, 1.0, is_base=True)
        _points(axis, data[data["panel"] == panel], models, 1.0 if panel == SCORE else 100.0)
        if panel == BEHIND:
            axis.set_ylim(bottom=0)
        axis.set_title(title, loc="left")
        axis.set_xlabel(below)
        axis.set_ylabel(beside)
    handles = [Line2D([], [], label=_name(data, model), **_look(data, model)) for model in models]
    bar: dict[str, Any] = {"color": BASE_COLOUR, "marker": "_", "linestyle": ""}
    handles.append(Line2D([], [], label="f: the base, left of each model, at that model's positions", **bar))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    figure.suptitle(_heading(data, scale), fontsize=8)
    write_figure(figure, data, stem)
    plt.close(figure)


def _heading(data: pd.DataFrame, scale: str) -> str:
    if data.empty:
        return f"Solver positions of the main suite; nothing measured yet ({scale} scale)"
    return (
        f"Solver positions of the main suite ({scale} scale). Points and bars: a–c shares with 95 % "
        "intervals, d–f medians with\nquartiles. In brackets: the number of positions, each model's in the "
        "order of the legend where they differ."
    )


def _name(data: pd.DataFrame, model: str) -> str:
    row = data[data["model"] == model].iloc[0]
    tau = "τ adaptive" if row["tau"] == "adaptive" else TAU_NAMES[row["tau"]]
    return f"{TERM_NAMES[row['term']]}, {tau}, β = {format_beta(float(row['beta']))}"


def _look(data: pd.DataFrame, model: str) -> dict[str, Any]:
    row = data[data["model"] == model].iloc[0]
    term: Term = row["term"]
    fill = TERM_COLOURS[term] if row["tau"] == "adaptive" else "white"
    look = {"color": TERM_COLOURS[term], "marker": TERM_MARKERS[term], "markerfacecolor": fill}
    return {**look, "linestyle": ""}


def _tick(group: str, rows: pd.DataFrame) -> str:
    """A group's name with its numbers of positions, one where that is every model's."""
    counts = [str(n) for n in rows.loc[rows["group"] == group, "n"]]
    number = "/".join(counts if len(set(counts)) > 1 else counts[:1])
    if rows["panel"].iloc[0] == LEAD:
        return f"{group} ({number})"
    for gap in ("not ", "given ", "–"):
        group = group.replace(gap, f"{gap.strip()}\n") if len(group) > 4 else group
    return f"{group}\n({number})"


def _points(
    axis: Axes, rows: pd.DataFrame, models: Sequence[str], unit: float, *, is_base: bool = False
) -> None:
    """A point with its bar per group and model, models side by side; the base a step to the left of each."""
    groups = list(dict.fromkeys(rows["group"]))
    is_upright = len(groups) > 5  # too many to stand side by side
    axis.set_xticks(range(len(groups)), [_tick(group, rows) for group in groups], rotation=90 * is_upright)
    axis.set_xlim(-0.5, max(len(groups), 1) - 0.5)
    for number, model in enumerate(models):
        mine = rows[rows["model"] == model]
        offset = 0.24 * (number - (len(models) - 1) / 2) - 0.09 * is_base
        look = {"color": BASE_COLOUR, "linestyle": "", "marker": "_"} if is_base else _look(rows, model)
        axis.errorbar(
            mine["group"].map(groups.index) + offset,
            unit * mine["value"],
            yerr=[unit * (mine["value"] - mine["low"]), unit * (mine["high"] - mine["value"])],
            capsize=2,
            elinewidth=0.8,
            **look,
        )
