"""The rules for what the paper says of the mechanism: retention, coverage, shape and recovery.

Ids are those of data/paper/statements.csv.
"""

from __future__ import annotations

from collections.abc import Mapping

from searchless_rl.claims import analytic
from searchless_rl.claims import statement_numbers as number
from searchless_rl.claims.expressions import (
    Computed,
    Constant,
    Difference,
    Gain,
    RankCorrelation,
    Ratio,
    Share,
)
from searchless_rl.claims.finding_rules import ANCHORS, SINGLE_LINE
from searchless_rl.claims.rule_forms import (
    Between,
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
    DEPTH,
    FORWARD,
    LEVEL,
    RATING,
    REVERSE,
    SAMPLINGS,
    SUITES,
    TABIYAS,
    draws,
    kept,
    recovered,
    shape,
    spread,
)
from searchless_rl.results.names import POLICIES

PICKED = "positions picked from the authors' suite, as BT4 sees them"
BINS = tuple(range(400, 2800, 200))
GATE = tuple(f"recovered, solution at {label}" for label in ("<0.05", "0.05–0.15", "0.15–0.3", "≥0.3"))
RANKS = tuple(f"recovered, solution at rank {label}" for label in ("4–5", "3", "2"))
_SAMPLED = tuple((term, sampling) for term in ("base", "none", "entropy", *ANCHORS) for sampling in SAMPLINGS)
_SAMPLED_ELO = tuple(shape(*player, "elo") for player in _SAMPLED)

_RETENTION: dict[str, Rule] = {
    "C011": each([above(number.anchors_ratio(suite), 1) for suite in ("hard", "mate5")]),
    "C096": each([above(Ratio(kept(FORWARD, suite), kept("base", suite)), 1) for suite in SUITES]),
    "C097": below(Ratio(kept(REVERSE, "hard"), kept("base", "hard")), 1),
    "C098": below(Ratio(kept(REVERSE, "mate5"), kept("base", "mate5")), 1),
    "C099": each([below(number.anchors_ratio(suite), 1) for suite in ("main", "mate1", "mate2", "mate3")]),
    "C100": above(number.anchors_ratio("hard"), 1),
    "C101": each([above(number.anchors_ratio(suite), 1) for suite in ("mate4", "mate5")]),
    "C102": each(
        [
            more(kept(REVERSE, "hard", "arithmetic"), kept(FORWARD, "hard", "arithmetic")),
            about(Ratio(kept(REVERSE, "hard", "arithmetic"), kept("base", "hard", "arithmetic")), 2),
            below(Ratio(kept(REVERSE, "hard"), kept("base", "hard")), 1),
        ]
    ),
    "C103": each(
        [
            first(
                kept("none", "hard", "arithmetic"),
                tuple(kept(term, "hard", "arithmetic") for term in ("base", "entropy", *ANCHORS)),
            ),
            about(kept("none", "hard", "arithmetic / geometric"), 60),
        ]
    ),
    "C104": each(
        [
            more(number.bin_gain(RATING, REVERSE, low), number.bin_gain(RATING, FORWARD, low))
            for low in BINS[:8]
        ]
        + [
            more(number.bin_gain(RATING, FORWARD, low), number.bin_gain(RATING, REVERSE, low))
            for low in BINS[8:]
        ]
    ),
    "C105": below(number.bin_gain(RATING, REVERSE, 2600)),
    "C106": Between(number.bin_gain(RATING, FORWARD, 2600), -0.19, 0.19),
    "C111": each(
        [below(Ratio(kept("entropy", suite), kept("base", suite)), 1) for suite in ("main", "hard", "mate1")]
    ),
    "C112": each([below(number.bin_gain(DEPTH, "entropy", depth)) for depth in range(1, 6)]),
    "C113": each([below(number.bin_gain(RATING, "entropy", low)) for low in BINS]),
}

