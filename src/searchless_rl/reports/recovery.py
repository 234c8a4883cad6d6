"""Every statistic of paper section 3.5, with the paper's value where it prints one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from searchless_rl.cells import Cell
from searchless_rl.evaluation.recovery import (
    exclusive,
    given_back,
    newly_solved,
    position_changes,
    puzzle_changes,
    tuned_models,
)
from searchless_rl.results.names import BASE
from searchless_rl.statistics.combination import Interval
from searchless_rl.statistics.intervals import wilson
from searchless_rl.statistics.location import mean_interval, median_interval

COLUMNS = ("statistic", "model", "value", "k", "n", "low", "high", "paper")
ALL = "all models"


class Bin(NamedTuple):
    """Values from `low` to below `high`, and how they are written."""

    label: str
    low: float
    high: float

    def holds(self, values: pd.Series) -> pd.Series:
        """Whether a value lies inside, bool per value."""
        return (values >= self.low) & (values < self.high)


PROBABILITY_BINS = (
    *(Bin("<0.05", 0.0, 0.05), Bin("0.05–0.15", 0.05, 0.15)),
    *(Bin("0.15–0.3", 0.15, 0.3), Bin("≥0.3", 0.3, np.inf)),
)
"""π_base of the winning set."""
RANK_BINS = (Bin("2", 2, 3), Bin("3", 3, 4), Bin("4–5", 4, 6), Bin("≥6", 6, np.inf))
"""The base's rank of the winning move; rank 1 is never wrong."""
LEAD_BINS = (
    Bin("<0.1", -np.inf, 0.1),  # from just below 0, where moves tie
    *(Bin(f"{tenth / 10:g}–{(tenth + 1) / 10:g}", tenth / 10, (tenth + 1) / 10) for tenth in range(1, 6)),
    Bin("≥0.6", 0.6, np.inf),
)
"""The base's top move over its runner-up, as probabilities."""

_PRINTED = "section35.csv"
"""Of the paper's tables: what its section 3.5 prints."""


def recovery_table(frame: pd.DataFrame, paper: Path) -> pd.DataFrame:
    """The statistics of section 3.5 of a side-by-side frame (`evaluation.recovery`).

    "Solution" is π_base of the winning set, "lead" the base's top move over its runner-up, "lead over the
    solution" over the most likely winning move, "mass moved" the tuned model's π of the winning set less the
    base's, "win minus loss" the value head's. Gates count wrong positions; the decisive gates count failed
    puzzles by their decisive position.

    Args:
        frame: see there.
        paper: folder of the paper's printed numbers (data/paper).

    Returns:
        Columns statistic, model ("base", a cell id or "all models"), value, k and n (of shares; else n is how
        many items the value is of), low, high (95 %: Wilson's of shares, Student's of means, of order
        statistics for medians, positions taken as independent; none of counts), paper (as printed, of its two
        anchors, both with the adaptive temperature; empty where it prints none).
    """
    models = tuned_models(frame)
    puzzles = puzzle_changes(frame, models)
    rows = _base_rows(frame, puzzles)
    for model in models:
        rows += _position_rows(position_changes(frame, model), model)
        rows += _puzzle_rows(puzzles, model, models)
    if len(models) > 1:
        by_all = np.logical_and.reduce([newly_solved(puzzles, model) for model in models])
        rows.append(_count("puzzles newly solved by all", ALL, by_all, len(puzzles)))
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype({"k": "Int64", "n": "Int64"})
    printed = _read_printed(paper)
    table["paper"] = [printed.get((row["statistic"], _printed_model(row["model"])), "") for row in rows]
    return table


def _read_printed(paper: Path) -> dict[tuple[str, str], str]:
    """(statistic, model) -> text as printed; models are "base", "all models" or an anchor's term."""
    frame = pd.read_csv(paper / _PRINTED, dtype=str)
    return {(row["statistic"], row["model"]): row["paper"] for row in frame.to_dict("records")}


def _printed_model(model: str) -> str:
    """The paper's name of a model, empty where it has none; its two anchors are the adaptive ones."""
    if model in (BASE, ALL):
        return model
    cell = Cell.parse(model)
    return cell.term if cell.tau == "adaptive" else ""


def _base_rows(frame: pd.DataFrame, puzzles: pd.DataFrame) -> list[dict[str, Any]]:
    is_wrong = ~frame[f"right {BASE}"]
    wrong = frame[is_wrong]
    is_solved = puzzles[f"solved {BASE}"]
    rows = [
        _row("puzzles", BASE, len(puzzles), len(puzzles)),
        _row("solver positions", BASE, len(frame), len(frame)),
        _share("puzzles solved", BASE, is_solved),
        _count("positions played wrong", BASE, is_wrong, len(frame)),
    ]
    for part in PROBABILITY_BINS:
        inside = part.holds(wrong[f"solution {BASE}"])
        rows.append(_count(f"wrong positions, solution at {part.label}", BASE, inside, len(wrong)))
    for part in RANK_BINS:
        inside = part.holds(wrong[f"rank {BASE}"])
        rows.append(_count(f"wrong positions, solution at rank {part.label}", BASE, inside, len(wrong)))
    rows.append(_share("share of wrong positions, solution at rank 2", BASE, wrong[f"rank {BASE}"] == 2))
    for part in LEAD_BINS:
        inside = part.holds(frame[f"lead {BASE}"])
        rows.append(_count(f"positions with a lead of {part.label}", BASE, inside, len(frame)))
    rows.append(_mean("mean rating of puzzles solved", BASE, puzzles.loc[is_solved, "rating"]))
    rows.append(_mean("mean rating of puzzles failed", BASE, puzzles.loc[~is_solved, "rating"]))
    return rows


