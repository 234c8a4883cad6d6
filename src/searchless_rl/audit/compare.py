"""Two report folders side by side, number by number: equal, inside the interval, or outside of it.

For a reviewer whose machine is another one than that of the recorded run: there, rounding differs in the last
digits, training drifts apart, and what has to agree is what the intervals allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import pandas as pd

from searchless_rl.audit.tables import ReportError, intervals, texts_of

Verdict = Literal["equal", "inside", "outside", "differs", "missing"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""inside: each value lies in the other's 95 % interval, or in the one interval there is. differs: unequal,
and neither has an interval. missing: a file, row or column of one side alone."""
KEYS = (
    *("model", "player", "opponent", "term", "tau", "beta", "seed", "variant", "arena", "pool", "statistic"),
    *("suite", "a", "b", "policy", "position", "panel", "bin", "forecast", "id", "table", "quantity", "item"),
    *("step", "sampling", "group", "key", "network", "source", "label", "puzzle_id", "fen", "move", "draws"),
)
"""Columns that say which row a row is, in any file that has them."""
UNCOMPARED = ("sweep.csv",)
"""Trials outside the pipeline."""


class Number(NamedTuple):
    """One entry on both sides.

    Attributes:
        file: its table.
        row: the row's keys, joined; empty for a whole file.
        column: its name; empty for a whole row or file.
        ours, theirs: as written, empty where it is missing.
        verdict: of `VERDICTS`.
    """

    file: str
    row: str
    column: str
    ours: str
    theirs: str
    verdict: Verdict


def compare(ours: Path, theirs: Path) -> pd.DataFrame:
    """Every entry of every CSV of two folders.

    Args:
        ours: a folder of reports or figures.
        theirs: another one, for example of the recorded run.

    Returns:
        Columns of `Number`, in the order of `ours`.

    Raises:
        ReportError: a folder without tables, or a file that is no table.
    """
    names = {folder: [path.name for path in sorted(folder.glob("*.csv"))] for folder in (ours, theirs)}
    for folder, found in names.items():
        if not found:
            raise ReportError(f"{folder}: no CSV in this folder; name a folder such as reports/mini")
    rows: list[Number] = []
    for name in dict.fromkeys([*names[ours], *names[theirs]]):
        if name in UNCOMPARED:
            continue
        if name in names[ours] and name in names[theirs]:
            rows += _entries(name, texts_of(ours / name), texts_of(theirs / name))
        else:
            here = name in names[ours]
            rows.append(Number(name, "", "", "present" if here else "", "" if here else "present", "missing"))
    return pd.DataFrame(rows, columns=list(Number._fields))


def _entries(name: str, ours: pd.DataFrame, theirs: pd.DataFrame) -> Iterator[Number]:
    columns = list(dict.fromkeys([*ours.columns, *theirs.columns]))
    for column in [column for column in columns if (column in ours) != (column in theirs)]:
        here = column in ours
        yield Number(name, "", column, "present" if here else "", "" if here else "present", "missing")
    shared = [column for column in columns if column in ours and column in theirs]
    keys = [column for column in KEYS if column in shared]
    bounds: dict[str, tuple[str, str]] = {value: (low, high) for value, low, high in intervals(shared)}
    left, right = _by_key(ours, keys), _by_key(theirs, keys)
    for row in dict.fromkeys([*left, *right]):
        if row not in left or row not in right:
            here = row in left
            yield Number(name, row, "", "present" if here else "", "" if here else "present", "missing")
            continue
        for column in shared:
            if column not in keys:
                yield _judge(name, row, column, left[row], right[row], bounds.get(column))


def _by_key(frame: pd.DataFrame, keys: Sequence[str]) -> dict[str, pd.Series]:
    """Rows by their keys' texts; equal ones are numbered in the order they stand in."""
    found: dict[str, pd.Series] = {}
    for _, row in frame.iterrows():
        name = " ".join(row[key] for key in keys if row[key])
        number = 1
        while (numbered := name if number == 1 else f"{name} #{number}") in found:
            number += 1
        found[numbered] = row
    return found


def _judge(
    file: str, row: str, column: str, ours: pd.Series, theirs: pd.Series, bounds: tuple[str, str] | None
) -> Number:
    here, there = str(ours[column]), str(theirs[column])
    verdict: Verdict = "equal" if here == there else "differs"
    if verdict == "differs" and bounds and _is_number(here) and _is_number(there):
        inside = [_within(float(value), side, bounds) for value, side in ((here, theirs), (there, ours))]
        known = [answer for answer in inside if answer is not None]
        if known:
            verdict = "inside" if all(known) else "outside"
    return Number(file, row, column, here, there, verdict)


def _within(value: float, side: pd.Series, bounds: tuple[str, str]) -> bool | None:
    """Whether the interval of a side holds a value; None if it has none."""
    low, high = str(side[bounds[0]]), str(side[bounds[1]])
    if not (_is_number(low) and _is_number(high)):
        return None
    return float(low) <= value <= float(high)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def summary(numbers: pd.DataFrame) -> pd.DataFrame:
    """How many entries of each file have each verdict; a row a file, the last of all."""
    counts = pd.crosstab(numbers["file"], numbers["verdict"])
    counts = counts.reindex(columns=list(VERDICTS), fill_value=0)
    counts = counts.reindex(numbers["file"].unique())
    counts.loc["all"] = counts.sum()
    return counts.astype(int).rename_axis(index="file", columns=None).reset_index()


def agrees(numbers: pd.DataFrame) -> bool:
    """Whether nothing is missing and every number with an interval is equal or inside of it."""
    return not numbers["verdict"].isin(["outside", "missing"]).any()
