"""The stages `select`, `tables` and `figures`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.params import Params
from searchless_rl.reports.curves import learning_curves
from searchless_rl.reports.deviations import deviations
from searchless_rl.reports.formats import MISSING, percent, write_table
from searchless_rl.reports.models import Measured, headline_cells, read_models, select_cells
from searchless_rl.reports.tables import (
    beta_name,
    cells,
    headline,
    table1,
    table2,
    table6,
    tau_name,
    term_name,
)

_INTERVALS = (
    "Accuracies are percentages with half-widths of 95 % Wilson intervals; the CSV has k, n and both bounds."
)


def select_models(params: Params, data: Path) -> None:
    """Choose each arm's beta and copy weights to where later stages find them, whatever was chosen.

    Writes selected/ARM.pb.gz and selection.json, headline/ARM.pb.gz and headline.json into `data`. Of several
    seeds the first is copied.

    Raises:
        FileNotFoundError: the weights of a measured cell are missing.
        ValueError: an arm has no cell at the headline beta.
    """
    models = read_models(data, params)
    selected: dict[str, Measured] = {}
    for model in select_cells(models):
        assert model.cell is not None
        selected.setdefault(model.cell.arm, model)
    _copy_weights(selected, data, data / "selected", "selection.json")
    _copy_weights(headline_cells(models, params.headline_beta), data, data / "headline", "headline.json")


def _copy_weights(chosen: Mapping[str, Measured], data: Path, out: Path, manifest: str) -> None:
    entries = {}
    for arm, model in chosen.items():
        weights = data / "cells" / model.name / "weights.pb.gz"
        write_atomically(out / f"{arm}.pb.gz", weights.read_bytes())
        counts = {key: model.figure("selection", key) for key in ("k", "n")}
        entries[arm] = {"cell": model.name, **counts, "weights_sha256": sha256_of(weights)}
    write_json(out / manifest, entries)


def build_figures(params: Params, data: Path, out: Path) -> None:
    """Draw every figure (PDF, PNG and the CSV behind it) into `out`."""
    from searchless_rl.reports.figure5 import draw_figure5, figure5_data

    draw_figure5(figure5_data(read_models(data, params)), out / "figure5", params.scale)


def build_tables(params: Params, data: Path, out: Path) -> None:
    """Write table1, table2, table6 (CSV, Markdown, LaTeX) and the plain files beside them into `out`.

    These are cells.csv (everything measured), learning_curves.csv and metrics.json.

    A cell whose files are missing keeps its row, with dashes.
    """
    models = read_models(data, params)
    write_table(
        table1(models),
        out / "table1",
        title=f"Table 1 ({params.scale} scale): puzzle accuracy",
        note=f"Every arm at the beta selected in Table 6. {_INTERVALS}",
        columns={
            "Exploration term": term_name,
            "Self-play τ": tau_name,
            "β": beta_name,
            "Acc (%)": lambda row: percent(row["accuracy"], row["low"], row["high"]),
            "solved": lambda row: _counts(row, ""),
            "Acc ≥2400 (%)": lambda row: percent(row["hard_accuracy"], row["hard_low"], row["hard_high"]),
            "solved ≥2400": lambda row: _counts(row, "hard_"),
        },
    )
    write_table(
        table2(params, {model.precision for model in models if model.precision}),
        out / "table2",
        title=f"Table 2 ({params.scale} scale): training settings",
        note="Generated from params.yaml; the paper's value stands beside this scale's.",
        columns={
            "Setting": lambda row: row["item"],
            "Paper": lambda row: row["paper"],
            "Here": lambda row: row["ours"] if row["same"] else f"**{row['ours']}**",
        },
    )
    write_table(
        table6(models),
        out / "table6",
        title=f"Table 6 ({params.scale} scale): coefficient selection",
        note=f"Bold: the beta each arm carries into Table 1, of equals the smaller. {_INTERVALS}",
        columns={
            "Exploration term": term_name,
            "Self-play τ": tau_name,
            "β": beta_name,
            "Acc (%)": _selection_accuracy,
            "solved": lambda row: _counts(row, ""),
        },
    )
    write_table(
        deviations(params),
        out / "deviations",
        title=f"Deviations ({params.scale} scale)",
        note="`searchless preset authors_code` gives the keys of params.yaml the released code's values, "
        "`searchless preset paper` the paper's.",
        columns={
            "Item": lambda row: row["item"],
            "Paper": lambda row: row["paper"],
            "Released code": lambda row: row["released_code"],
            "Here": lambda row: row["ours"],
            "Note": lambda row: row["note"],
        },
    )
    write_atomically(out / "cells.csv", cells(models).to_csv(index=False, lineterminator="\n"))
    curves = learning_curves(models, params.headline_beta)
    write_atomically(out / "learning_curves.csv", curves.to_csv(index=False, lineterminator="\n"))
    write_json(out / "metrics.json", headline(models))


def _counts(row: pd.Series, prefix: str) -> str:
    return MISSING if pd.isna(row[f"{prefix}k"]) else f"{row[f'{prefix}k']} / {row[f'{prefix}n']}"


def _selection_accuracy(row: pd.Series) -> str:
    text = percent(row["accuracy"], row["low"], row["high"])
    return f"**{text}**" if row["selected"] and row["term"] != "none" else text