def _position_rows(changes: pd.DataFrame, model: str) -> list[dict[str, Any]]:
    wrong = changes[changes["wrong"]]
    recovered, stuck = wrong[wrong["recovered"]], wrong[~wrong["recovered"]]
    lost = changes[changes["given_back"]]
    rows = [
        _count("positions recovered", model, wrong["recovered"], len(wrong)),
        _count("positions given back", model, changes["given_back"], len(changes) - len(wrong)),
    ]
    for name, column, bins in (("", "solution", PROBABILITY_BINS), ("rank ", "rank", RANK_BINS)):
        for part in bins:
            inside = wrong.loc[part.holds(wrong[column]), "recovered"]
            rows.append(_share(f"recovered, solution at {name}{part.label}", model, inside))
    deepest = float(recovered["rank"].max()) if len(recovered) else np.nan
    rows.append(_row("deepest rank recovered", model, deepest, len(recovered)))
    for group, of in (("recovered", recovered), ("not recovered", stuck)):
        geometric = Interval(*np.exp(mean_interval(np.log(of["solution"]))))
        rows += [
            _sampled(f"geometric mean of the solution, {group}", model, geometric, len(of)),
            _median(f"median lead over the solution, {group}", model, of["behind"]),
            _median(f"median win minus loss of the base, {group}", model, of["score"]),
            _median(f"median win minus loss, {group}", model, of["tuned_score"]),
        ]
    rows += [
        _mean("mean mass moved, recovered", model, recovered["moved"]),
        _median("median mass moved, recovered", model, recovered["moved"]),
        _median("median mass moved, given back", model, lost["moved"]),
        _share("given back, solution still at rank 2", model, lost["tuned_rank"] == 2),
    ]
    right = changes[~changes["wrong"]]
    for part in LEAD_BINS:
        inside = right.loc[part.holds(right["lead"]), "given_back"]
        rows.append(_share(f"given back, lead of {part.label}", model, inside))
    return rows


def _puzzle_rows(puzzles: pd.DataFrame, model: str, models: Sequence[str]) -> list[dict[str, Any]]:
    gained, lost = newly_solved(puzzles, model), given_back(puzzles, model)
    failed = puzzles[~puzzles[f"solved {BASE}"]]
    rows = [
        _count("puzzles newly solved", model, gained, len(failed)),
        _count("puzzles given back", model, lost, len(puzzles) - len(failed)),
        _mean("mean rating of puzzles newly solved", model, puzzles.loc[gained, "rating"]),
        _mean("mean rating of puzzles given back", model, puzzles.loc[lost, "rating"]),
    ]
    for part in PROBABILITY_BINS:
        inside = failed.loc[part.holds(failed["solution"]), f"solved {model}"]
        rows.append(_share(f"newly solved, solution at {part.label} (decisive)", model, inside))
    if len(models) > 1:
        alone = exclusive(puzzles, model, models)
        rows += [
            _count("puzzles newly solved by it alone", model, alone, len(failed)),
            _median("median solution of puzzles it alone solves", model, puzzles.loc[alone, "solution"]),
            _mean("mean rating of puzzles it alone solves", model, puzzles.loc[alone, "rating"]),
        ]
    return rows


def _row(statistic: str, model: str, value: float, n: int) -> dict[str, Any]:
    return {"statistic": statistic, "model": model, "value": value, "n": n}


def _count(statistic: str, model: str, inside: pd.Series | np.ndarray, n: int) -> dict[str, Any]:
    return _row(statistic, model, int(inside.sum()), n)


def _mean(statistic: str, model: str, values: pd.Series) -> dict[str, Any]:
    return _sampled(statistic, model, mean_interval(values.to_numpy()), len(values))


def _median(statistic: str, model: str, values: pd.Series) -> dict[str, Any]:
    return _sampled(statistic, model, median_interval(values.to_numpy()), len(values))


def _sampled(statistic: str, model: str, found: Interval, n: int) -> dict[str, Any]:
    return _row(statistic, model, found.value, n) | {"low": found.low, "high": found.high}


def _share(statistic: str, model: str, inside: pd.Series) -> dict[str, Any]:
    k, n = int(inside.sum()), len(inside)
    low, high = wilson(k, n)
    return _row(statistic, model, k / n if n else np.nan, n) | {"k": k, "low": low, "high": high}
