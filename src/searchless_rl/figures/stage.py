"""The stage `figures`."""

from __future__ import annotations

from pathlib import Path

from searchless_rl import layout
from searchless_rl.figures.dissociation import dissociation_data, draw_dissociation
from searchless_rl.figures.figure5 import draw_figure5, figure5_data
from searchless_rl.figures.figure6 import draw_figure6, figure6_data
from searchless_rl.figures.figure7 import draw_figure7, figure7_data
from searchless_rl.figures.figure8 import draw_figure8, figure8_data
from searchless_rl.figures.figure9 import draw_figure9, read_candidates
from searchless_rl.figures.figure10 import draw_figure10, figure10_data
from searchless_rl.figures.reliability import draw_reliability
from searchless_rl.figures.strength_figure import draw_strength
from searchless_rl.figures.tiers import draw_tiers
from searchless_rl.params import Params
from searchless_rl.reports.calibration import reliability_data
from searchless_rl.reports.measured import (
    headline_scores,
    recovered,
    selected_scores,
    shown_coverage,
    with_control,
)
from searchless_rl.reports.puzzle_ratings import accuracy_tiers, read_themes
from searchless_rl.reports.strength import ladder, read_games, strength
from searchless_rl.reports.table1 import table1
from searchless_rl.results.models import read_control, read_models
from searchless_rl.results.names import BASE


def build_figures(params: Params, data: Path, out: Path) -> None:
    """Draw every figure (PDF, PNG and the CSV behind it) into `out`."""
    models, shown = read_models(data, params), shown_coverage(data)
    draw_figure5(figure5_data(models), out / "figure5", params.scale)
    draw_figure6(figure6_data(headline_scores(data)), out / "figure6", params.scale)
    draw_figure7(figure7_data(shown), out / "figure7", params.scale)
    draw_figure8(figure8_data(recovered(data)), out / "figure8", params.scale)
    draw_figure9(read_candidates(layout.recovery(data) / layout.CANDIDATES), out / "figure9", params.scale)
    draw_figure10(figure10_data(shown), out / "figure10", params.scale)
    rated = table1(models, read_control(data), ladder(read_games(layout.arena("argmax", data)), BASE))
    scores = with_control(selected_scores(data), data)
    draw_dissociation(dissociation_data(rated, scores), out / "dissociation", params.scale)
    draw_tiers(accuracy_tiers(scores, read_themes(data)), out / "tiers", params.scale)
    draw_reliability(reliability_data(data), out / "reliability", params.scale)
    draw_strength(strength(models, data, BASE), out / "strength", params.scale)
