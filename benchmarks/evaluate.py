"""Puzzles per second: batched, one position per forward pass, and forward passes alone.

    python benchmarks/evaluate.py [WEIGHTS] [--puzzles 2000] [--batch 256] [--threads 1 2]

The one-position loop is what a reader would write on python-chess: play the line on a board, set the planes
from the boards of the last eight plies, one forward pass, argmax over the legal moves, any mate in one right.
Rounds of the three alternate, so that a busy machine slows all of them; the medians are compared. A ratio is
the value over the baseline. What forward passes alone reach over the loop is the most that batching can gain
on a machine: it grows with the threads, which a single position cannot use.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import chess
import numpy as np
import torch
from shared.one_board import best_move
from shared.rows import Row, describe_machine, keep
from torch import nn

from searchless_rl.evaluation.tactics import score_suite
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.suites.files import SuiteItem
from searchless_rl.suites.puzzles import read_puzzles
from searchless_rl.suites.winning import winning_sets

ROOT = Path(__file__).resolve().parent.parent
LOOP_SHARE = 8  # the loop plays every eighth puzzle


def one_at_a_time(network: nn.Module, items: list[SuiteItem]) -> int:
    """Solve puzzles position by position; returns how many are solved."""
    solved = 0
    for item in items:
        board, right = chess.Board(item.puzzle.fen), True
        for ply, uci in enumerate(item.puzzle.moves):
            if ply % 2:
                best = best_move(network, board)
                after = board.copy()
                after.push(best)
                right &= best.uci() == uci or after.is_checkmate()
            board.push_uci(uci)
        solved += right
    return solved


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def measure(
    network: nn.Module, items: list[SuiteItem], batch: int, rounds: int, threads: int
) -> Iterator[Row]:
    """The rows for one number of threads.

    Raises:
        SystemExit: batch and loop do not solve the same puzzles.
    """
    torch.set_num_threads(threads)
    few = items[::LOOP_SHARE]
    evaluator = Evaluator(network, batch)
    positions = sum(len(item.winning) for item in items)
    planes = np.random.default_rng(0).random((batch, 112, 8, 8), np.float32)
    passes = -(-positions // batch)

    by_batch = int(score_suite(evaluator, few).puzzles["solved"].sum())
    if (by_loop := one_at_a_time(network, few)) != by_batch:
        raise SystemExit(f"the two disagree: {by_batch} and {by_loop} solved")
    ours, loop, alone = [], [], []
    for _ in range(rounds):
        ours.append(seconds(lambda: score_suite(evaluator, items)))
        loop.append(seconds(lambda: one_at_a_time(network, few)) * len(items) / len(few))
        full = seconds(lambda: [evaluator(planes) for _ in range(passes)])
        alone.append(full * positions / (passes * batch))
    batched, single, forward = (len(items) / statistics.median(times) for times in (ours, loop, alone))
    setting = f"batch {batch}, {threads} thread{'s' if threads > 1 else ''}"

    def row(label: str, value: float, baseline: float, target: str = "") -> Row:
        return Row("suite", f"{label}, {setting}", value, "puzzles/s", baseline, value / baseline, target)

    yield row("batched beside one position a pass", batched, single, "ratio >= 10")
    yield row("batched beside forward passes alone", batched, forward, "ratio >= 0.8")
    yield row("forward passes alone beside one position a pass", forward, single)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", nargs="?", type=Path, default=ROOT / "data" / "base" / "base.pb.gz")
    parser.add_argument("--puzzles", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, torch.get_num_threads()}))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "evaluate.csv")
    arguments = parser.parse_args()

    puzzles = read_puzzles(ROOT / "data" / "lichess" / "torre_6605_2026.csv")[0]
    chosen = puzzles[:: len(puzzles) // arguments.puzzles][: arguments.puzzles]
    items = [SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in chosen]
    network = load_network(arguments.weights)
    rows = (
        row
        for threads in arguments.threads
        for row in measure(network, items, arguments.batch, arguments.rounds, threads)
    )
    keep(rows, arguments.out, describe_machine(max(arguments.threads)))


if __name__ == "__main__":
    main()
