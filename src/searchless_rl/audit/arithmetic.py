"""What follows from a row's own counts, computed anew: rates, intervals, match records, paired tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from searchless_rl.audit.tables import intervals
from searchless_rl.reports.formats import significant
from searchless_rl.results.names import HARD, MAIN, MATES, SELECTION
from searchless_rl.statistics.intervals import wilson
from searchless_rl.statistics.matches import likelihood_of_superiority
from searchless_rl.statistics.paired import Pair, holm, mcnemar_p, paired_interval

RATES = {
    "table1": {"": MAIN, "hard_": HARD},
    "table3": {f"{suite}_": suite for suite in MATES.values()},
    "table6": {"": SELECTION},
}
"""Tables whose rates stand in cells.csv too: prefix of the columns -> suite."""

_LAST_WORDS = ("accuracy", "value")
"""Of the columns of rates; a rating too has k, n and an interval, which is not Wilson's."""


class Checked(NamedTuple):
    """A number that was computed anew.

    Attributes:
        row: which row of the table it stands in.
        column: which column.
        written: as the file has it.
        found: as it should be.
    """

    row: str
    column: str
    written: float
    found: float

    @property
    def holds(self) -> bool:
        """Whether both agree to the digits that are written; the last one may be rounded otherwise."""
        if math.isnan(self.written) or math.isnan(self.found):
            return math.isnan(self.written) and math.isnan(self.found)
        return math.isclose(significant(self.found), self.written, rel_tol=2e-8, abs_tol=1e-14)


def check_rates(frame: pd.DataFrame) -> Iterator[Checked]:
    """Every rate with k, n and an interval: k / n and Wilson's bounds (paper section 3.1)."""
    for value, low, high in intervals(list(frame.columns)):
        prefix = low.removesuffix("low")
        k, n = f"{prefix}k", f"{prefix}n"
        if k not in frame or n not in frame or value.split("_")[-1] not in _LAST_WORDS:
            continue
        for _, row in frame[frame[k].notna()].iterrows():
            bounds = wilson(int(row[k]), int(row[n]))
            rate = int(row[k]) / int(row[n]) if row[n] else math.nan
            for column, found in ((value, rate), (low, bounds[0]), (high, bounds[1])):
                yield Checked(_name(row), column, _number(row[column]), found)


def check_records(frame: pd.DataFrame) -> Iterator[Checked]:
    """Every match record: points a game, and the likelihood of superiority (paper Table 1)."""
    if not {"wins", "draws", "losses", "score", "los"} <= set(frame):
        return
    for _, row in frame[frame["wins"].notna()].iterrows():
        wins, draws, losses = (int(row[key]) for key in ("wins", "draws", "losses"))
        games = wins + draws + losses
        score = (wins + draws / 2) / games if games else math.nan
        yield Checked(_name(row), "score", _number(row["score"]), score)
        yield Checked(_name(row), "los", _number(row["los"]), likelihood_of_superiority(wins, losses))


def check_pairs(frame: pd.DataFrame) -> Iterator[Checked]:
    """Every pair of paired.csv: difference, Newcombe's interval, McNemar's test and Holm's correction."""
    if not {"only_a", "only_b", "p_holm"} <= set(frame):
        return
    for _, suite in frame.groupby("suite", sort=False):
        counts = suite[list(Pair._fields)].astype(int).to_numpy().tolist()
        pairs = [Pair(*row) for row in counts]
        corrected = holm([mcnemar_p(pair) for pair in pairs])
        for (_, row), pair, p_holm in zip(suite.iterrows(), pairs, corrected, strict=True):
            low, high = paired_interval(pair)
            found = {"n": pair.n, "difference": pair.difference, "low": low, "high": high}
            found |= {"p": mcnemar_p(pair), "p_holm": p_holm}
            for column, value in found.items():
                yield Checked(_name(row), column, _number(row[column]), value)


def check_cells(name: str, frame: pd.DataFrame, cells: pd.DataFrame) -> Iterator[Checked]:
    """The rates of a table (a key of `RATES`) against those of cells.csv."""
    known = cells.set_index("model")
    for prefix, suite in RATES[name].items():
        for _, row in frame[frame["model"].isin(known.index)].iterrows():
            for key in ("k", "n"):
                other = known.at[row["model"], f"{suite}_{key}"]
                yield Checked(_name(row), f"{prefix}{key}", _number(row[f"{prefix}{key}"]), _number(other))


def check_tables(frames: Mapping[str, pd.DataFrame]) -> dict[str, list[Checked]]:
    """Everything of these tables that can be computed anew, by the table's name."""
    found = {}
    for name, frame in frames.items():
        checked = [*check_rates(frame), *check_records(frame), *check_pairs(frame)]
        if name in RATES and "cells" in frames:
            checked += check_cells(name, frame, frames["cells"])
        found[name] = checked
    return found


def _name(row: pd.Series) -> str:
    keys = [key for key in ("suite", "model", "player", "statistic", "a", "b", "arena") if key in row]
    return " ".join(str(row[key]) for key in keys if not pd.isna(row[key])) or f"row {row.name}"


def _number(value: object) -> float:
    return math.nan if pd.isna(value) else float(value)  # type: ignore[arg-type, call-overload]
