"""The judged claims as files: claims.csv for machines, claims.md for readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from searchless_rl.claims.deviations import PILOTED
from searchless_rl.claims.finding_rules import MARGIN, UNMEASURED
from searchless_rl.claims.findings import PILOT_CAVEAT, verdict_counts, verdict_text
from searchless_rl.claims.judged import rules_digest
from searchless_rl.claims.table_rules import TABLE_RULES
from searchless_rl.files import write_atomically
from searchless_rl.params import Params
from searchless_rl.reports.formats import MISSING, Source, csv_text

_READING = f"""\
Intervals are 95 %, over puzzles, positions or games. Differences and ratios of numbers that were not
measured as pairs take them as independent, which is too wide where the puzzles are the same. Draws,
divergences and entropies have no interval over items: they must differ by {100 * MARGIN:g} %. Of a rule with
several parts every part must hold, and one that is contradicted contradicts it. Intervals are not corrected
for how many claims there are. The last column is the same rule's verdict on the paper's own numbers: where it
is inconclusive, the intervals that the paper prints do not settle its claim."""
_ONE_SEED = "Each cell is one training run (one seed): what another seed would give, no interval here says."
_SEEDS = """\
Where a cell was trained with several seeds (column seeds of the CSV), the t interval over seeds must say the
same as the one over items, else the verdict is inconclusive."""


def read_claims(path: Path) -> pd.DataFrame:
    """The frame behind a claims.csv that `write_claims` wrote."""
    return pd.read_csv(path, keep_default_na=False)


def counts_of(frame: pd.DataFrame) -> str:
    """How many claims have each verdict: ``120 claims judged: 40 supported, ...``."""
    return f"{len(frame)} claims judged: {verdict_counts(frame)}"


def split_claims(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Claims of the text, and those that are numbers of the paper's tables."""
    in_tables = frame["id"].isin(list(TABLE_RULES))
    return frame[~in_tables], frame[in_tables]


def write_claims(frame: pd.DataFrame, stem: Path, params: Params) -> None:
    """Write the frame of `judged.claims_table` as CSV and as Markdown: verdicts, then rules."""
    write_atomically(stem.with_suffix(".csv"), csv_text(frame))
    text, tables = split_claims(frame)
    reading = [_READING, _SEEDS if frame["seeds"].max() > 1 else _ONE_SEED]
    reading += [PILOT_CAVEAT] if params.scale in PILOTED else []
    parts = [
        f"# The paper, claim by claim\n\n{Source.of(params)}",
        f"{counts_of(frame)}.",
        " ".join(reading).replace("\n", " "),
        f"## What the text says\n\n{counts_of(text)}.",
        _verdicts(text),
        f"## What the tables print\n\n{counts_of(tables)}. Each number is an effect on the own base; one "
        "that the paper's interval does not tell from none is not judged.",
        _verdicts(tables),
        f"## Rules\n\nSHA-256 of the rules, for `git log -S`: `{rules_digest()}`.",
        _table(("Claim", "Rule", "Numbers"), frame[["id", "statistic", "file"]].to_numpy().tolist()),
    ]
    write_atomically(stem.with_suffix(".md"), "\n\n".join(parts) + "\n")


def _verdicts(frame: pd.DataFrame) -> str:
    head = ("", "Claim", "Paper", "This run", "Verdict", "Paper's own")
    rows = [
        (
            *(row["id"], f"{row['claim']} ({row['section']})", row["paper"], row["measured"], _verdict(row)),
            "" if row["paper_verdict"] == UNMEASURED else row["paper_verdict"],
        )
        for _, row in frame.iterrows()
    ]
    return _table(head, rows)


def _verdict(row: pd.Series) -> str:
    shown = verdict_text(row)
    return f"{shown}: {row['why']}" if row["why"] else shown


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell or MISSING for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
