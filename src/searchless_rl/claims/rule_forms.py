"""The forms that a rule about a claim can take: a statistic against bounds, and several such rules at once.

A verdict needs a whole 95 % interval on one side. Where a statistic has several training seeds, the interval
over seeds must say the same as the one over puzzles or games, else the verdict is inconclusive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

from searchless_rl.claims.estimates import Estimate, UnmeasuredError
from searchless_rl.claims.expressions import Difference, Expression, Frames, Largest, inner
from searchless_rl.claims.finding_rules import CONTRADICTED, INCONCLUSIVE, SUPPORTED, UNMEASURED


@dataclass(frozen=True)
class Judgement:
    """What a rule says of a run.

    Attributes:
        verdict: supported, contradicted, inconclusive or not measurable here.
        over_items: the verdict without the interval over seeds.
        text: the measurement in words.
        estimate: the statistic; None where several carry the verdict, or none was measured.
        seeds: trainings behind the least repeated statistic; 0 where none is told apart by seed.
        sources: addresses of the numbers.
        why: why it was not measurable.
    """

    verdict: str
    over_items: str
    text: str
    estimate: Estimate | None = None
    seeds: int = 0
    sources: tuple[str, ...] = ()
    why: str = ""


class Rule(Protocol):
    """When a claim is supported and when contradicted; its text says both."""

    def judge(self, frames: Frames, paper: Frames) -> Judgement:
        """The verdict on `frames`; `paper` are the paper's printed numbers, in the same columns.

        Raises:
            UnmeasuredError: something that the rule reads is missing.
        """


@dataclass(frozen=True)
class Between:
    """A statistic lies between two bounds: supported inside, contradicted outside, as whole intervals."""

    statistic: Expression
    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        if math.isinf(self.high):
            if isinstance(self.statistic, Difference) and not self.low:
                return f"{inner(self.statistic.a)} > {inner(self.statistic.b)}"
            return f"{self.statistic} > {_short(self.low)}"
        if math.isinf(self.low):
            return f"{self.statistic} < {_short(self.high)}"
        return f"{self.statistic} between {_short(self.low)} and {_short(self.high)}"

    def judge(self, frames: Frames, paper: Frames) -> Judgement:
        """See `Rule.judge`."""
        return judged(self.statistic.of(frames), self.low, self.high)


@dataclass(frozen=True)
class Every:
    """Several rules at once: supported if enough are, contradicted if too many are not.

    Attributes:
        parts: the rules.
        at_least: how many must be supported; all of them.
    """

    parts: tuple[Rule, ...]
    at_least: int | None = None

    def __str__(self) -> str:
        head = "" if self.at_least is None else f"at least {self.at_least} of: "
        return head + "; ".join(map(str, self.parts))

    def judge(self, frames: Frames, paper: Frames) -> Judgement:
        """See `Rule.judge`."""
        found = [part.judge(frames, paper) for part in self.parts]
        wanted = len(found) if self.at_least is None else self.at_least
        verdict = _enough([one.verdict for one in found], wanted)
        return Judgement(
            verdict,
            _enough([one.over_items for one in found], wanted),
            f"{sum(one.verdict == SUPPORTED for one in found)} of {len(found)}: "
            + ", ".join(one.text for one in found),
            seeds=min(one.seeds for one in found),
            sources=tuple(dict.fromkeys(source for one in found for source in one.sources)),
        )


@dataclass(frozen=True)
class Effect:
    """A difference or ratio goes the way it goes in the paper.

    An effect that the paper's own interval does not tell from none is no claim, and is not judged.

    Attributes:
        statistic: the effect.
        null: its value without an effect: 0 of a difference, 1 of a ratio.
    """

    statistic: Expression
    null: float = 0.0

    def __str__(self) -> str:
        return f"{self.statistic} on the paper's side of {self.null:g}"

    def judge(self, frames: Frames, paper: Frames) -> Judgement:
        """See `Rule.judge`."""
        theirs, ours = self.statistic.of(paper), self.statistic.of(frames)
        if theirs.low > self.null:
            return judged(ours, self.null, math.inf)
        if theirs.high < self.null:
            return judged(ours, -math.inf, self.null)
        why = f"no effect in the paper: its interval has {self.null:g} inside, {shown(theirs)}"
        return _judgement(UNMEASURED, UNMEASURED, ours, why)


@dataclass(frozen=True)
class Equal:
    """Two numbers are told apart neither in the paper nor here: an equivalence test.

    The statistic must lie as near to its null as the paper's interval reaches; wholly beyond it, the claim is
    contradicted.

    Attributes:
        statistic: the difference.
        null: where it lies without one.
    """

    statistic: Expression
    null: float = 0.0

    def __str__(self) -> str:
        return f"{self.statistic} as near to {self.null:g} as the paper's interval reaches"

    def judge(self, frames: Frames, paper: Frames) -> Judgement:
        """See `Rule.judge`."""
        theirs = self.statistic.of(paper)
        # The paper's own interval must count as inside.
        reach = (1 + 1e-9) * max(theirs.high - self.null, self.null - theirs.low)
        return judged(self.statistic.of(frames), self.null - reach, self.null + reach)


@dataclass(frozen=True)
class Chosen:
    """One of several is chosen by its value, as a protocol chooses.

    Supported if it is the largest (a choice is a fact, not an estimate), contradicted if another is larger
    beyond the interval of the difference.

    Attributes:
        one: the one that the paper chose.
        others: what it was chosen among.
    """

    one: Expression
    others: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"{self.one} is the largest, chosen among {len(self.others) + 1}"

    def judge(self, frames: Frames, paper: Frames) -> Judgement:
        """See `Rule.judge`."""
        found = judged(Difference(self.one, Largest(self.others)).of(frames), 0, math.inf)
        lead = found.estimate.value if found.estimate else math.nan
        if lead >= 0:
            return replace(found, verdict=SUPPORTED, over_items=SUPPORTED)
        return found


@dataclass(frozen=True)
class Level:
    """A number that belongs to the paper's base and puzzles: shown beside ours, not judged."""

    statistic: Expression
    why: str

    def __str__(self) -> str:
        return f"{self.statistic} (level)"

    def judge(self, frames: Frames, paper: Frames) -> Judgement:
        """See `Rule.judge`."""
        estimate = self.statistic.of(frames)
        return _judgement(UNMEASURED, UNMEASURED, estimate, self.why)


