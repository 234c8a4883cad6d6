"""Trajectory coverage of several networks as frames: curves for Figures 7 and 10, and one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl import layout
from searchless_rl.cells import Tau, Term
from searchless_rl.evaluation.tabiyas import START
from searchless_rl.reports.formats import MISSING, Source, write_table
from searchless_rl.results.document import Document
from searchless_rl.results.names import POLICIES, POLICY_OF_TAU, SHARE, TERM_NAMES, Policy

POLICY_NAMES: dict[Policy, str] = {"raw": "raw π", "adaptive": "tempered μ"}
POSITION_NAMES = {
    START: "Start position",
    "ruy_lopez_closed": "Ruy Lopez, Closed",
    "najdorf_english_attack": "Najdorf, English Attack",
    "qgd_tartakower": "QGD, Tartakower",
}

CURVE_COLUMNS = {
    "model": "object",
    "term": "object",
    "policy": "object",
    "position": "object",
    "plies": "int64",
    "draws": "int64",
    "coverage": "float64",
    "upper": "float64",
    "draws_95_low": "Int64",
    "draws_95_high": "Int64",
}
TABLE_COLUMNS = {
    **{name: CURVE_COLUMNS[name] for name in ("model", "term", "policy", "position", "plies")},
    "draws_95_low": "Int64",
    "draws_95_high": "Int64",
    "lines_95_low": "Int64",
    "lines_95_high": "Int64",
    "cut_mass": "float64",
    "evaluations": "int64",
    "entropy": "float64",
    "heaviest": "float64",
}


@dataclass(frozen=True)
class Shown:
    """A measured network in a figure or table.

    Attributes:
        folder: what the stage `coverage` wrote; the network is left out where it is missing.
        policy: which of the policies measured there.
        term: exploration term of its arm; None for the base.
    """

    folder: Path
    policy: Policy
    term: Term | None


def shown_arms(base: Path, arms: Mapping[tuple[Term, Tau], Path]) -> dict[str, Shown]:
    """The configurations of paper Figure 10: the base raw and tempered, each arm through its own policy.

    Args:
        base: folder of the base.
        arms: (term, temperature) -> folder.

    Returns:
        Label -> what to show; the label of an arm is TERM-TAU.
    """
    shown = {f"base-{policy}": Shown(base, policy, None) for policy in POLICIES}
    return shown | {
        f"{term}-{tau}": Shown(folder, POLICY_OF_TAU[tau], term) for (term, tau), folder in arms.items()
    }


def coverage_curves(shown: Mapping[str, Shown], wanted: Callable[[str], bool]) -> pd.DataFrame:
    """Coverage against draws at the positions that are `wanted`, one row per point of a curve.

    Columns: model (the label), term ("base" for the base), policy, position, plies, draws, coverage, upper
    (fractions; the coverage lies between the two), draws_95_low, draws_95_high (of the whole curve; the
    latter missing where the cut mass leaves it open).

    Raises:
        ValueError: a damaged file, a policy that was not measured, or lines of different lengths (the
            folder named).
    """
    frames = []
    for label, entry in shown.items():
        summary = _read_summary(entry)
        if summary is None:
            continue
        curves = pd.read_csv(entry.folder / "curves.csv")
        for position, figures in summary["positions"].items():
            if wanted(position):
                curve = curves[(curves["position"] == position) & (curves["policy"] == entry.policy)]
                constants = _identity(label, entry, position, summary) | _bounds(figures)
                frames.append(curve.assign(**constants)[list(CURVE_COLUMNS)].astype(CURVE_COLUMNS))
    if not frames:
        return pd.DataFrame(columns=list(CURVE_COLUMNS)).astype(CURVE_COLUMNS)
    frame: pd.DataFrame = pd.concat(frames, ignore_index=True)
    if frame["plies"].nunique() > 1:
        lengths = frame.groupby("model", sort=False)["plies"].first().to_dict()
        raise ValueError(f"lines of different lengths: {lengths}; run the stage coverage again for all")
    return frame


def coverage_table(shown: Mapping[str, Shown]) -> pd.DataFrame:
    """One row per network, policy and position.

    Columns: model (the label), term, policy, position, plies, draws_95_low, draws_95_high, lines_95_low,
    lines_95_high (bounds; equal where nothing relevant was cut, the upper one missing where the cut mass
    leaves it open), cut_mass (fraction), evaluations, entropy (nats), heaviest (mass of one line).

    Raises:
        ValueError: as `coverage_curves`.
    """
    rows = []
    for label, entry in shown.items():
        summary = _read_summary(entry)
        for position, figures in ({} if summary is None else summary["positions"]).items():
            rows.append(_identity(label, entry, position, summary) | _bounds(figures) | figures)
    return pd.DataFrame(rows, columns=list(TABLE_COLUMNS)).astype(TABLE_COLUMNS)


def _read_summary(entry: Shown) -> dict[str, Any] | None:
    """summary.json with each position's figures of the policy shown; None where it is missing."""
    path = entry.folder / layout.SUMMARY
    if not path.exists():
        return None
    summary = Document(path)
    positions = {name: policies.get(entry.policy) for name, policies in summary.mappings("positions").items()}
    if None in positions.values():
        summary.refuse(f"policy {entry.policy} was not measured; run the stage coverage with it")
    return {"plies": summary.whole("plies"), "positions": positions}


def _identity(label: str, entry: Shown, position: str, summary: Mapping[str, Any] | None) -> dict[str, Any]:
    assert summary is not None
    identity = {"model": label, "term": entry.term or "base", "policy": entry.policy, "position": position}
    return identity | {"plies": summary["plies"]}


def _bounds(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"{name}_{end}": figures[name][end] for name in ("draws_95", "lines_95") for end in ("low", "high")
    }


def write_coverage_table(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `coverage_table` as CSV, Markdown and LaTeX."""
    write_table(
        frame,
        stem,
        title="trajectory coverage",
        source=source,
        note=(
            f"Draws: the least number of sampled lines whose expected distinct mass is {SHARE:.0%}. Lines: "
            f"the least number that holds {SHARE:.0%}. Both lie between the bounds that the cut mass leaves; "
            "one number where the bounds agree. Entropy of the line distribution in nats, at least."
        ),
        columns={
            "Exploration term": lambda row: TERM_NAMES.get(row["term"], "Frozen base"),
            "Policy": lambda row: POLICY_NAMES[row["policy"]],
            "Position": lambda row: POSITION_NAMES.get(row["position"], row["position"]),
            "Draws": lambda row: _range(row["draws_95_low"], row["draws_95_high"]),
            "Lines": lambda row: _range(row["lines_95_low"], row["lines_95_high"]),
            "Heaviest line (%)": lambda row: _percent(row["heaviest"]),
            "Entropy": lambda row: f"{row['entropy']:.2f}",
            "Cut (%)": lambda row: _percent(row["cut_mass"]),
        },
    )


def _range(low: int, high: int) -> str:
    if pd.isna(high):
        return f"≥ {low:,}"
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _percent(rate: float) -> str:
    return MISSING if pd.isna(rate) else f"{100 * rate:.2f}"
