"""The stages `tactics` and `evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from searchless_rl.evaluation.tactics import score_suite, summarize
from searchless_rl.files import sha256_of, write_json, write_parquet
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.suites.files import read_suite
from searchless_rl.suites.split import SUITE_NAMES

DEEP_SUITES = tuple(name for name in SUITE_NAMES if name not in ("selection", "control"))
"""What chosen networks are scored on: neither what chose them nor what trained the control."""


def run_tactics(
    weights: Path,
    suites: Path,
    names: Sequence[str],
    out: Path,
    *,
    batch_size: int,
    show_progress: bool = False,
) -> None:
    """Score a network on the named suites, into `out` (section 3.1).

    NAME.parquet (puzzles) and NAME_positions.parquet (solver positions) of each suite, see `SuiteScores`, and
    summary.json.
    """
    evaluator = Evaluator(load_network(weights), batch_size)
    summary = {}
    for name in names:
        items = read_suite(suites / f"{name}.csv")
        with tqdm(
            total=len(items), desc=f"{out.name} {name}", unit="puzzle", disable=not show_progress
        ) as bar:
            scores = score_suite(evaluator, items, bar.update)
        write_parquet(scores.puzzles, out / f"{name}.parquet")
        write_parquet(scores.positions, out / f"{name}_positions.parquet")
        summary[name] = summarize(scores.puzzles)
    write_json(out / "summary.json", {"weights_sha256": sha256_of(weights), "suites": summary})
