"""The part of the stage `tables` that comes after the tables: deviations, the paper's numbers, findings."""

from __future__ import annotations

from pathlib import Path

from searchless_rl import layout
from searchless_rl.claims.deviations import control_epochs, deviations, write_deviations
from searchless_rl.claims.findings import findings, read_frames, write_findings
from searchless_rl.claims.published import published, read_tables, write_published
from searchless_rl.params import Params
from searchless_rl.reports.formats import Source
from searchless_rl.reports.tables import PAPER_BASE
from searchless_rl.results.models import read_models


def build_findings(params: Params, data: Path, out: Path) -> None:
    """Write deviations and published (csv, md, tex) and findings (csv, md) beside the written tables.

    Args:
        params: this scale's.
        data: results of the stages, for what parameters do not tell.
        out: the report folder; its CSV files are what findings and the paper's numbers are held against.
    """
    precisions = {model.precision for model in read_models(data, params) if model.precision}
    measured = {"control.epochs": control_epochs(layout.control(data) / layout.CONTROL_MANIFEST)}
    frame = deviations(params, precisions=precisions, measured=measured)
    write_deviations(frame, out / "deviations", Source.of(params))
    numbers = published(layout.paper(data), read_tables(out))
    write_published(numbers, out / "published", Source.of(params), PAPER_BASE)
    write_findings(findings(read_frames(out), params), out / "findings", params)
