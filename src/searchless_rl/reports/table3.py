"""Table 3: accuracy by mate depth."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from searchless_rl.reports.formats import percent, write_table
from searchless_rl.reports.tables import beta_name, tau_name, term_name
from searchless_rl.results.names import MATES, identity
from searchless_rl.results.scores import Scores
from searchless_rl.statistics.intervals import wilson


def table3(scores: Scores) -> pd.DataFrame:
    """Accuracy on the mate suites, a row per model in the order given.

    Args:
        scores: of the base and the models of Table 1, with the suites of `scores.MATES`.

    Returns:
        Columns model, term, tau, beta, seed, then k, n, accuracy, low, high (fractions, 95 % Wilson) of each
        depth, prefixed mate1_ to mate5_; empty where a model was not measured.
    """
    rows = []
    for model, suites in scores.items():
        row = identity(model)
        for suite in MATES.values():
            row |= {f"{suite}_{key}": value for key, value in _rates(suites.get(suite)).items()}
        rows.append(row)
    columns = [*identity("base"), *(f"{suite}_{key}" for suite in MATES.values() for key in _rates(None))]
    frame = pd.DataFrame(rows, columns=columns)
    counts = [name for name in columns if name.split("_")[-1] in ("k", "n", "seed")]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def _rates(puzzles: pd.DataFrame | None) -> dict[str, float | int | None]:
    if puzzles is None or puzzles.empty:
        return dict.fromkeys(("k", "n", "accuracy", "low", "high"))
    k, n = int(puzzles["solved"].sum()), len(puzzles)
    low, high = wilson(k, n)
    return {"k": k, "n": n, "accuracy": k / n, "low": low, "high": high}


def write_table3(frame: pd.DataFrame, stem: Path, scale: str) -> None:
    """Write `table3`'s frame as CSV, Markdown and LaTeX."""
    write_table(
        frame,
        stem,
        title=f"Table 3 ({scale} scale): accuracy by forced-mate depth",
        note="Mate-in-N accuracy in percent with half-widths of 95 % Wilson intervals; the CSV has k, n and "
        "both bounds. A puzzle is solved when the most likely move at every position is the marked one or "
        "an optimal mate. Models as in Table 1.",
        columns={
            "Exploration term": term_name,
            "Self-play τ": tau_name,
            "β": beta_name,
            **{_header(frame, depth, suite): _accuracy(suite) for depth, suite in MATES.items()},
        },
    )


def _header(frame: pd.DataFrame, depth: int, suite: str) -> str:
    n = frame[f"{suite}_n"].max()
    return f"N = {depth}" if pd.isna(n) else f"N = {depth} (n = {n})"


def _accuracy(suite: str) -> Callable[[pd.Series], str]:
    return lambda row: percent(row[f"{suite}_accuracy"], row[f"{suite}_low"], row[f"{suite}_high"])