_COVERAGE: dict[str, Rule] = {
    "C006": each([above(number.heaviest("none", policy), SINGLE_LINE) for policy in POLICIES]),
    "C010": each([about(Ratio(draws(FORWARD, policy), draws(REVERSE, policy)), 2) for policy in POLICIES]),
    "C115": first(draws("base", "raw"), tuple(draws(t, p) for t in ("entropy", *ANCHORS) for p in POLICIES)),
    "C116": more(draws("base", "raw"), draws("base", "adaptive")),
    "C117": each(
        [
            rule
            for policy in POLICIES
            for rule in (
                more(draws("base", policy), draws("entropy", policy)),
                more(draws("entropy", policy), draws(FORWARD, policy)),
            )
        ]
    ),
    "C118": each([more(draws("base", policy), draws(FORWARD, policy)) for policy in POLICIES]),
    "C119": each([more(draws(FORWARD, policy), draws(REVERSE, policy)) for policy in POLICIES]),
    "C120": each([below(draws("none", policy), 1.5) for policy in POLICIES]),
    "C121": each([above(number.heaviest("none", policy), 0.99) for policy in POLICIES]),
    "C122": printed(Computed(lambda: analytic.legal_lines(4), "legal lines of four plies"), 197_281, 0),
    "C123": each(
        [order([draws(t, p) for t in ("none", *ANCHORS, "entropy", "base")]) for p in POLICIES],
    ),
    "C124": each([above(Ratio(draws("base", p), draws(t, p)), 10) for t in ANCHORS for p in POLICIES]),
    "C177": each(
        [
            rule
            for term in ("entropy", *ANCHORS)
            for policy in POLICIES
            for rule in (more(draws("base", policy), draws(term, policy)), above(draws(term, policy), 10))
        ]
    ),
    "C195": each([above(Ratio(draws("base", "raw", at), draws(FORWARD, "raw", at)), 10) for at in TABIYAS]),
    "C196": each([more(draws("base", "raw", at), draws("base", "adaptive", at)) for at in TABIYAS]),
    "C197": each([below(draws("none", policy, at), 1.5) for at in TABIYAS for policy in POLICIES]),
    "C198": each(
        [above(Ratio(draws("base", p, at), draws(REVERSE, p, at)), 10) for at in TABIYAS for p in POLICIES]
    ),
    "C199": each(
        [above(Ratio(draws("base", p, at), draws(FORWARD, p, at)), 10) for at in TABIYAS for p in POLICIES]
    ),
    "C200": each([more(draws(FORWARD, p, at), draws(REVERSE, p, at)) for at in TABIYAS for p in POLICIES]),
    "C201": each(
        [
            order([draws(REVERSE, p, at), draws(term, p, at), draws("base", p, at)])
            for at in TABIYAS
            for p in POLICIES
            for term in ("entropy", FORWARD)
        ]
    ),
    "C202": each([above(draws(term, policy), 1.5) for term in ("entropy", *ANCHORS) for policy in POLICIES]),
}

_SHAPE: dict[str, Rule] = {
    "C135": above(Ratio(spread(_SAMPLED_ELO), spread(ALL_ELO)), 20),
    "C136": below(RankCorrelation(_SAMPLED_ELO, tuple(shape(*player, "entropy") for player in _SAMPLED))),
    "C137": each([more(shape(REVERSE, how, "elo"), shape(FORWARD, how, "elo")) for how in SAMPLINGS]),
    "C138": each(
        [
            above(shape("base", "μ", "elo")),
            more(shape("base", "raw", "entropy"), shape("base", "μ", "entropy")),
        ]
    ),
    "C139": each(
        [more(shape(term, "μ", "elo"), shape(term, "raw", "elo")) for term in ("none", "entropy", *ANCHORS)]
    ),
    "C140": order([shape(term, "raw", "kl_base_policy") for term in (FORWARD, REVERSE, "entropy")]),
    "C141": each(
        [
            Between(Ratio(shape(t, "raw", "kl_base_policy"), shape(FORWARD, "raw", "kl_base_policy")), 2, 6)
            for t in (REVERSE, "entropy")
        ]
    ),
    "C142": each(
        [
            more(shape(term, "μ", "kl_base_policy"), shape(term, "raw", "kl_base_policy"))
            for term in ("base", "none", "entropy", *ANCHORS)
        ]
    ),
}

