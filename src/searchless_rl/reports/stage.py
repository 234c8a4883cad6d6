"""The stages `tables` and `figures`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from searchless_rl.files import write_atomically, write_json
from searchless_rl.params import Params
from searchless_rl.reports.coverage import Shown, coverage_table, shown_arms, write_coverage_table
from searchless_rl.reports.curves import learning_curves
from searchless_rl.reports.formats import Source, csv_text, write_table
from searchless_rl.reports.listings import write_cells, write_paired, write_recovery
from searchless_rl.reports.recovery import COLUMNS as RECOVERY_COLUMNS
from searchless_rl.reports.recovery import recovery_table
from searchless_rl.reports.strength import ladder, read_games, strength, write_ladder
from searchless_rl.reports.table1 import table1, write_table1
from searchless_rl.reports.table3 import table3, write_table3
from searchless_rl.reports.table4 import table4, write_table4
from searchless_rl.reports.table5 import read_shapes, table5, write_table5
from searchless_rl.reports.table6 import write_table6
from searchless_rl.reports.tables import cells, headline, table2
from searchless_rl.results.models import Measured, chosen_cells, evaluated_folders, read_control, read_models
from searchless_rl.results.names import ARMS, BASE, CONTROL, HARD, MAIN, MATES
from searchless_rl.results.scores import Scores, read_scores
from searchless_rl.results.selection import select_cells
from searchless_rl.statistics.paired import compare_models

_DEEP = (MAIN, HARD, *MATES.values())


def _selected_scores(data: Path) -> Scores:
    """The base, then each arm's selected model: Tables 1 and 3, paired.csv."""
    folders = evaluated_folders(data)
    names = [BASE, *chosen_cells(data, "selected").values()]
    return read_scores({name: folders[name] for name in names if name in folders}, _DEEP)


def _headline_scores(data: Path) -> Scores:
    """The base, then the adaptive arms at the headline beta: Table 4 and Figure 6."""
    folders, cells_of = evaluated_folders(data), chosen_cells(data, "headline")
    names = [BASE, *(cells_of[arm] for arm in ARMS if arm.endswith("-adaptive") and arm in cells_of)]
    return read_scores({name: folders[name] for name in names if name in folders}, _DEEP)


def _shown_coverage(data: Path) -> dict[str, Shown]:
    """The base and the arms at the headline beta: Figures 7 and 10."""
    arms = {tuple(arm.rsplit("-", 1)): data / "coverage" / arm for arm in ARMS}
    return shown_arms(data / "coverage" / BASE, arms)  # type: ignore[arg-type]  # a term and a temperature


def _with_control(scores: Scores, data: Path) -> Scores:
    return {**scores, **read_scores({CONTROL: data / "evaluated" / CONTROL}, (MAIN,))}


def build_figures(params: Params, data: Path, out: Path) -> None:
    """Draw every figure (PDF, PNG and the CSV behind it) into `out`."""
    from searchless_rl.reports.dissociation import dissociation_data, draw_dissociation
    from searchless_rl.reports.figure5 import draw_figure5, figure5_data
    from searchless_rl.reports.figure6 import draw_figure6, figure6_data
    from searchless_rl.reports.figure7 import draw_figure7, figure7_data
    from searchless_rl.reports.figure8 import draw_figure8, figure8_data
    from searchless_rl.reports.figure9 import draw_figure9, read_candidates
    from searchless_rl.reports.figure10 import draw_figure10, figure10_data
    from searchless_rl.reports.strength_figure import draw_strength

    models, scores, shown = read_models(data, params), _selected_scores(data), _shown_coverage(data)
    draw_figure5(figure5_data(models), out / "figure5", params.scale)
    draw_figure6(figure6_data(_headline_scores(data)), out / "figure6", params.scale)
    draw_figure7(figure7_data(shown), out / "figure7", params.scale)
    draw_figure8(figure8_data(_recovered(data)), out / "figure8", params.scale)
    draw_figure9(read_candidates(data / "recovery" / "candidates.csv"), out / "figure9", params.scale)
    draw_figure10(figure10_data(shown), out / "figure10", params.scale)
    rated = table1(models, read_control(data), ladder(read_games(data / "arena" / "argmax"), BASE))
    both = dissociation_data(rated, _with_control(scores, data))
    draw_dissociation(both, out / "dissociation", params.scale)
    draw_strength(strength(models, data, BASE), out / "strength", params.scale)


def build_tables(params: Params, data: Path, out: Path) -> None:
    """Write every table (CSV, Markdown, LaTeX) and the plain files beside them into `out`.

    These are Tables 1 to 6, ladder, coverage, paired and recovery; cells.csv (everything measured of a cell)
    with cells.md (what its columns mean); strength.csv, learning_curves.csv and metrics.json. What was not
    measured keeps its row, with dashes.
    """
    models, source = read_models(data, params), Source.of(params)
    rated = ladder(read_games(data / "arena" / "argmax"), BASE)
    scores, sampled = _selected_scores(data), data / "arena" / "sampled"
    write_table1(table1(models, read_control(data), rated), out / "table1", params, data / "suites")
    write_ladder(rated, out / "ladder", source)
    _write_settings(params, models, out)
    write_table3(table3([models[0], *select_cells(models)]), out / "table3", source)
    write_table4(table4(_headline_scores(data)), out / "table4", source, params.headline_beta)
    write_table5(table5(read_games(sampled), read_shapes(sampled)), out / "table5", source)
    write_table6(models, out / "table6", source)
    write_coverage_table(coverage_table(_shown_coverage(data)), out / "coverage", source)
    write_paired(compare_models(_with_control(scores, data)), out / "paired", source)
    write_recovery(_recovery(data), out / "recovery", source)
    write_cells(cells(models), out / "cells", source)
    curves = learning_curves(models, params.headline_beta)
    for name, frame in {"strength": strength(models, data, BASE), "learning_curves": curves}.items():
        write_atomically(out / f"{name}.csv", csv_text(frame))
    write_json(out / "metrics.json", headline(models))


def _recovery(data: Path) -> pd.DataFrame:
    frame = _recovered(data)
    return (
        pd.DataFrame(columns=list(RECOVERY_COLUMNS)) if frame.empty else recovery_table(frame, data / "paper")
    )


def _recovered(data: Path) -> pd.DataFrame:
    """Positions side by side, as the stage `recovery` wrote them; empty where they are missing."""
    path = data / "recovery" / "positions.parquet"
    return pd.read_parquet(path) if path.exists() else pd.DataFrame()


def _write_settings(params: Params, models: list[Measured], out: Path) -> None:
    write_table(
        table2(params, {model.precision for model in models if model.precision}),
        out / "table2",
        number=2,
        title="training settings",
        note="Generated from params.yaml; the paper's value stands beside this scale's, in bold where it "
        "differs. Suites, games, openings and every other setting of the evaluation that differs: "
        "deviations.md.",
        source=Source.of(params),
        columns={
            "Setting": lambda row: row["item"],
            "Paper": lambda row: row["paper"],
            "Here": lambda row: row["ours"] if row["same"] else f"**{row['ours']}**",
        },
    )
