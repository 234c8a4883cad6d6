"""Short names of the numbers that the rules speak of."""

from __future__ import annotations

from dataclasses import replace

from searchless_rl.cells import DECADES, TAUS, TERMS
from searchless_rl.claims.expressions import (
    Difference,
    Expression,
    Largest,
    Number,
    Rows,
    Smallest,
    accuracy,
    model_key,
)
from searchless_rl.claims.finding_rules import ANCHORS
from searchless_rl.results.names import HARD, MAIN, MATES

LEVEL = "a level of the paper's base on the authors' suites; effects are judged instead"
FORWARD, REVERSE = "forward_kl", "reverse_kl"
ARMS = tuple((term, tau) for term in TERMS for tau in TAUS)
ANCHORED = tuple((term, tau) for term in ANCHORS for tau in TAUS)
SUITES = (MAIN, HARD, *MATES.values())
SAMPLINGS = ("raw", "μ")
TABIYAS = ("ruy_lopez_closed", "najdorf_english_attack", "qgd_tartakower")
HEADLINE = 0.01
RATING, DEPTH, ACCURACY = "rating", "mate depth", "accuracy by rating"
"""Panels of Figure 6."""


def elo(term: str, tau: str | None) -> Number:
    """Rating of a selected model or the control over the base (Table 1)."""
    return Number("table1", "elo", model_key(term, tau))


def score(term: str, tau: str | None) -> Number:
    """Points per game against the base (Table 1)."""
    return Number("table1", "score", model_key(term, tau))


def cell(term: str, tau: str, beta: float, column: str) -> Number:
    """A figure of one cell (cells.csv)."""
    return Number("cells", column, (*model_key(term, tau), ("beta", beta), ("variant", "full")))


def game_length(term: str, tau: str, beta: float) -> Number:
    """Plies of the games that ended in the last steps of training (cells.csv)."""
    return replace(cell(term, tau, beta, "final_plies"), is_mean=True)


def curve(low: float, high: float) -> Rows:
    """Accuracy on the main suite of the forward-KL adaptive cells with beta in a range."""
    where = (*model_key("forward_kl", "adaptive"), ("variant", "full"))
    return Rows(Number("cells", "main_accuracy", where), "beta", low, high)


def swept(term: str, tau: str, beta: float) -> Number:
    """Accuracy of a cell on the selection suite (Table 6)."""
    return Number("table6", "accuracy", (*model_key(term, tau), ("beta", beta)))


def base_selection() -> Number:
    """The base's accuracy on the selection suite (Table 6)."""
    return Number("table6", "accuracy", model_key("base", None))


def other_betas(term: str, tau: str, beta: float) -> tuple[Expression, ...]:
    """Accuracy on the selection suite at the other decade betas of an arm."""
    return tuple(swept(term, tau, other) for other in DECADES if other != beta)


def match(term: str, tau: str, beta: float, column: str) -> Number:
    """A figure of a cell's games (strength.csv)."""
    return Number("strength", column, (*model_key(term, tau), ("beta", beta), ("variant", "full")))


def kept(term: str, suite: str, statistic: str = "geometric") -> Number:
    """Solution probability (Table 4)."""
    return Number("table4", suite, (("term", term), ("statistic", statistic)))


def anchors_ratio(suite: str) -> Number:
    """The forward prior's solution probability over the reverse anchor's, paired (Table 4)."""
    return Number("table4", suite, (("statistic", "forward / reverse"),))


def bin_gain(panel: str, term: str, place: int) -> Number:
    """Gain over the base by mate depth or rating bin (Figure 6)."""
    return Number("figure6", "gain", (("panel", panel), ("term", term), ("bin", place)))


def draws(term: str, policy: str, position: str = "start") -> Number:
    """Draws that cover 95 % of the mass (Figures 7 and 10)."""
    return _line(term, policy, position, "draws_95_low")


def heaviest(term: str, policy: str) -> Number:
    """Mass of the likeliest line from the start position (Figure 7)."""
    return _line(term, policy, "start", "heaviest")


def shape(term: str, sampling: str, column: str) -> Number:
    """A figure of a sampled configuration (Table 5)."""
    return Number("table5", column, (("term", term), ("sampling", sampling)))


def recovered(statistic: str, term: str = "base") -> Number:
    """A statistic of section 3.5."""
    is_mean = statistic.startswith(("mean ", "median ", "geometric mean "))
    return Number("recovery", "value", (("statistic", statistic), ("term", term)), is_mean)


def all_accuracies(suite: str = "main") -> tuple[Expression, ...]:
    """Accuracy of the eight selected models."""
    return tuple(accuracy(suite, *arm) for arm in ARMS)


def spread(parts: tuple[Expression, ...]) -> Difference:
    """The largest less the smallest."""
    return Difference(Largest(parts), Smallest(parts))


def anchors(statistic: str) -> tuple[Number, ...]:
    """A statistic of section 3.5 of both anchors."""
    return tuple(recovered(statistic, term) for term in ANCHORS)


def _line(term: str, policy: str, position: str, column: str) -> Number:
    return Number("coverage", column, (("term", term), ("policy", policy), ("position", position)))


ALL_ELO = tuple(elo(*arm) for arm in ARMS)
"""Ratings of the eight selected models."""
