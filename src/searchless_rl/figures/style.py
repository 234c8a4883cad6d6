"""One look for all figures, and files without dates."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from searchless_rl.cells import Term
from searchless_rl.files import atomic_writer, write_atomically
from searchless_rl.reports.formats import csv_text

COLUMN_WIDTH = 3.3  # inches, one column of a two-column page
DOUBLE_WIDTH = 6.9  # inches, both columns

BASE_COLOUR = "#000000"
TERM_COLOURS: dict[Term, str] = {
    "none": "#8a8a8a",
    "entropy": "#e0a800",
    "reverse_kl": "#1a4296",
    "forward_kl": "#b8401f",
}
"""Far apart for normal, deuteranopic and protanopic eyes and in grey (tests/reports/test_style.py)."""
BASE_MARKER = "P"
TERM_MARKERS: dict[Term, str] = {"none": "o", "entropy": "s", "reverse_kl": "^", "forward_kl": "D"}
"""A second key to the term, so that no figure tells terms apart by colour alone."""


def use_style() -> None:
    """Set Matplotlib to the study's look: readable at column width, no display needed."""
    mpl.use("Agg")
    sns.set_theme(
        context="paper",
        style="ticks",
        palette="colorblind",
        rc={
            "figure.dpi": 200,
            "font.size": 8,
            "axes.labelsize": 8,
            "axes.titlesize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7,
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "lines.linewidth": 1.2,
            "lines.markersize": 4,
            "pdf.fonttype": 42,
            "svg.hashsalt": "searchless",
        },
    )


def write_figure(figure: Figure, data: pd.DataFrame, stem: Path) -> None:
    """Write `stem`.pdf and .png, without dates so that a rerun gives the same bytes, and the data as .csv."""
    with atomic_writer(stem.with_suffix(".pdf")) as stream:
        figure.savefig(
            stream, format="pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None}
        )
    with atomic_writer(stem.with_suffix(".png")) as stream:
        figure.savefig(stream, format="png", metadata={"Software": None})
    write_atomically(stem.with_suffix(".csv"), csv_text(data))