_RECOVERY: dict[str, Rule] = {
    "C007": each([more(recovered(GATE[3], term), recovered(GATE[0], term)) for term in ANCHORS]),
    "C013": above(recovered("share of wrong positions, solution at rank 2"), 0.5),
    "C014": each([below(part, 0.01) for part in number.anchors(GATE[0])]),
    "C143": each([above(Gain("main", term, "adaptive")) for term in ANCHORS]),
    "C144": each(
        [
            above(Share(recovered("puzzles newly solved", term), recovered("puzzles given back", term)), 0.5)
            for term in ANCHORS
        ]
    ),
    "C145": Level(recovered("positions played wrong"), LEVEL),
    "C146": Level(recovered("positions recovered", FORWARD), LEVEL),
    "C147": Level(recovered("wrong positions, solution at <0.05"), LEVEL),
    "C148": each([about(part, 0.04) for part in number.anchors(GATE[1])]),
    "C149": each([about(part, 0.215) for part in number.anchors(GATE[2])]),
    "C150": each([about(part, 0.41) for part in number.anchors(GATE[3])]),
    "C151": each([order([recovered(name, term) for name in GATE]) for term in ANCHORS]),
    "C152": each(
        [
            more(
                recovered("geometric mean of the solution, recovered", term),
                recovered("geometric mean of the solution, not recovered", term),
            )
            for term in ANCHORS
        ]
    ),
    "C153": each([order([recovered(name, term) for name in RANKS]) for term in ANCHORS]),
    "C154": each(
        [below(part, 0.025) for part in number.anchors("recovered, solution at rank ≥6")]
        + [below(part, 5.5) for part in number.anchors("deepest rank recovered")]
    ),
    "C155": each(
        [
            more(
                recovered("median lead over the solution, not recovered", term),
                recovered("median lead over the solution, recovered", term),
            )
            for term in ANCHORS
        ]
    ),
    "C156": each(
        [
            about(recovered("mean mass moved, recovered", FORWARD), 0.36),
            about(recovered("mean mass moved, recovered", REVERSE), 0.42),
        ]
    ),
    "C157": each(
        [
            order(
                [
                    recovered("mean rating of puzzles solved"),
                    recovered("mean rating of puzzles newly solved", term),
                    recovered("mean rating of puzzles failed"),
                ]
            )
            for term in ANCHORS
        ]
    ),
    "C158": each([above(part, 0.9) for part in number.anchors("given back, solution still at rank 2")]),
    "C159": each(
        [
            Between(recovered("median mass moved, given back", FORWARD), -0.058 * 1.5, -0.058 / 1.5),
            Between(recovered("median mass moved, given back", REVERSE), -0.077 * 1.5, -0.077 / 1.5),
        ]
    ),
    "C160": each(
        [
            above(
                Difference(
                    recovered("median mass moved, recovered", term),
                    Difference(Constant(0, "0"), recovered("median mass moved, given back", term)),
                )
            )
            for term in ANCHORS
        ]
    ),
    "C161": each([below(part, 0.01) for part in number.anchors("given back, lead of ≥0.6")]),
    "C162": each(
        [
            more(
                recovered("median win minus loss, recovered", term),
                recovered("median win minus loss of the base, recovered", term),
            )
            for term in ANCHORS
        ]
    ),
    "C163": each(
        [
            Between(
                Difference(
                    recovered("median win minus loss, not recovered", term),
                    recovered("median win minus loss of the base, not recovered", term),
                ),
                -0.02,
                0.02,
            )
            for term in ANCHORS
        ]
    ),
    "C164": each(
        [
            above(
                Share(
                    recovered("puzzles newly solved by all", "all models"),
                    recovered("puzzles newly solved by it alone", term),
                ),
                0.5,
            )
            for term in ANCHORS
        ]
    ),
    "C165": each(
        [
            more(
                recovered("median solution of puzzles it alone solves", REVERSE),
                recovered("median solution of puzzles it alone solves", FORWARD),
            ),
            more(
                recovered("mean rating of puzzles it alone solves", FORWARD),
                recovered("mean rating of puzzles it alone solves", REVERSE),
            ),
        ]
    ),
    **{f"C{place}": Unjudged(PICKED) for place in range(189, 194)},
}

MECHANISM_RULES: Mapping[str, Rule] = {**_RETENTION, **_COVERAGE, **_SHAPE, **_RECOVERY}
