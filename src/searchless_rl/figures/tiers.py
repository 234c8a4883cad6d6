"""Where accuracy is gained: every selected model by rating tier and theme, as one heat map."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from searchless_rl.figures.style import DOUBLE_WIDTH, use_style, write_figure
from searchless_rl.reports.puzzle_ratings import RATING, THEME
from searchless_rl.reports.rows import short_name
from searchless_rl.results.names import BASE

THEMES = 14
"""Most themes drawn, the most frequent; the CSV has all."""


def draw_tiers(data: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw and write `accuracy_tiers`' frame (PDF, PNG, CSV).

    Numbers are accuracies in percent, colours points over the base.
    """
    use_style()
    models = list(dict.fromkeys(data["model"]))
    height = 1.6 + 0.24 * max(len(models), 3)
    figure, panels = plt.subplots(
        1, 2, figsize=(DOUBLE_WIDTH, height), layout="constrained", width_ratios=[6, THEMES], sharey=True
    )
    limit = _limit(data)
    for axes, kind in zip(panels, (RATING, THEME), strict=True):
        image = _panel(axes, data[data["kind"] == kind], models, limit)
        axes.set_title(f"by {kind}")
    panels[0].set_yticks(range(len(models)), [short_name(model) for model in models])
    figure.colorbar(image, ax=panels, label="points over the base", shrink=0.8)
    measured = "accuracy on the main suite, percent" if models else "nothing measured yet"
    figure.suptitle(f"Where puzzles are solved; {measured} ({scale} scale)", fontsize=8)
    write_figure(figure, data, stem)
    plt.close(figure)


def gains(data: pd.DataFrame, models: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Accuracy, and its gain over the base's in the same group: percent, a row a model, a column a group."""
    groups = list(dict.fromkeys(data["group"]))[:THEMES]
    table = data.pivot_table(index="model", columns="group", values="accuracy", sort=False)
    table = 100 * table.reindex(index=models, columns=groups)
    base = table.loc[BASE] if BASE in table.index else np.nan
    return table, table - base


def _limit(data: pd.DataFrame) -> float:
    """The largest gain or loss that is drawn, the end of the colours on both sides."""
    models = list(dict.fromkeys(data["model"]))
    parts = [
        gains(data[data["kind"] == kind], models)[1].abs().to_numpy().ravel() for kind in (RATING, THEME)
    ]
    found = np.concatenate(parts)
    return float(np.nanmax(found)) if np.isfinite(found).any() and np.nanmax(found) > 0 else 1.0


def _panel(axes: Axes, data: pd.DataFrame, models: list[str], limit: float) -> AxesImage:
    rates, over_base = gains(data, models)
    shown = over_base.fillna(0).to_numpy(float) if rates.size else np.zeros((1, 1))
    image = axes.imshow(shown, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
    axes.set_xticks(range(rates.shape[1]), list(rates.columns), rotation=90)
    axes.tick_params(length=0)
    for (row, column), rate in np.ndenumerate(rates.to_numpy(float)):
        if not np.isnan(rate):
            is_dark = abs(shown[row, column]) > 0.6 * limit
            colour = "white" if is_dark else "black"
            axes.text(column, row, f"{rate:.0f}", ha="center", va="center", fontsize=6, color=colour)
    return image
