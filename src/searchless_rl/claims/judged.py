"""Every statement of the paper that a rule is stated for, judged: reports/SCALE/claims.{csv,md}.

Statements are data/paper/statements.csv, rules `statement_rules`, `mechanism_rules` and `table_rules`.
Nothing is read but committed files: the run's tables and figures, its parameters, and what the paper prints.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from searchless_rl.claims.estimates import UnmeasuredError
from searchless_rl.claims.expressions import Frames, accuracy
from searchless_rl.claims.finding_rules import UNMEASURED
from searchless_rl.claims.findings import PREMISE, PREMISES
from searchless_rl.claims.frames import FIGURES
from searchless_rl.claims.mechanism_rules import MECHANISM_RULES
from searchless_rl.claims.rule_forms import Judgement, Rule
from searchless_rl.claims.statement_rules import STATEMENT_RULES
from searchless_rl.claims.table_rules import TABLE_RULES
from searchless_rl.params import Params
from searchless_rl.reports.formats import MISSING

RULES: Mapping[str, Rule] = {**STATEMENT_RULES, **MECHANISM_RULES, **TABLE_RULES}
"""Claim -> its rule. A claim is a statement of the paper, or a column of one: ``C081.mate1``."""
COLUMNS = (
    *("id", "section", "kind", "claim", "statistic", "measured", "value", "low", "high", "n", "interval"),
    *("seeds", "seed_value", "seed_low", "seed_high", "paper", "paper_value", "paper_low", "paper_high"),
    *("paper_verdict", "verdict", "as_measured", "over_items", "premise", "why", "file"),
)
OVER_ITEMS, EXACT = "95 %, over items", "none"


@dataclass(frozen=True)
class Premise:
    """What some claims presuppose of a run.

    Attributes:
        text: in words.
        is_met: whether a run has it.
        claims: which presuppose it.
    """

    text: str
    is_met: Callable[[Params, Frames], bool]
    claims: frozenset[str]


def _from_findings(key: str, claims: Sequence[str]) -> Premise:
    text, is_met = PREMISES[key]
    return Premise(text, lambda params, frames: is_met(params), frozenset(claims))


def _at_ceiling(params: Params, frames: Frames) -> bool:
    return accuracy("mate1", "base", None).of(frames).value >= 0.99


CLAIM_PREMISES = (
    _from_findings("search", ("C011", "C096", "C099", "C100", "C101", "C104", "C106")),
    _from_findings("steps", ("C006", "C103", "C120", "C121", "C197")),
    Premise("the base solves nearly every mate in one", _at_ceiling, frozenset(("C090", "C107"))),
)


def rules_digest() -> str:
    """SHA-256 (hex) of every claim's id and rule in words: which rules a report was judged by."""
    lines = (f"{claim}\t{rule}\n" for claim, rule in sorted(RULES.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_statements(folder: Path) -> pd.DataFrame:
    """The paper's statements (data/paper/statements.csv), all as text, indexed by id.

    Columns: section; statement, paraphrased; value and interval as printed, empty where another file of the
    folder has the numbers, which `home` names; kind (quantitative, directional, table value, count, analytic,
    setting, figure, cited).

    Raises:
        OSError: the file is missing.
        ValueError: two statements have one id.
    """
    frame = pd.read_csv(folder / "statements.csv", dtype=str, keep_default_na=False)
    if frame["id"].duplicated().any():
        raise ValueError(f"{folder / 'statements.csv'}: an id stands twice")
    return frame.set_index("id")


def claims_table(frames: Frames, paper: Frames, statements: pd.DataFrame, params: Params) -> pd.DataFrame:
    """Every claim with this run's measurement, the paper's number and the verdict.

    Args:
        frames: a run's, of `frames.read_frames`.
        paper: of `frames.paper_frames`.
        statements: of `read_statements`.
        params: this scale's, for premises and paths.

    Returns:
        `COLUMNS`, a row a claim in the order of the statements. measured is the statistic in words; value,
        low, high and n are empty where several statistics carry the verdict; interval is what low and high
        are ("none": exact, of one training, with bounds of numerical error or margin only in the verdict);
        seeds counts trainings (0: none told apart), with their mean and t interval from two on.
        paper_verdict is the same rule's on the paper's own numbers. as_measured is the verdict without the
        premise, over_items also without the interval over seeds. file lists ``path:lines:column``.
    """
    places = sorted(RULES, key=lambda claim: claim.partition(".")[0])
    said: dict[str, dict[str, str]] = statements.to_dict("index")  # type: ignore[assignment]  # all text
    rows = [_row(claim, frames, paper, said[claim.partition(".")[0]], params) for claim in places]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"n": "Int64"})


