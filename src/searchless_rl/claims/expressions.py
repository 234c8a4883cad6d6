"""What a claim is about: numbers of the report files, and statistics of them.

An expression reads frames by name ("table1": reports/SCALE/table1.csv; see `frames`) and gives an
`Estimate`. The same expression reads this run's frames and the paper's printed numbers. Its text is what the
claims table prints as the statistic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from searchless_rl.cells import format_beta
from searchless_rl.claims import estimates
from searchless_rl.claims.estimates import Estimate, UnmeasuredError
from searchless_rl.statistics.combination import rank_correlation
from searchless_rl.statistics.intervals import wilson

Where = tuple[tuple[str, Any], ...]


class Row(NamedTuple):
    """A line of a report file.

    Attributes:
        line: its number, from 1; the header is line 1. 0: of no file of a run, but printed in the paper.
        values: column -> value; what is empty in the file is left out.
    """

    line: int
    values: Mapping[str, Any]


Frames = Mapping[str, Sequence[Row]]
"""Name of a report file -> its rows."""

UNTRAINED = ("base", "control")
"""Terms of models that no training seed changes."""
_SAMPLED_PLAIN = ("accuracy", "value", "gain", "error", "difference")
_PER_SEED = {
    **{("table1", "accuracy"): ("cells", "main_accuracy"), ("table1", "elo"): ("strength", "elo")},
    **{("table1", "hard_accuracy"): ("cells", "hard_accuracy"), ("table1", "score"): ("strength", "score")},
    ("table6", "accuracy"): ("cells", "selection_accuracy"),
}
"""Where a number of a table stands for every seed."""
_MEANS = {"geometric": "geometric_mean", "arithmetic": "arithmetic_mean"}


class Expression(Protocol):
    """A statistic that can be evaluated; its text names it."""

    def of(self, frames: Frames) -> Estimate:
        """The number.

        Raises:
            UnmeasuredError: a file, a row or a value is missing.
        """


@dataclass(frozen=True)
class Number:
    """One number of a report file.

    Attributes:
        frame: name of the file.
        column: of the number; its bounds stand in the columns beside it.
        where: column and value pairs that name the row; of several the first counts.
        is_mean: whether it is a mean or median of a sample, which says nothing without an interval; that over
            seeds will do.
    """

    frame: str
    column: str
    where: Where
    is_mean: bool = False

    def __str__(self) -> str:
        row = " ".join(_spelled(name, value) for name, value in self.where)
        return f"{self.column.replace('_', ' ')} [{row}]"

    def of(self, frames: Frames) -> Estimate:
        """The number with its bounds, and its values by seed."""
        row = find_row(frames, self.frame, self.where)
        found = _estimate(frames, self.frame, self.column, row)
        if self.is_mean and not found.sampled and len(found.seeds) < 2 and row.line:
            raise UnmeasuredError(f"{self.frame}.csv, line {row.line}: {self.column} has no interval")
        return found


@dataclass(frozen=True)
class Rows:
    """The numbers of every row whose `x` lies in a range, ends included.

    Attributes:
        number: of one row, without its `x`.
        x: column that orders the rows.
        low: of the range.
        high: of the range.
    """

    number: Number
    x: str
    low: float
    high: float = math.inf

    def __str__(self) -> str:
        return f"{self.number} at {self.x} {self.low:g} to {self.high:g}"

    def parts(self, frames: Frames) -> list[Estimate]:
        """The estimates, in the order of the file."""
        frame, column = self.number.frame, self.number.column
        inside: dict[float, Row] = {}
        for row in find_rows(frames, frame, self.number.where):
            if column in row.values and self.low <= row.values[self.x] <= self.high:
                inside.setdefault(row.values[self.x], row)  # of several seeds the first
        return [_estimate(frames, frame, column, row) for row in inside.values()]


@dataclass(frozen=True)
class Constant:
    """A number that is known without a run."""

    value: float
    text: str

    def __str__(self) -> str:
        return self.text

    def of(self, frames: Frames) -> Estimate:
        """The number."""
        return estimates.constant(self.value)


@dataclass(frozen=True)
class Computed:
    """A number that follows without a run, computed when it is asked for."""

    compute: Callable[[], float]
    text: str

    def __str__(self) -> str:
        return self.text

    def of(self, frames: Frames) -> Estimate:
        """The number."""
        return estimates.constant(self.compute())


@dataclass(frozen=True)
class Difference:
    """a − b."""

    a: Expression
    b: Expression

    def __str__(self) -> str:
        return f"{inner(self.a)} − {inner(self.b)}"

    def of(self, frames: Frames) -> Estimate:
        """The difference, as of independent numbers."""
        return estimates.difference(self.a.of(frames), self.b.of(frames))


@dataclass(frozen=True)
class Ratio:
    """a / b."""

    a: Expression
    b: Expression

    def __str__(self) -> str:
        return f"{inner(self.a)} / {inner(self.b)}"

    def of(self, frames: Frames) -> Estimate:
        """The ratio, as of independent numbers."""
        return estimates.ratio(self.a.of(frames), self.b.of(frames))


@dataclass(frozen=True)
class Mean:
    """The mean of several numbers."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"mean of {', '.join(map(str, self.parts))}"

    def of(self, frames: Frames) -> Estimate:
        """The mean, as of independent numbers."""
        return estimates.mean([part.of(frames) for part in self.parts])


