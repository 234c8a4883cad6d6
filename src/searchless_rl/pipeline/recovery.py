"""The stage `recovery`: the base and both prior-anchored models, adaptive temperature, as in the paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from searchless_rl import layout
from searchless_rl.evaluation.candidates import Oracle, choose_examples, judge_candidates
from searchless_rl.evaluation.names import FORWARD, REVERSE
from searchless_rl.evaluation.oracle import stockfish_oracle
from searchless_rl.evaluation.recovery import side_by_side
from searchless_rl.files import write_atomically, write_parquet
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.params import Params
from searchless_rl.results.names import BASE
from searchless_rl.suites.files import read_suite


def run_recovery(tactics: Mapping[str, Path], suite: str, out: Path) -> None:
    """Put the base's and the tuned models' positions of a suite side by side, as the Parquet file `out`.

    Args:
        tactics: "base" and models -> folder that `run_tactics` wrote.
        suite: which of its suites.
        out: the file; columns see `recovery.side_by_side`.

    Raises:
        ValueError, OSError: a folder lacks the suite, or players were asked different positions.
    """
    positions = {
        player: pd.read_parquet(folder / f"{suite}_positions.parquet") for player, folder in tactics.items()
    }
    any_folder = next(iter(tactics.values()))
    ratings = pd.read_parquet(any_folder / f"{suite}.parquet", columns=["puzzle_id", "rating"])
    write_parquet(side_by_side(positions, ratings, suite), out)


def run_candidates(
    recovery: Path,
    suite: Path,
    weights: Mapping[str, Path],
    out: Path,
    *,
    forward: str,
    reverse: str,
    batch_size: int,
    oracle: Oracle | None = None,
) -> None:
    """Judge the candidate moves of both anchors' clearest exclusive recoveries, as the CSV file `out`.

    Args:
        recovery: file of `run_recovery`.
        suite: CSV of the same suite.
        weights: "base", `forward` and `reverse` -> network file.
        out: the file; columns see `candidates.judge_candidates`.
        forward: the forward-KL model.
        reverse: the reverse-KL model.
        batch_size: positions per forward pass.
        oracle: a stronger judge, where there is one.
    """
    examples = choose_examples(pd.read_parquet(recovery), forward, reverse)
    files = {BASE: weights[BASE], FORWARD: weights[forward], REVERSE: weights[reverse]}
    players = {role: Evaluator(load_network(path), batch_size) for role, path in files.items()}
    frame = judge_candidates(examples, read_suite(suite), players, oracle)
    write_atomically(out, frame.to_csv(index=False, lineterminator="\n"))


SUITE = "main"
ANCHORS = {FORWARD: "forward_kl-adaptive", REVERSE: "reverse_kl-adaptive"}


def run_recovery_stage(params: Params, data: Path, out: Path) -> None:
    """Write positions.parquet (side by side) and candidates.csv (Figure 9) into `out`.

    Raises:
        ValueError, OSError: a stage before is missing, or the engine of `stockfish.path` cannot be used.
    """
    selection = layout.choices("selected", data)
    try:
        chosen = json.loads(selection.read_text(encoding="utf-8"))
        cells = {role: chosen[arm]["cell"] for role, arm in ANCHORS.items()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{selection}: not readable ({error!r}); run the stage select") from error
    folders = {BASE: layout.evaluated(BASE, data)}
    weights = {BASE: layout.chosen(BASE, data)}
    for role, arm in ANCHORS.items():
        folders[cells[role]] = layout.evaluated(f"selected-{arm}", data)
        weights[cells[role]] = layout.chosen(f"selected-{arm}", data)
    run_recovery(folders, SUITE, out / layout.POSITIONS)
    stockfish = params.stockfish
    run_candidates(
        out / layout.POSITIONS,
        layout.suite(SUITE, data),
        weights,
        out / layout.CANDIDATES,
        forward=cells[FORWARD],
        reverse=cells[REVERSE],
        batch_size=params.evaluation.batch_size,
        oracle=None
        if stockfish.path is None
        else stockfish_oracle(Path(stockfish.path), stockfish.nodes, out / "oracle.jsonl"),
    )
