"""The rules for the paper's tables: every row as effects on the base, by ids of data/paper/statements.csv.

A row's levels belong to the paper's base and suites. What can be held against another base is the way each
number of the row goes from that base's own (`rule_forms.Effect`); an id has a suffix for each column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from searchless_rl.cells import DECADES, TAUS, TERMS
from searchless_rl.claims import statement_numbers as number
from searchless_rl.claims.expressions import Difference, Gain, Ratio, accuracy
from searchless_rl.claims.rule_forms import Effect, Level, Rule
from searchless_rl.claims.statement_numbers import LEVEL
from searchless_rl.results.names import MATES

_MODELS = (*number.ARMS, ("control", None))
_SAMPLED = (
    *(("base", "μ"), ("none", "μ"), ("none", "raw"), ("entropy", "μ"), ("entropy", "raw")),
    *(("reverse_kl", "μ"), ("reverse_kl", "raw"), ("forward_kl", "μ"), ("forward_kl", "raw")),
)
"""Rows of Table 5 after the raw base's, as printed."""


def _id(first: int, place: int) -> str:
    return f"C{first + place:03d}"


def _table1() -> Iterator[tuple[str, Rule]]:
    yield "C030", Level(accuracy("main", "base", None), LEVEL)
    yield "C031", Level(accuracy("hard", "base", None), LEVEL)
    for place, model in enumerate(_MODELS):
        yield _id(33, 3 * place), Effect(Gain("main", *model))
        yield _id(34, 3 * place), Effect(Gain("hard", *model))
        yield f"{_id(35, 3 * place)}.elo", Effect(number.elo(*model))
        yield f"{_id(35, 3 * place)}.score", Effect(number.score(*model), 0.5)


def _table3() -> Iterator[tuple[str, Rule]]:
    yield "C080", Level(accuracy("mate1", "base", None), LEVEL)
    for place, arm in enumerate(number.ARMS):
        for suite in MATES.values():
            yield f"{_id(81, place)}.{suite}", Effect(Gain(suite, *arm))


def _table4() -> Iterator[tuple[str, Rule]]:
    yield "C091", Level(number.kept("base", "main"), LEVEL)
    for place, term in enumerate(TERMS):
        for suite in number.SUITES:
            effect = Ratio(number.kept(term, suite), number.kept("base", suite))
            yield f"{_id(92, place)}.{suite}", Effect(effect, 1.0)
        arithmetic = [number.kept(name, "hard", "arithmetic") for name in (term, "base")]
        yield f"{_id(92, place)}.arithmetic", Effect(Ratio(*arithmetic), 1.0)


def _table5() -> Iterator[tuple[str, Rule]]:
    yield "C125", Level(number.shape("base", "raw", "entropy"), LEVEL)
    for place, player in enumerate(_SAMPLED):
        yield f"{_id(126, place)}.elo", Effect(number.shape(*player, "elo"))
        for column in ("entropy", "cov5"):
            pair = [number.shape(*one, column) for one in (player, ("base", "raw"))]
            yield f"{_id(126, place)}.{column}", Effect(Difference(*pair))


def _table6() -> Iterator[tuple[str, Rule]]:
    base = number.base_selection()
    arms = [(term, tau) for term in TERMS if term != "none" for tau in TAUS]
    for place, arm in enumerate(arms):
        for beta in DECADES:
            yield f"{_id(182, place)}.{beta:g}", Effect(Difference(number.swept(*arm, beta), base))
    for tau in TAUS:
        yield f"C188.{tau}", Effect(Difference(number.swept("none", tau, 0.0), base))


TABLE_RULES: Mapping[str, Rule] = dict(
    rule for table in (_table1, _table3, _table4, _table5, _table6) for rule in table()
)
