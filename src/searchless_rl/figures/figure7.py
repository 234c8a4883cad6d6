"""Figure 7: trajectory coverage from the start position."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from searchless_rl.evaluation.tabiyas import START
from searchless_rl.figures.coverage_plot import draw_panels
from searchless_rl.figures.style import COLUMN_WIDTH, write_figure
from searchless_rl.reports.coverage import Shown, coverage_curves


def figure7_data(shown: Mapping[str, Shown]) -> pd.DataFrame:
    """Curves at the start position; columns and errors as `reports.coverage.coverage_curves`."""
    return coverage_curves(shown, lambda position: position == START)


def draw_figure7(frame: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw and write Figure 7 (PDF, PNG, CSV)."""
    figure = draw_panels(frame, (COLUMN_WIDTH, 3.3), f"Start position ({scale} scale)")
    write_figure(figure, frame, stem)
    plt.close(figure)
