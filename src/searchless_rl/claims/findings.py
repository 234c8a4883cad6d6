"""What this run found of the paper's headline claims: reports/SCALE/findings.{csv,md}.

A claim is the paper's, in its words and numbers; the measurement is this run's; the verdict follows from a
rule that is stated in one line and computed from the tables' CSV files. Five verdicts: supported,
contradicted, inconclusive (the 95 % interval lies on both sides), premise not met (the claim presupposes what
this run does not have; the verdict without the premise stands beside it), not measurable here (its table was
not made).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from searchless_rl.claims import finding_rules as rules
from searchless_rl.claims.deviations import PILOTED
from searchless_rl.claims.finding_rules import Finding, Frames
from searchless_rl.files import write_atomically
from searchless_rl.params import Params
from searchless_rl.reports.formats import MISSING, Source, csv_text

PREMISE = "premise not met"
VERDICTS = (rules.SUPPORTED, rules.CONTRADICTED, rules.INCONCLUSIVE, PREMISE, rules.UNMEASURED)
PILOT_CAVEAT = (
    "The training settings of this scale were chosen in a pilot that had seen every arm (deviations.md); "
    "these verdicts carry that caveat."
)
"""Said of the scales in `PILOTED`."""
COLUMNS = (
    *("id", "section", "claim", "paper", "measured", "value", "low", "high", "n"),
    *("verdict", "as_measured", "premise", "rule"),
)
MEASURED = {
    **{"table1": "accuracy", "table4": "main", "table5": "elo", "table6": "k", "cells": "main_accuracy"},
    **{"coverage": "draws_95_low", "recovery": "value", "paired": "difference"},
}
"""CSV file -> the column that a row holds if it was measured."""

PAPER_STEPS = 2000
"""Optimizer steps of the paper (Table 2)."""
SEARCH_PRIORS = ("bt4", "visits", "t70-703810", "t59-591226", "meangirl-8", "goodgyal-5", "badgyal-3")
"""Bases that were distilled from a search: the first four from the visit counts of a tree search, like the
paper's (appendix B), the others from alpha-beta searches. Names of `params.base`, or of its file."""
PREMISES: dict[str, tuple[str, Callable[[Params], bool]]] = {
    "search": (
        "the base is distilled from a search",
        lambda params: Path(params.base).name.split(".")[0] in SEARCH_PRIORS,
    ),
    "steps": (
        "training takes Table 2's steps",
        lambda params: params.selfplay.steps >= PAPER_STEPS,
    ),
}
"""What a claim may presuppose: in words, and whether a run has it."""


@dataclass(frozen=True)
class Claim:
    """One of the paper's claims and how a run is held against it.

    Attributes:
        id: short name, stable.
        section: where the paper makes it.
        text: the claim, as the paper's.
        paper: the paper's numbers.
        supported: when it is supported, in words; what is neither is inconclusive.
        contradicted: when it is contradicted.
        measure: reads the frames.
        premise: a key of `PREMISES`, or empty.
    """

    id: str
    section: str
    text: str
    paper: str
    supported: str
    contradicted: str
    measure: Callable[[Frames], Finding]
    premise: str = ""


