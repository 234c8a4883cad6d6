"""The rules for what the paper says of strength, of accuracy and of its method: data, by statement.

Ids are those of data/paper/statements.csv.
Where a statement is about the paper's base or suites alone, its number is a `Level`: shown, not judged.
"""

from __future__ import annotations

from collections.abc import Mapping

from searchless_rl.claims import analytic
from searchless_rl.claims import statement_numbers as number
from searchless_rl.claims.expressions import (
    Computed,
    Constant,
    Difference,
    Expression,
    Gain,
    Largest,
    Mean,
    Ratio,
    Smallest,
    accuracy,
)
from searchless_rl.claims.finding_rules import ANCHORS
from searchless_rl.claims.rule_forms import (
    Between,
    Chosen,
    Equal,
    Level,
    Rule,
    Unjudged,
    about,
    above,
    below,
    each,
    first,
    more,
    order,
    printed,
)
from searchless_rl.claims.statement_numbers import (
    ALL_ELO,
    ANCHORED,
    ARMS,
    FORWARD,
    HEADLINE,
    LEVEL,
    REVERSE,
    elo,
    score,
    spread,
)
from searchless_rl.statistics.intervals import half_width

CONTROL = ("control", None)
_BINS = tuple(range(400, 1000, 200))
_GAINS = tuple(Gain("main", *arm) for arm in ARMS)
_BASE_MAIN = accuracy("main", "base", None)


def _main(beta: float) -> Expression:
    return number.cell(FORWARD, "adaptive", beta, "main_accuracy")


def _error(rate: Expression) -> Expression:
    return Difference(Constant(1, "1"), rate)


def _half_width(count: int) -> Computed:
    text = f"Wilson half-width of 94.25 % of {count:,} puzzles, points"
    return Computed(lambda: 100 * half_width(round(0.9425 * count), count), text)


def _selected(term: str, tau: str, beta: float = HEADLINE) -> Rule:
    return Chosen(number.swept(term, tau, beta), number.other_betas(term, tau, beta))


_CELL_VS_NONE = Difference(_main(1e-4), accuracy("main", "none", "adaptive"))
_INSIDE, _OUTSIDE = number.curve(3e-3, 3e-2), (number.curve(1e-4, 1e-3), number.curve(0.1, 1.0))
_FIXED_GAP = Difference(elo(FORWARD, "fixed"), elo("none", "fixed"))
_ADAPTIVE_GAP = Difference(elo(FORWARD, "adaptive"), elo("none", "adaptive"))

_STRENGTH: dict[str, Rule] = {
    "C001": above(Gain("main", FORWARD, "adaptive")),
    "C002": above(Gain("mate4", FORWARD, "adaptive")),
    "C003": each([above(elo(*arm)) for arm in ANCHORED]),
    "C004": each([below(spread(_GAINS), 0.01), above(Largest(ALL_ELO)), below(Smallest(ALL_ELO))]),
    "C005": each([first(Gain("main", *CONTROL), _GAINS), below(elo(*CONTROL))]),
    "C008": first(elo(FORWARD, "fixed"), tuple(elo(*arm) for arm in ARMS if arm != (FORWARD, "fixed"))),
    "C009": Equal(Difference(elo(FORWARD, "fixed"), elo(REVERSE, "adaptive"))),
    "C026": each(
        [
            _selected(term, tau, 1e-4 if (term, tau) == ("entropy", "fixed") else HEADLINE)
            for term, tau in ARMS
            if term != "none"
        ]
    ),
    "C029": below(spread(number.all_accuracies()), 0.01),
    "C032": Unjudged("the external rating of BT4; arena.anchor sets one where it is known"),
    "C060": above(score(FORWARD, "fixed"), 0.5),
    "C061": more(score(REVERSE, "adaptive"), score(FORWARD, "fixed")),
    "C062": each([Equal(elo("none", "fixed")), above(score("none", "fixed"), 0.5)]),
    "C063": above(_FIXED_GAP),
    "C064": each([Equal(_ADAPTIVE_GAP), above(elo("none", "adaptive"))]),
    "C065": more(_FIXED_GAP, _ADAPTIVE_GAP),
    "C066": more(
        Mean(tuple(elo(*arm) for arm in ANCHORED)),
        Mean((elo("entropy", "adaptive"), elo("entropy", "fixed"))),
    ),
    "C067": above(number.match("entropy", "fixed", 1e-4, "elo")),
    "C068": below(number.match("entropy", "fixed", 1e-2, "elo")),
    "C069": below(number.match("entropy", "fixed", 1.0, "elo")),
    "C166": each([above(gain) for gain in _GAINS]),
    "C167": each([above(Largest(ALL_ELO)), below(Smallest(ALL_ELO))]),
    "C168": each([above(Gain("main", "entropy", "adaptive")), Equal(elo("entropy", "adaptive"))]),
    "C169": each(
        [
            above(Ratio(number.swept("entropy", "fixed", 1.0), number.base_selection()), 0.8),
            below(number.match("entropy", "fixed", 1.0, "score"), 0.1),
        ]
    ),
    "C170": above(Gain("main", *CONTROL)),
    "C171": above(Gain("hard", *CONTROL)),
    "C172": about(Ratio(Gain("main", *CONTROL), Largest(_GAINS)), 3),
    "C173": each([below(elo(*CONTROL)), below(score(*CONTROL), 0.5)]),
    "C175": each([rule for arm in ANCHORED for rule in (above(Gain("main", *arm)), above(elo(*arm)))]),
    "C179": Unjudged("a half-width of 34 players with 200 games a pair; other pools have another"),
}

