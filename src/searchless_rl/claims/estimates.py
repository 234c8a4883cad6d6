"""A measured number with what is known of its uncertainty, and arithmetic on such numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from searchless_rl.claims.finding_rules import MARGIN
from searchless_rl.statistics import combination
from searchless_rl.statistics.combination import Interval


class UnmeasuredError(LookupError):
    """A file, a row or a value that a claim needs is not there; the text says which."""


@dataclass(frozen=True)
class Estimate:
    """A number of a report.

    Attributes:
        value: the number.
        low: lower bound; of a sampled number of its 95 % interval, else of its numerical error or margin.
        high: upper bound.
        sampled: whether the bounds are an interval over puzzles, positions or games.
        n: how many of them; None where the report does not say.
        seeds: the number itself, by training seed; empty where the report has one training.
        fixed: whether no training is in it (the base, a constant): it holds for every seed.
        is_ratio: whether seeds are averaged in logarithms.
        sources: addresses ``file:line:column``.
    """

    value: float
    low: float
    high: float
    sampled: bool = True
    n: int | None = None
    seeds: Mapping[int, float] = field(default_factory=dict)
    fixed: bool = False
    is_ratio: bool = False
    sources: tuple[str, ...] = ()

    @property
    def interval(self) -> Interval:
        """Value and bounds."""
        return Interval(self.value, self.low, self.high)

    def over_seeds(self) -> Interval | None:
        """Mean and t interval over seeds; None with fewer than two."""
        values = list(self.seeds.values())
        if len(values) < 2:
            return None
        if not self.is_ratio:
            return combination.over_seeds(values)
        if min(values) <= 0:
            return None
        return Interval(*map(math.exp, combination.over_seeds(list(map(math.log, values)))))


def constant(value: float) -> Estimate:
    """A number that is known."""
    return Estimate(value, value, value, sampled=False, fixed=True)


def difference(a: Estimate, b: Estimate) -> Estimate:
    """A − b; where neither is sampled, with `MARGIN` of the larger as its bounds."""
    if a.sampled or b.sampled:
        found = combination.difference(a.interval, b.interval)
    else:
        margin = MARGIN * max(abs(a.value), abs(b.value))
        found = Interval(a.value - b.value, a.low - b.high - margin, a.high - b.low + margin)
    return _combined(found, (a, b), lambda parts: parts[0] - parts[1])


def ratio(a: Estimate, b: Estimate) -> Estimate:
    """A / b; where neither is sampled, with a factor of 1 + `MARGIN` as its bounds.

    Raises:
        UnmeasuredError: one is not positive: there is no ratio.
    """
    if a.value <= 0 or b.value <= 0:
        raise UnmeasuredError(f"a ratio needs positive values, not {a.value:g} / {b.value:g}")
    if a.sampled or b.sampled:
        found = combination.ratio(a.interval, b.interval)
    else:
        above = a.high / b.low * (1 + MARGIN) if b.low > 0 else math.inf
        found = Interval(a.value / b.value, max(a.low, 0) / b.high / (1 + MARGIN), above)
    return replace(_combined(found, (a, b), _divided), is_ratio=True)


def mean(parts: Sequence[Estimate]) -> Estimate:
    """The mean of several numbers."""
    found = combination.mean([part.interval for part in parts])
    return _combined(found, parts, lambda values: math.fsum(values) / len(values))


def extreme(parts: Sequence[Estimate], choose: Callable[[Sequence[float]], float]) -> Estimate:
    """The largest (`choose` is max) or smallest number, by value; its interval is its own.

    That the choice was made among several is not in the interval.

    Raises:
        UnmeasuredError: there are none.
    """
    if not parts:
        raise UnmeasuredError("nothing to choose from")
    wanted = choose([part.value for part in parts])
    chosen = next(part for part in parts if part.value == wanted)
    return replace(_combined(chosen.interval, parts, choose), sampled=chosen.sampled, n=chosen.n)


def _divided(parts: Sequence[float]) -> float:
    return parts[0] / parts[1] if parts[1] else math.nan


def _combined(
    found: Interval, parts: Sequence[Estimate], compute: Callable[[Sequence[float]], float]
) -> Estimate:
    counts = [part.n for part in parts if part.n is not None]
    return Estimate(
        *found,
        sampled=any(part.sampled for part in parts),
        n=min(counts) if counts else None,
        seeds=_by_seed(parts, compute),
        fixed=all(part.fixed for part in parts),
        sources=tuple(dict.fromkeys(source for part in parts for source in part.sources)),
    )


def _by_seed(parts: Sequence[Estimate], compute: Callable[[Sequence[float]], float]) -> dict[int, float]:
    """The statistic of each seed that every trained part has."""
    trained = [set(part.seeds) for part in parts if not part.fixed]
    common = sorted(set.intersection(*trained)) if trained else []
    values = {
        seed: compute([part.value if part.fixed else part.seeds[seed] for part in parts]) for seed in common
    }
    return {seed: value for seed, value in values.items() if not math.isnan(value)}