_GAIN = ("the paired 95 % interval of the gain lies above 0", "it lies below 0")
_RATIO = ("the 95 % bootstrap interval of the paired ratio lies above 1", "it lies below 1")
_MARGIN = f"{100 * rules.MARGIN:g} %"
CLAIMS = (
    Claim(
        "accuracy",
        "abstract, 3.2",
        "Self-play raises puzzle accuracy over the base (forward-KL, adaptive)",
        "93.85 → 94.87 %",
        *_GAIN,
        functools.partial(rules.accuracy_gain, suite="main"),
    ),
    Claim(
        "accuracy-hard",
        "3.3",
        "… and on puzzles rated 2400 or more",
        "60.01 → 62.67 %",
        *_GAIN,
        functools.partial(rules.accuracy_gain, suite="hard"),
    ),
    Claim(
        "accuracy-mate4",
        "abstract, 3.3",
        "… and on mates in four",
        "77.16 → 81.38 %",
        *_GAIN,
        functools.partial(rules.accuracy_gain, suite="mate4"),
    ),
    Claim(
        "strength",
        "abstract, 3.2",
        "Cells anchored to the prior play at or above the base's strength",
        "+9.6 to +16.6 Elo, ± 8.3",
        "all four 95 % intervals of Elo lie above 0",
        "one lies below 0",
        rules.strength_of_anchors,
    ),
    Claim(
        "dissociation",
        "3.6",
        "A better puzzle-solver is not thereby a stronger player",
        "control: +2.95 points, −258 Elo",
        "a model gains on puzzles and loses rating, both beyond 95 % intervals",
        "only models that gain both",
        rules.dissociation,
    ),
    Claim(
        "control",
        "3.6",
        "Tuning on puzzles gains most accuracy of all and loses rating",
        "+2.95 points, −258.0 ± 9.1 Elo",
        "its gain lies above every other's interval and its Elo below 0",
        "Elo above 0, or a smaller gain",
        rules.control_trades,
    ),
    Claim(
        "u-shape",
        "3.3, Figure 5",
        "The error over β is U-shaped, with its minimum inside the grid",
        "5.94 %, 5.13 % at β = 0.01, 5.91 % at β = 1",
        "the best β is inside and its interval below both ends'",
        "the best β is an end, beyond the intervals",
        rules.u_shape,
    ),
    Claim(
        "beta",
        "3.1, Table 6",
        "β = 0.01 is selected by five of six arms",
        "5 of 6 arms",
        "all arms but one select it",
        "in two or more arms 0.01 is worse than the choice beyond the intervals",
        rules.selected_beta,
    ),
    Claim(
        "forward-hard",
        "3.3, Table 4",
        "The forward prior keeps more solution probability than the reverse anchor, rated ≥ 2400",
        "ratio 1.33",
        *_RATIO,
        functools.partial(rules.forward_over_reverse, suite="hard"),
        "search",
    ),
    Claim(
        "forward-mate4",
        "3.3, Table 4",
        "… at mate in four",
        "ratio 1.11",
        *_RATIO,
        functools.partial(rules.forward_over_reverse, suite="mate4"),
        "search",
    ),
    Claim(
        "forward-mate5",
        "3.3, Table 4",
        "… at mate in five",
        "ratio 1.34",
        *_RATIO,
        functools.partial(rules.forward_over_reverse, suite="mate5"),
        "search",
    ),
    Claim(
        "entropy-retention",
        "3.3, Table 4",
        "The entropy bonus keeps less of the solutions than the base",
        "0.222, the base's 0.660",
        "its 95 % interval lies below the base's",
        "above the base's",
        rules.entropy_retention,
    ),
    Claim(
        "collapse",
        "3.3, Figure 7",
        "Without a regularizer self-play collapses onto a single line",
        "1 draw; 99.9 % in one line",
        f"one line holds {100 * rules.SINGLE_LINE:g} % at both temperatures",
        "it does not (exact, no interval)",
        rules.collapse,
        "steps",
    ),
    Claim(
        "coverage-order",
        "3.3, Figure 7",
        "Coverage orders the arms: none, reverse, forward, entropy, base",
        "1, 700, 1,400, 4,100, 22,000 draws",
        f"this order at both temperatures, each step by more than {_MARGIN}",
        f"a step the other way by more than {_MARGIN} (no interval)",
        rules.coverage_order,
    ),
    Claim(
        "reverse-tighter",
        "3.3, appendix H",
        "The reverse anchor is more concentrated than the forward prior",
        "about twice; at every position",
        f"fewer draws in every comparison, by more than {_MARGIN}",
        f"more draws in one, by more than {_MARGIN} (no interval)",
        rules.reverse_is_tighter,
    ),
    Claim(
        "divergence",
        "3.4, Table 5",
        "At τ ≡ 1 the forward prior stays closest to the base, then reverse, then entropy",
        "KL(base‖π) 0.22, 0.60, 1.26 nats",
        f"this order of the means, each step by more than {_MARGIN}",
        f"a step the other way by more than {_MARGIN} (no interval)",
        rules.divergence_order,
    ),
    Claim(
        "sampled",
        "3.4, Table 5",
        "In sampled play sharper policies are stronger: tempering raises the base and every arm",
        "+361 ± 29; 4 of 4 arms",
        "the base's Elo interval above 0 and all arms",
        "below 0, or no arm",
        rules.sampled_strength,
    ),
    Claim(
        "recovery",
        "abstract, 3.5",
        "What is recovered are near misses: solutions that the base kept likely",
        "0 of 390 below 0.05, about 41 % from 0.3",
        "the share rises with the base's probability and its ends' intervals are apart",
        "neither, where anything is recovered",
        rules.recovery_gate,
    ),
)