_TACTICS: dict[str, Rule] = {
    "C070": Level(_error(_BASE_MAIN), LEVEL),
    "C071": above(Gain("main", "none", "adaptive")),
    "C072": Level(_error(_main(HEADLINE)), LEVEL),
    "C073": more(_main(HEADLINE), _BASE_MAIN),
    "C074": more(_main(HEADLINE), accuracy("main", "none", "adaptive")),
    "C075": each(
        [
            more(Largest(number.curve(2e-4, 0.5)), accuracy("main", "none", "adaptive")),
            more(Largest(number.curve(2e-4, 0.5)), _main(1.0)),
        ]
    ),
    "C076": each([more(Largest(_INSIDE), Largest(part)) for part in _OUTSIDE]),
    "C077": Between(_CELL_VS_NONE, -0.01, 0.01),
    "C078": each(
        [
            more(_main(HEADLINE), _main(1.0)),
            Equal(Difference(_main(1.0), accuracy("main", "none", "adaptive"))),
        ]
    ),
    "C079": each(
        [_selected(FORWARD, "adaptive")] + [more(_main(HEADLINE), Largest(part)) for part in _OUTSIDE]
    ),
    "C089": order([accuracy(f"mate{depth}", "base", None) for depth in (5, 4, 3, 2, 1)]),
    "C090": each(
        [Equal(Gain(f"mate{depth}", FORWARD, "adaptive")) for depth in (1, 2)]
        + [above(Gain(f"mate{depth}", FORWARD, "adaptive")) for depth in (3, 4, 5)]
    ),
    "C107": each(
        [below(number.bin_gain(number.ACCURACY, term, low), 0.001) for term in ANCHORS for low in _BINS]
    ),
    "C108": each([above(number.bin_gain(number.ACCURACY, term, 2400)) for term in ANCHORS]),
    "C109": each([above(number.bin_gain(number.ACCURACY, term, 2600)) for term in ANCHORS]),
    "C110": Unjudged("no report has the failures of the hardest puzzles apart"),
    "C114": first(
        accuracy("main", "entropy", "adaptive"),
        tuple(accuracy("main", *arm) for arm in ARMS if arm != ("entropy", "adaptive")),
    ),
}

_METHOD: dict[str, Rule] = {
    "C016": printed(Constant(analytic.MOST_ENTROPY, "ln 3"), 1.10, 2),
    "C017": printed(Constant(1 / analytic.MOST_ENTROPY, "1 / ln 3"), 0.91, 2),
    "C018": below(number.cell(FORWARD, "adaptive", HEADLINE, "final_tau_min"), 0.1),
    "C019": each(
        [
            more(number.game_length(term, "fixed", beta), number.game_length(term, "adaptive", beta))
            for term, beta in (("none", 0.0), ("entropy", HEADLINE), (REVERSE, HEADLINE), (FORWARD, HEADLINE))
        ]
    ),
    "C020": above(Computed(analytic.asymmetry, "D(p‖q) − D(q‖p) in nats, where q drops half of p"), 1),
    "C021": Unjudged("coverage.csv has lines of four moves, not the first move"),
    "C022": Unjudged("reports/pretrain/decidedness.csv has it for other priors; no file of a run has it"),
    "C023": Unjudged(
        "reports/pretrain/decidedness.csv has the entropy of visit counts; no file of a run has it"
    ),
    "C024": each(
        [
            Between(number.cell(*arm, 0.0 if arm[0] == "none" else HEADLINE, "final_advantage"), -0.01, 0.01)
            for arm in ARMS
        ]
    ),
    "C027": about(_half_width(10_000), 0.45, 1.1),
    "C028": about(_half_width(100_000), 0.15, 1.1),
    "C180": printed(Constant(2000 * 1024 / 1e6, "2,000 steps of 1,024 games, in millions"), 2.05, 2),
}

STATEMENT_RULES: Mapping[str, Rule] = {**_STRENGTH, **_TACTICS, **_METHOD}