@dataclass(frozen=True)
class Largest:
    """The largest of several numbers, by value."""

    parts: tuple[Expression, ...] | Rows

    def __str__(self) -> str:
        return f"largest of {_listed(self.parts)}"

    def of(self, frames: Frames) -> Estimate:
        """The number that is largest, with its own interval."""
        return estimates.extreme(_all(self.parts, frames), max)


@dataclass(frozen=True)
class Smallest:
    """The smallest of several numbers, by value."""

    parts: tuple[Expression, ...] | Rows

    def __str__(self) -> str:
        return f"smallest of {_listed(self.parts)}"

    def of(self, frames: Frames) -> Estimate:
        """The number that is smallest, with its own interval."""
        return estimates.extreme(_all(self.parts, frames), min)


@dataclass(frozen=True)
class Share:
    """k / (k + m) of two counts, with Wilson's interval."""

    k: Expression
    m: Expression

    def __str__(self) -> str:
        return f"share of {self.k} against {self.m}"

    def of(self, frames: Frames) -> Estimate:
        """The share."""
        k, m = self.k.of(frames), self.m.of(frames)
        count = round(k.value + m.value)
        if not count:
            raise UnmeasuredError(f"{self}: both counts are 0")
        low, high = wilson(round(k.value), count)
        return Estimate(k.value / count, low, high, n=count, sources=(*k.sources, *m.sources))


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's correlation of two numbers over several rows."""

    x: tuple[Expression, ...]
    y: tuple[Expression, ...]

    def __str__(self) -> str:
        first, other = (str(part[0]).partition(" [")[0] for part in (self.x, self.y))
        return f"rank correlation of {first} and {other} over {len(self.x)} rows"

    def of(self, frames: Frames) -> Estimate:
        """The correlation, with an interval over the rows."""
        x, y = ([part.of(frames) for part in parts] for parts in (self.x, self.y))
        try:
            found = rank_correlation([part.value for part in x], [part.value for part in y])
        except ValueError as error:
            raise UnmeasuredError(str(error)) from error
        sources = tuple(source for part in (*x, *y) for source in part.sources)
        return Estimate(*found, n=len(x), sources=sources)


@dataclass(frozen=True)
class Gain:
    """Accuracy of one model less another's on the same puzzles.

    With a row of paired.csv the interval is the paired one, else as of independent rates (the paper prints no
    pairs; the control is paired on the main suite only).

    Attributes:
        suite: main, hard or mate1 to mate5.
        term: of the model.
        tau: of the model; None for the control.
        other: what is subtracted, as term and tau; the base.
    """

    suite: str
    term: str
    tau: str | None
    other: tuple[str, str | None] = ("base", None)

    def __str__(self) -> str:
        names = [" ".join(filter(None, model)) for model in self._models()]
        return f"accuracy on {self.suite} [{names[0]}] − [{names[1]}]"

    def of(self, frames: Frames) -> Estimate:
        """The gain as a fraction of the puzzles."""
        unpaired = Difference(
            accuracy(self.suite, self.term, self.tau), accuracy(self.suite, *self.other)
        ).of(frames)
        rows = [find_row(frames, "table1", model_key(*model)).values for model in self._models()]
        mine, other = (row.get("model") for row in rows)
        for row in frames.get("paired", ()):
            if row.values["suite"] == self.suite and {row.values["a"], row.values["b"]} == {mine, other}:
                return self._paired(row, 1.0 if row.values["a"] == mine else -1.0, unpaired)
        return unpaired

    def _paired(self, row: Row, sign: float, unpaired: Estimate) -> Estimate:
        low, high = sorted(sign * float(row.values[key]) for key in ("low", "high"))
        return Estimate(
            sign * float(row.values["difference"]),
            low,
            high,
            n=int(row.values["n"]),
            seeds=unpaired.seeds,
            sources=(address("paired", row, "difference"),),
        )

    def _models(self) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
        return (self.term, self.tau), self.other