def _row(
    claim: str, frames: Frames, paper: Frames, statement: Mapping[str, str], params: Params
) -> dict[str, object]:
    rule = RULES[claim]
    ours, theirs = _judge(rule, frames, paper), _judge(rule, paper, paper)
    verdict, premise = ours.verdict, ""
    for one in CLAIM_PREMISES:
        if claim in one.claims:
            premise = one.text
            if verdict != UNMEASURED and not one.is_met(params, frames):
                verdict = PREMISE
    suffix = claim.partition(".")[2]
    return {
        **{"id": claim, "section": statement["section"], "kind": statement["kind"]},
        "claim": statement["statement"] + (f" ({suffix})" if suffix else ""),
        **{"statistic": str(rule), "measured": ours.text},
        **_numbers(ours),
        "paper": _printed(statement, theirs),
        **{f"paper_{name}": value for name, value in _bounds(theirs).items()},
        **{"paper_verdict": theirs.verdict, "verdict": verdict, "as_measured": ours.verdict},
        **{"over_items": ours.over_items, "premise": premise},
        "why": ours.why if verdict != PREMISE else f"not so in this run: {premise}",
        "file": _files(ours.sources, params.scale),
    }


def _judge(rule: Rule, frames: Frames, paper: Frames) -> Judgement:
    try:
        return rule.judge(frames, paper)
    except UnmeasuredError as error:
        return Judgement(UNMEASURED, UNMEASURED, MISSING, why=str(error))


def _bounds(found: Judgement) -> dict[str, float | None]:
    estimate = found.estimate
    if estimate is None:
        return {"value": None, "low": None, "high": None}
    low, high = (estimate.low, estimate.high) if estimate.sampled else (None, None)
    return {"value": estimate.value, "low": low, "high": high}


def _numbers(found: Judgement) -> dict[str, object]:
    estimate = found.estimate
    numbers: dict[str, object] = {**_bounds(found), "seeds": found.seeds}
    if estimate is not None:
        numbers |= {"n": estimate.n, "interval": OVER_ITEMS if estimate.sampled else EXACT}
        if (seeds := estimate.over_seeds()) is not None:
            numbers |= {f"seed_{name}": value for name, value in seeds._asdict().items()}
    return numbers


def _printed(statement: Mapping[str, str], theirs: Judgement) -> str:
    """What the paper prints, else what the rule's statistic is of its numbers."""
    said = " ".join(filter(None, (statement["value"], statement["interval"])))
    return said if said or theirs.text == MISSING else theirs.text


def _files(sources: Sequence[str], scale: str) -> str:
    """Addresses with their folders, the lines of one column together."""
    lines: dict[tuple[str, str], list[str]] = {}
    for source in sources:
        name, line, column = source.split(":", 2)
        lines.setdefault((name, column), []).append(line)
    return "; ".join(
        f"{'paper_figures' if name.removesuffix('.csv') in FIGURES else 'reports'}/{scale}/{name}"
        f":{','.join(dict.fromkeys(numbers))}:{column}"
        for (name, column), numbers in lines.items()
    )
