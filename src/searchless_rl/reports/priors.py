"""Priors of different origins side by side: reports/pretrain/priors.*, and the card of this project's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.reports.formats import MISSING, Source, percent, write_table

ORIGINS = {
    "maia-1900": "people's moves",
    "meangirl-8": "alpha-beta searches",
    "visits": "visit counts of this project's tree search",
    "bt4": "visit counts of Lc0 (the paper's base, as published)",
}
_PUBLISHED = {"main": "all_gm", "hard": "ge2400_gm"}
"""Suite -> column of the paper's Table 4."""


def priors_table(measured: Mapping[str, Mapping[str, Any]], rated: pd.DataFrame, paper: Path) -> pd.DataFrame:
    """A row per prior.

    Args:
        measured: name -> what `pretrain.priors.measure_network` found.
        rated: `reports.strength.ladder` of their games.
        paper: folder of the paper's printed numbers.

    Returns:
        Columns network, origin; of the suites main and hard k, n, accuracy, low, high, geometric mean of the
        solution's probability with its 95 % interval; Brier scores of the value head; elo with its interval.
    """
    rows = []
    elo = rated.set_index("player") if len(rated) else None
    for name, found in measured.items():
        row: dict[str, Any] = {"network": name, "origin": ORIGINS.get(name, "")}
        for suite in ("main", "hard"):
            figures = found[suite]
            row |= {f"{suite}_{key}": figures[key] for key in ("k", "n", "accuracy", "low", "high")}
            row |= {
                f"{suite}_geometric_mean": figures["geometric_mean"],
                f"{suite}_geometric_low": figures["geometric_low"],
                f"{suite}_geometric_high": figures["geometric_high"],
            }
        row |= {f"value_{key}": value for key, value in found["value"].items()}
        if elo is not None and name in elo.index:
            row |= {key: elo.loc[name, key] for key in ("elo", "elo_low", "elo_high", "games")}
        rows.append(row)
    printed = pd.read_csv(paper / "table4.csv").set_index("term").loc["frozen_base"]
    published = {f"{suite}_geometric_mean": printed[column] for suite, column in _PUBLISHED.items()}
    rows.append({"network": "bt4", "origin": ORIGINS["bt4"], **published})
    return pd.DataFrame(rows)


def write_priors(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `priors_table` as CSV, Markdown and LaTeX."""

    def rate(suite: str) -> Any:
        return lambda row: percent(row[f"{suite}_accuracy"], row[f"{suite}_low"], row[f"{suite}_high"])

    def mass(suite: str) -> Any:
        def text(row: pd.Series) -> str:
            value, low = row[f"{suite}_geometric_mean"], row[f"{suite}_geometric_low"]
            if pd.isna(low):
                return f"{value:.3f}"
            return f"{value:.4f} [{low:.4f}, {row[f'{suite}_geometric_high']:.4f}]"

        return text

    def number(column: str) -> Any:
        return lambda row: MISSING if pd.isna(row[column]) else f"{row[column]:.3f}"

    def elo(row: pd.Series) -> str:
        if pd.isna(row["elo"]):
            return MISSING
        return f"{row['elo']:+.0f} [{row['elo_low']:+.0f}, {row['elo_high']:+.0f}]".replace("-", "−")

    write_table(
        frame,
        stem,
        title="priors by where they came from",
        note="Accuracy on this project's suites (percent, half-widths of 95 % Wilson intervals), geometric "
        "mean of the solution's probability with 95 % bootstrap intervals over puzzles, Brier score of the "
        "value head on its own sampled games as in the file and calibrated out of sample, and Elo of the "
        "most likely moves in a round-robin with 95 % intervals, against the first network. The last row is "
        "the paper's Table 4, on its own suites.",
        source=source,
        columns={
            "Prior": lambda row: row["network"],
            "Distilled from": lambda row: row["origin"],
            "Main": rate("main"),
            "≥ 2400": rate("hard"),
            "P(solution), main": mass("main"),
            "P(solution), ≥ 2400": mass("hard"),
            "Brier, file": number("value_brier_file"),
            "Brier, calibrated": number("value_brier_calibrated"),
            "Elo": elo,
        },
    )


def write_decidedness(frame: pd.DataFrame, stem: Path, source: Source, networks: Sequence[str]) -> None:
    """Write `pretrain.priors.by_decidedness` as CSV, Markdown and LaTeX."""

    def entropy(name: str) -> Any:
        return lambda row: f"{row[f'{name}_entropy']:.2f}"

    def tau(name: str) -> Any:
        return lambda row: f"{row[f'{name}_tau']:.2f}"

    write_table(
        frame,
        stem,
        title="entropy and temperature by how decided the search found a position",
        note="Positions of games kept for validation, by the absolute value of the search. Entropies in "
        "nats: of the search's visits and of the networks' policies over legal moves; τ is the entropy of a "
        "network's win/draw/loss forecast (Figure 3, appendix C).",
        source=source,
        columns={
            "|value|": lambda row: f"{row['low']:g} to {row['high']:g}",
            "Share": lambda row: f"{100 * row['share']:.0f} %",
            "H(visits)": lambda row: f"{row['visits']:.2f}",
            **{f"H, {name}": entropy(name) for name in networks},
            **{f"τ, {name}": tau(name) for name in networks},
        },
    )