def accuracy(suite: str, term: str, tau: str | None) -> Number:
    """Accuracy of a selected model, the base or the control on a suite of Table 1 or 3."""
    frame, column = {"main": ("table1", "accuracy"), "hard": ("table1", "hard_accuracy")}.get(
        suite, ("table3", f"{suite}_accuracy")
    )
    return Number(frame, column, model_key(term, tau))


def model_key(term: str, tau: str | None) -> Where:
    """Term and, of trained models, tau."""
    return (("term", term),) if tau is None else (("term", term), ("tau", tau))


def address(frame: str, row: Row, column: str) -> str:
    """``table1.csv:7:elo``: file, line and column of a number."""
    return f"{frame}.csv:{row.line}:{column}"


def find_rows(frames: Frames, frame: str, where: Where) -> list[Row]:
    """The rows with these values.

    Raises:
        UnmeasuredError: the file or every such row is missing.
    """
    rows = frames.get(frame)
    if not rows:
        raise UnmeasuredError(f"{frame}.csv was not made")
    wanted = dict(where).items()
    found = [row for row in rows if wanted <= row.values.items()]
    if not found:
        raise UnmeasuredError(f"{frame}.csv has no row of {' '.join(_spelled(*pair) for pair in where)}")
    return found


def find_row(frames: Frames, frame: str, where: Where) -> Row:
    """The first row of `find_rows`."""
    return find_rows(frames, frame, where)[0]


def _estimate(frames: Frames, frame: str, column: str, row: Row) -> Estimate:
    if column not in row.values:
        raise UnmeasuredError(f"{frame}.csv, line {row.line}: no value of {column}")
    value = float(row.values[column])
    names = _beside(column)
    low, high = (float(row.values.get(name, math.nan)) for name in names[:2])
    bounded = not (math.isnan(low) or math.isnan(high))
    count = row.values.get(names[2])
    return Estimate(
        value,
        low if bounded else value,
        high if bounded else value,
        sampled=bounded and not column.startswith("draws"),
        n=None if count is None else int(count),
        seeds=_seeds(frames, frame, column, row),
        fixed=row.values.get("term") in UNTRAINED,
        sources=(address(frame, row, column),),
    )


def _beside(column: str) -> tuple[str, str, str]:
    """Columns of the bounds and of the count."""
    if column in _SAMPLED_PLAIN:
        return "low", "high", "n"
    if column == "draws_95_low":
        return column, "draws_95_high", "n"
    stem = column.removesuffix("_accuracy")
    return f"{stem}_low", f"{stem}_high", f"{stem}_n"


def _seeds(frames: Frames, frame: str, column: str, row: Row) -> dict[int, float]:
    """The number by seed: of the full method's cells with the term, tau and beta of the row."""
    keys = ("term", "tau", "beta")
    place = _per_seed(frame, column, row)
    if place is None or row.values.get("term") in UNTRAINED or not row.values.keys() >= set(keys):
        return {}
    wanted = {key: row.values[key] for key in keys} | {"variant": "full"}
    return {
        int(other.values["seed"]): float(other.values[place[1]])
        for other in frames.get(place[0], ())
        if wanted.items() <= other.values.items() and other.values.keys() >= {"seed", place[1]}
    }


def _per_seed(frame: str, column: str, row: Row) -> tuple[str, str] | None:
    """File and column that hold a table's number for every cell."""
    if frame in ("cells", "strength"):
        return frame, column
    if frame == "table3":
        return "cells", column
    if frame == "table4":
        mean = _MEANS.get(str(row.values["statistic"]))
        return ("cells", f"{column}_{mean}") if mean else None
    return _PER_SEED.get((frame, column))


def _all(parts: Sequence[Expression] | Rows, frames: Frames) -> list[Estimate]:
    return parts.parts(frames) if isinstance(parts, Rows) else [part.of(frames) for part in parts]


def _listed(parts: Sequence[Expression] | Rows) -> str:
    return str(parts) if isinstance(parts, Rows) else ", ".join(map(str, parts))


def inner(part: Expression) -> str:
    """The text of a part, in brackets where it is compound."""
    return str(part) if isinstance(part, Number | Constant | Computed) else f"({part})"


def _spelled(name: str, value: object) -> str:
    return f"β = {format_beta(float(str(value)))}" if name == "beta" else str(value)
