"""What rows of several tables share: rates of a suite, and names as they are printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from searchless_rl.cells import CellError, format_beta
from searchless_rl.reports.formats import MISSING
from searchless_rl.results.models import Measured
from searchless_rl.results.names import BASE, CONTROL, TAU_NAMES, TERM_NAMES, identity

RATE_KEYS = ("k", "n", "accuracy", "low", "high")

PROPOSED = '"proposed" marks the method that the paper marks "ours"'


def rates(model: Measured, suite: str, prefix: str = "") -> dict[str, Any]:
    """k, n, accuracy, low and high (fractions, 95 % Wilson) on a suite, empty where it was not measured."""
    return {f"{prefix}{key}": model.figure(suite, key) for key in RATE_KEYS}


def frame_of(rows: Sequence[dict[str, Any]], columns: list[str] | None = None) -> pd.DataFrame:
    """Rows as a frame whose counts stay integers beside missing ones."""
    frame = pd.DataFrame(rows, columns=columns)
    counts = [name for name in frame.columns if name.split("_")[-1] in ("k", "n", "seed")]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def term_name(row: pd.Series) -> str:
    """The exploration term as the paper prints it, the seed beside it where it is not the first."""
    others = {
        BASE: "Frozen base",
        CONTROL: "Puzzle-tuned control (supervised)",
        "forward_kl": f"{TERM_NAMES['forward_kl']} (proposed)",
    }
    name = others.get(row["term"]) or TERM_NAMES[row["term"]]
    seed = row.get("seed")
    return name if pd.isna(seed) or seed == 0 else f"{name}, seed {seed}"


def short_name(model: str) -> str:
    """``Forward-KL prior, adaptive, β = 0.01``: a model in one cell; other names stay."""
    row = pd.Series(identity(model)) if _is_model(model) else None
    if row is None or row["term"] == CONTROL:
        return "Puzzle-tuned control" if model == CONTROL else model
    parts = [TERM_NAMES.get(row["term"], "Frozen base"), tau_name(row), beta_name(row)]
    shown = [part for part in parts if part != MISSING]
    return ", ".join([*shown[:2], *(f"β = {beta}" for beta in shown[2:])])


def _is_model(name: str) -> bool:
    try:
        identity(name)
    except CellError:
        return False
    return True


def tau_name(row: pd.Series) -> str:
    """The sampling temperature as the paper prints it."""
    return TAU_NAMES.get(row["tau"], MISSING)


def beta_name(row: pd.Series) -> str:
    """Beta as a plain decimal; the base and the unregularized runs have none."""
    return MISSING if row["term"] in (BASE, CONTROL, "none") else format_beta(float(row["beta"]))


def sizes(frame: pd.DataFrame, suites: dict[str, str]) -> str:
    """``All 2000, ≥2400 600``: puzzles of each suite (column SUITE_n) under its printed name."""
    found = {name: frame[f"{suite}_n"].max() for suite, name in suites.items()}
    return ", ".join(f"{name}: {MISSING if pd.isna(n) else n}" for name, n in found.items())
