"""The stage `tables`; `claims.stage` adds what is said of the paper."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from searchless_rl import layout
from searchless_rl.files import write_atomically, write_json
from searchless_rl.params import Params
from searchless_rl.reports.calibration import calibration_table, write_calibration
from searchless_rl.reports.coverage import coverage_table, write_coverage_table
from searchless_rl.reports.curves import learning_curves
from searchless_rl.reports.formats import Source, csv_text, write_table
from searchless_rl.reports.listings import write_cells, write_paired, write_recovery
from searchless_rl.reports.measured import (
    headline_scores,
    recovered,
    selected_scores,
    shown_coverage,
    with_control,
)
from searchless_rl.reports.puzzle_ratings import puzzle_ratings, write_puzzle_ratings
from searchless_rl.reports.recovery import COLUMNS as RECOVERY_COLUMNS
from searchless_rl.reports.recovery import recovery_table
from searchless_rl.reports.strength import ladder, read_games, strength, write_ladder
from searchless_rl.reports.table1 import table1, write_table1
from searchless_rl.reports.table3 import table3, write_table3
from searchless_rl.reports.table4 import table4, write_table4
from searchless_rl.reports.table5 import read_shapes, table5, write_table5
from searchless_rl.reports.table6 import others_text, table6, write_table6
from searchless_rl.reports.tables import cells, headline, table2
from searchless_rl.results.models import Measured, read_control, read_models
from searchless_rl.results.names import BASE
from searchless_rl.results.selection import select_cells
from searchless_rl.statistics.paired import compare_models


def build_tables(params: Params, data: Path, out: Path) -> None:
    """Write every table (CSV, Markdown, LaTeX) and the plain files beside them into `out`.

    These are Tables 1 to 6, ladder, coverage, calibration, paired, recovery and puzzle_ratings; cells.csv
    (everything measured of a cell) with cells.md (what its columns mean); strength.csv, learning_curves.csv
    and metrics.json. What was not measured keeps its row, with dashes.
    """
    models, source = read_models(data, params), Source.of(params)
    rated = ladder(read_games(layout.arena("argmax", data)), BASE)
    scores, sampled = with_control(selected_scores(data), data), layout.arena("sampled", data)
    write_table1(table1(models, read_control(data), rated), out / "table1", params, layout.suites(data))
    write_ladder(rated, out / "ladder", source)
    _write_settings(params, models, out)
    write_table3(table3([models[0], *select_cells(models)]), out / "table3", source)
    write_table4(table4(headline_scores(data)), out / "table4", source, params.headline_beta)
    write_table5(table5(read_games(sampled), read_shapes(sampled)), out / "table5", source)
    write_table6(table6(models), out / "table6", source, others_text(models))
    write_coverage_table(coverage_table(shown_coverage(data)), out / "coverage", source)
    write_paired(compare_models(scores), out / "paired", source)
    write_recovery(_recovery(data), out / "recovery", source)
    write_puzzle_ratings(puzzle_ratings(scores), out / "puzzle_ratings", source)
    write_calibration(calibration_table(data), out / "calibration", source)
    write_cells(cells(models), out / "cells", source)
    curves = learning_curves(models, params.headline_beta)
    for name, frame in {"strength": strength(models, data, BASE), "learning_curves": curves}.items():
        write_atomically(out / f"{name}.csv", csv_text(frame))
    write_json(out / "metrics.json", headline(models))


def _recovery(data: Path) -> pd.DataFrame:
    frame = recovered(data)
    return (
        pd.DataFrame(columns=list(RECOVERY_COLUMNS))
        if frame.empty
        else recovery_table(frame, layout.paper(data))
    )


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
