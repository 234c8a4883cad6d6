"""The stage `claims`."""

from __future__ import annotations

from pathlib import Path

from searchless_rl.claims.frames import paper_frames, read_frames
from searchless_rl.claims.judged import claims_table, read_statements
from searchless_rl.claims.judged_document import write_claims
from searchless_rl.params import Params


def build_claims(params: Params, paper: Path, reports: Path, figures: Path) -> None:
    """Write claims (csv, md): every statement of the paper that a rule is stated for, judged.

    Args:
        params: this scale's.
        paper: the paper's printed numbers (data/paper).
        reports: this scale's report folder; its CSV files are read, and claims are written there.
        figures: this scale's folder of figures with the CSV files behind them.

    Raises:
        OSError: a file of the paper's numbers is missing.
    """
    frames = read_frames(reports, figures)
    table = claims_table(frames, paper_frames(paper), read_statements(paper), params)
    write_claims(table, reports / "claims", params)
