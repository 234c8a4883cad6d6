"""Verdicts of each rule form against brute force, and the arithmetic of estimates."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from searchless_rl.claims import estimates
from searchless_rl.claims.estimates import MARGIN, Estimate, UnmeasuredError
from searchless_rl.claims.expressions import Constant, Difference, Number, Row
from searchless_rl.claims.finding_rules import CONTRADICTED, INCONCLUSIVE, SUPPORTED
from searchless_rl.claims.rule_forms import (
    UNMEASURED,
    Between,
    Chosen,
    Effect,
    Equal,
    Every,
    Level,
    Unjudged,
    about,
    above,
    below,
    first,
    more,
    order,
    printed,
)

GRID = [-2.0, -1.0, 0.0, 1.0, 2.0]


class Given:
    """An expression whose value is given; with frames {"paper": ...} another one for the paper."""

    def __init__(self, low, value, high, paper=None, **more):
        self.estimate = Estimate(value, low, high, **more)
        self.paper = paper

    def of(self, frames):
        return Estimate(self.paper[1], self.paper[0], self.paper[2]) if "paper" in frames else self.estimate

    def __str__(self):
        return "x"


def verdict(rule, frames=None):
    return rule.judge(frames or {}, {"paper": []}).verdict


def test_between_is_decided_by_every_point_of_the_interval():
    """Brute force: an interval is inside if all its points are, outside if none is."""
    for low, high in itertools.combinations(GRID, 2):
        points = np.linspace(low, high, 101)
        for least, most in [*itertools.combinations(GRID, 2), (0, math.inf), (-math.inf, 1)]:
            inside = (points > least) & (points < most)
            closed = (points >= least) & (points <= most)
            wanted = SUPPORTED if inside.all() else CONTRADICTED if not closed.any() else INCONCLUSIVE
            middle = (low + high) / 2
            assert verdict(Between(Given(low, middle, high), least, most)) == wanted


@pytest.mark.parametrize("at_least", [None, 1, 2])
def test_every_is_decided_by_what_the_open_parts_could_turn_out_to_be(at_least):
    """Brute force over three parts: supported if so however the inconclusive ones fall, and the like."""
    interval = {SUPPORTED: (1, 2, 3), CONTRADICTED: (-3, -2, -1), INCONCLUSIVE: (-1, 0.5, 1)}
    for parts in itertools.product(interval, repeat=3):
        rule = Every(tuple(above(Given(*interval[part])) for part in parts), at_least)
        falls = [
            sum(SUPPORTED in pair for pair in zip(parts, fall, strict=True)) >= (at_least or 3)
            for fall in itertools.product((SUPPORTED, CONTRADICTED), repeat=3)
            if all(part in (INCONCLUSIVE, chosen) for part, chosen in zip(parts, fall, strict=True))
        ]
        wanted = SUPPORTED if all(falls) else INCONCLUSIVE if any(falls) else CONTRADICTED
        assert verdict(rule) == wanted


@pytest.mark.parametrize(
    ("ours", "paper", "wanted"),
    [
        ((1, 2, 3), (0.1, 1, 2), SUPPORTED),
        ((-3, -2, -1), (0.1, 1, 2), CONTRADICTED),
        ((-3, -2, -1), (-2, -1, -0.1), SUPPORTED),
        ((-1, 0.2, 1), (-2, -1, -0.1), INCONCLUSIVE),
        ((1, 2, 3), (-0.1, 1, 2), UNMEASURED),
    ],
)
def test_an_effect_goes_the_papers_way_where_the_paper_has_one(ours, paper, wanted):
    found = Effect(Given(*ours, paper=paper)).judge({}, {"paper": []})
    assert found.verdict == wanted
    assert ("no effect in the paper" in found.why) is (wanted == UNMEASURED)


@pytest.mark.parametrize(
    ("ours", "wanted"),
    [
        ((-1, 0, 1), SUPPORTED),
        ((2.5, 3, 4), CONTRADICTED),
        ((1, 2, 3), INCONCLUSIVE),
        ((0.5, 1, 1.5), SUPPORTED),
    ],
)
def test_equal_is_an_equivalence_within_the_papers_interval(ours, wanted):
    rule = Equal(Given(*ours, paper=(-1.5, 0.3, 2.1)))
    assert verdict(rule) == wanted
    assert verdict(rule, {"paper": []}) == SUPPORTED


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ((0.4, 0.5, 0.6), (0.3, 0.49, 0.7), SUPPORTED),
        ((0.4, 0.5, 0.6), (0.3, 0.51, 0.7), INCONCLUSIVE),
        ((0.4, 0.5, 0.6), (0.8, 0.9, 1.0), CONTRADICTED),
    ],
)
def test_a_choice_is_a_fact(one, other, wanted):
    assert verdict(Chosen(Given(*one), (Given(0, 0.1, 0.2), Given(*other)))) == wanted


def test_an_order_is_that_of_neighbours():
    a, b, c = (Given(x - 0.1, x, x + 0.1) for x in (1, 2, 3))
    assert verdict(order([a, b, c])) == SUPPORTED
    assert verdict(order([a, c, b])) == CONTRADICTED
    assert verdict(order([a, Given(0.5, 1.1, 1.6), c])) == INCONCLUSIVE
    assert verdict(first(c, [a, b])) == SUPPORTED
    assert verdict(first(b, [a, c])) == CONTRADICTED


def test_about_is_within_a_factor_and_printed_within_rounding():
    assert verdict(about(Given(1.5, 2, 2.9), 2)) == SUPPORTED
    assert verdict(about(Given(1.2, 2, 2.9), 2)) == INCONCLUSIVE
    assert verdict(about(Given(3.1, 3.2, 3.3), 2)) == CONTRADICTED
    assert verdict(printed(Constant(math.log(3), "ln 3"), 1.10, 2)) == SUPPORTED
    assert verdict(printed(Constant(math.log(3), "ln 3"), 1.11, 2)) == CONTRADICTED


def test_a_level_is_shown_and_not_judged():
    found = Level(Given(1, 2, 3), "another base").judge({}, {})
    assert (found.verdict, found.text, found.why) == (UNMEASURED, "2 [1, 3]", "another base")
    with pytest.raises(UnmeasuredError, match="nobody knows"):
        Unjudged("nobody knows").judge({}, {})


def test_seeds_must_say_the_same_as_items():
    apart, together = {0: 1.0, 1: 3.0, 2: -1.5}, {0: 1.9, 1: 2.0, 2: 2.1}
    assert verdict(above(Given(1, 2, 3, seeds=together))) == SUPPORTED
    found = above(Given(1, 2, 3, seeds=apart)).judge({}, {})
    assert (found.verdict, found.over_items, found.seeds) == (INCONCLUSIVE, SUPPORTED, 3)
    assert verdict(above(Given(1, 2, 3, seeds={0: -5.0}))) == SUPPORTED  # one training has no interval
    assert verdict(below(Given(1, 2, 3, seeds=together))) == CONTRADICTED


def test_exact_numbers_must_differ_by_the_margin():
    def exact(value):
        return Given(value, value, value, sampled=False)

    assert verdict(more(exact(100), exact(100 / (1 + 2 * MARGIN)))) == SUPPORTED
    assert verdict(more(exact(100), exact(100 / (1 + MARGIN / 2)))) == INCONCLUSIVE
    assert verdict(more(exact(100), exact(100 * (1 + 2 * MARGIN)))) == CONTRADICTED
    bracket = Given(26, 26, 34, sampled=False)
    assert verdict(more(exact(61), bracket)) == SUPPORTED
    assert verdict(more(exact(33), bracket)) == INCONCLUSIVE
    found = estimates.ratio(Estimate(4, 4, 4, sampled=False), Estimate(2, 2, 2, sampled=False))
    assert (found.value, found.low, found.high) == pytest.approx((2, 2 / (1 + MARGIN), 2 * (1 + MARGIN)))


def test_statistics_of_seeds_are_paired_by_seed():
    """A difference that every seed has alike is certain over seeds, however much the seeds differ."""
    a = Estimate(2, 1, 3, seeds={0: 1.0, 1: 5.0, 2: 9.0})
    b = Estimate(1, 0, 2, seeds={1: 4.0, 2: 8.1, 3: 0.0})
    base = Estimate(0.5, 0.4, 0.6, fixed=True)
    assert estimates.difference(a, b).seeds == pytest.approx({1: 1.0, 2: 0.9})
    assert estimates.difference(a, base).seeds == {0: 0.5, 1: 4.5, 2: 8.5}
    assert estimates.difference(a, Estimate(1, 0, 2)).seeds == {}  # trained, but not told apart
    assert estimates.mean([a, base, base]).seeds == pytest.approx({0: 2 / 3, 1: 2, 2: 10 / 3})
    assert estimates.difference(base, base).fixed


def test_ratios_over_seeds_are_averaged_in_logarithms():
    ratio = estimates.ratio(
        Estimate(2, 1, 3, seeds={0: 1.0, 1: 4.0, 2: 2.0}), Estimate(1, 0.9, 1.1, fixed=True)
    )
    logs = np.log([1.0, 4.0, 2.0])
    low, high = stats.t.interval(0.95, 2, logs.mean(), stats.sem(logs))
    assert ratio.over_seeds() == pytest.approx((2.0, math.exp(low), math.exp(high)))


def test_the_largest_carries_its_own_interval_and_each_seeds_largest():
    parts = [Estimate(1, 0, 2, n=10, seeds={0: 1.0, 1: 4.0}), Estimate(3, 2, 4, n=20, seeds={0: 2.0, 1: 3.0})]
    found = estimates.extreme(parts, max)
    assert (found.value, found.low, found.high, found.n) == (3, 2, 4, 20)
    assert found.seeds == {0: 2.0, 1: 4.0}
    with pytest.raises(UnmeasuredError, match="nothing to choose from"):
        estimates.extreme([], max)


def test_the_text_of_a_rule_says_what_it_compares():
    a, b = (Number("table1", "elo", (("term", term), ("tau", "fixed"))) for term in ("forward_kl", "none"))
    assert str(more(a, b)) == "elo [forward_kl fixed] > elo [none fixed]"
    assert str(above(Difference(a, b), 2)) == "elo [forward_kl fixed] − elo [none fixed] > 2"
    assert str(Between(a, -1, 1)) == "elo [forward_kl fixed] between −1 and 1"
    row = Row(4, {"term": "none", "tau": "fixed", "elo": 3.0, "elo_low": 1.0, "elo_high": 5.0})
    assert above(b).judge({"table1": [row]}, {}).sources == ("table1.csv:4:elo",)