def read_frames(folder: Path) -> dict[str, pd.DataFrame]:
    """The measured rows of the report folder's CSV files, by name; empty frames where they are missing."""
    frames = {}
    for name, column in MEASURED.items():
        path = folder / f"{name}.csv"
        frames[name] = pd.read_csv(path).dropna(subset=column) if path.exists() else pd.DataFrame()
    return frames


def findings(frames: Frames, params: Params) -> pd.DataFrame:
    """Every claim with this run's measurement and verdict.

    Args:
        frames: of `read_frames`.
        params: this scale's, for the premises.

    Returns:
        `COLUMNS`, a row a claim. verdict is one of `VERDICTS`; as_measured is the verdict without premises.
    """
    return pd.DataFrame([_judge(claim, frames, params) for claim in CLAIMS], columns=list(COLUMNS))


def _judge(claim: Claim, frames: Frames, params: Params) -> dict[str, object]:
    try:
        finding = claim.measure(frames)
    except (KeyError, IndexError):  # a missing file, row or value
        finding = Finding(MISSING, rules.UNMEASURED)
    verdict, premise = finding.verdict, ""
    if claim.premise:
        premise, is_met = PREMISES[claim.premise]
        if verdict != rules.UNMEASURED and not is_met(params):
            verdict = PREMISE
    return {
        **{"id": claim.id, "section": claim.section, "claim": claim.text, "paper": claim.paper},
        **{"measured": finding.text, "value": finding.value, "low": finding.low, "high": finding.high},
        **{"n": finding.n, "verdict": verdict, "as_measured": finding.verdict},
        **{"premise": premise, "rule": f"supported: {claim.supported}; contradicted: {claim.contradicted}"},
    }


def write_findings(frame: pd.DataFrame, stem: Path, params: Params) -> None:
    """Write `findings`' frame as CSV and as Markdown: the table, then the rules."""
    write_atomically(stem.with_suffix(".csv"), csv_text(frame.assign(n=frame["n"].astype("Int64"))))
    parts = [
        f"# What this run found\n\n{Source.of(params)}",
        table_of(frame),
        summary_of(frame, params),
        "## Rules",
        "A claim that neither rule settles is inconclusive.",
        "\n".join(_rules()),
    ]
    write_atomically(stem.with_suffix(".md"), "\n\n".join(parts) + "\n")


def read_findings(path: Path) -> pd.DataFrame:
    """The frame behind a findings.csv that `write_findings` wrote."""
    return pd.read_csv(path, keep_default_na=False)


def _rules() -> list[str]:
    lines = ["| Claim | Supported if | Contradicted if | Premise |", "|---|---|---|---|"]
    for claim in CLAIMS:
        premise = PREMISES[claim.premise][0] if claim.premise else ""
        lines.append(f"| {claim.id} | {claim.supported} | {claim.contradicted} | {premise} |")
    return lines


def table_of(frame: pd.DataFrame) -> str:
    """The claims, the paper's numbers, this run's, verdicts: a Markdown table."""
    lines = ["| The paper's claim | Paper | This run | Verdict |", "|---|---|---|---|"]
    for _, row in frame.iterrows():
        claim = f"{row['claim']} ({row['section']})"
        lines.append(f"| {claim} | {row['paper']} | {row['measured']} | {verdict_text(row)} |")
    return "\n".join(lines)


def summary_of(frame: pd.DataFrame, params: Params) -> str:
    """How many claims have each verdict, and what the reader must know of this scale."""
    text = f"{len(frame)} claims: {verdict_counts(frame)}. Intervals are 95 %, over puzzles or games: each "
    text += (
        "cell is one training run, and what another seed would give they do not say (sweep.csv has a few)."
    )
    premises = dict.fromkeys(frame.loc[frame["verdict"] == PREMISE, "premise"])
    if premises:
        text += f" Premises that this run does not meet: {'; '.join(premises)}."
    if params.scale in PILOTED:
        text += f" {PILOT_CAVEAT}"
    return text


def verdict_counts(frame: pd.DataFrame) -> str:
    """``8 supported, 4 contradicted``: how many rows have each verdict."""
    counts = {name: int((frame["verdict"] == name).sum()) for name in VERDICTS}
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def verdict_text(row: pd.Series) -> str:
    """A row's verdict in bold; where a premise is not met, with the verdict as measured."""
    if row["verdict"] == PREMISE:
        return f"**{PREMISE}** (as measured: {row['as_measured']})"
    return f"**{row['verdict']}**"