@dataclass(frozen=True)
class Unjudged:
    """What no file of a run holds."""

    why: str

    def __str__(self) -> str:
        return "none"

    def judge(self, frames: Frames, paper: Frames) -> Judgement:
        """See `Rule.judge`."""
        raise UnmeasuredError(self.why)


def judged(estimate: Estimate, low: float, high: float) -> Judgement:
    """The verdict on "between `low` and `high`" from an estimate's intervals."""
    over_items = _verdict(estimate.low, estimate.high, low, high)
    seeds = estimate.over_seeds()
    over_seeds = over_items if seeds is None else _verdict(seeds.low, seeds.high, low, high)
    verdict = over_items if over_seeds == over_items else INCONCLUSIVE
    return _judgement(verdict, over_items, estimate)


def above(statistic: Expression, bound: float = 0.0) -> Between:
    """The statistic lies above a bound."""
    return Between(statistic, low=bound)


def below(statistic: Expression, bound: float = 0.0) -> Between:
    """The statistic lies below a bound."""
    return Between(statistic, high=bound)


def about(statistic: Expression, printed: float, factor: float = 1.5) -> Between:
    """The statistic is the printed number within a factor: "about", "twice", "nearly"."""
    return Between(statistic, printed / factor, printed * factor)


def more(larger: Expression, smaller: Expression) -> Between:
    """One number is larger than another."""
    return above(Difference(larger, smaller))


def first(one: Expression, others: Sequence[Expression]) -> Between:
    """One number is larger than every other."""
    return more(one, Largest(tuple(others)))


def each(rules: Iterable[Rule]) -> Every:
    """All of several rules."""
    return Every(tuple(rules))


def order(smallest_first: Sequence[Expression]) -> Every:
    """Each number is larger than the one before it."""
    return Every(tuple(more(larger, smaller) for smaller, larger in pairwise(smallest_first)))


def printed(statistic: Expression, value: float, decimals: int) -> Between:
    """A number rounds to the printed one."""
    half = 0.5000001 * 10.0**-decimals
    return Between(statistic, value - half, value + half)


def shown(estimate: Estimate) -> str:
    """``0.042 [0.031, 0.053]``: three significant digits; bounds only where they are an interval."""
    text = _short(estimate.value)
    return f"{text} [{_short(estimate.low)}, {_short(estimate.high)}]" if estimate.sampled else text


def _judgement(verdict: str, over_items: str, estimate: Estimate, why: str = "") -> Judgement:
    seeds = len(estimate.seeds)
    return Judgement(verdict, over_items, shown(estimate), estimate, seeds, estimate.sources, why)


def _verdict(low: float, high: float, least: float, most: float) -> str:
    if low > least and high < most:
        return SUPPORTED
    return CONTRADICTED if high < least or low > most else INCONCLUSIVE


def _enough(verdicts: Sequence[str], wanted: int) -> str:
    if UNMEASURED in verdicts:
        return UNMEASURED
    if verdicts.count(SUPPORTED) >= wanted:
        return SUPPORTED
    return CONTRADICTED if verdicts.count(CONTRADICTED) > len(verdicts) - wanted else INCONCLUSIVE


def _short(value: float) -> str:
    if abs(value) >= 1000 and not math.isinf(value):
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")
