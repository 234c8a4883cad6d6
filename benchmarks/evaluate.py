"""Puzzles per second: batched, one position per forward pass, and forward passes alone.

    python benchmarks/evaluate.py [WEIGHTS] [--puzzles 400] [--batch 256] [--threads 1]

The one-position loop is what a script on python-chess does: push, encode, one forward pass, argmax. Rounds of
the three alternate, so that a busy machine slows all of them; the medians are compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import chess
import numpy as np
import torch
from torch import nn

from searchless_rl.board import encode_game, move_index
from searchless_rl.evaluation.tactics import score_suite
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.suites.files import SuiteItem
from searchless_rl.suites.puzzles import read_puzzles
from searchless_rl.suites.winning import winning_sets

ROOT = Path(__file__).resolve().parent.parent


@torch.inference_mode()
def one_at_a_time(network: nn.Module, items: list[SuiteItem]) -> int:
    """Solve puzzles position by position; returns how many are solved."""
    solved = 0
    for item in items:
        board, history, right = chess.Board(item.puzzle.fen), list[str](), True
        for ply, uci in enumerate(item.puzzle.moves):
            if ply % 2:
                planes = torch.from_numpy(encode_game(item.puzzle.fen, history))[None]
                logits = network(planes).policy[0]
                best = max(board.legal_moves, key=lambda move: float(logits[move_index(board, move)]))
                right &= best.uci() in item.winning[ply // 2]
            board.push_uci(uci)
            history.append(uci)
        solved += right
    return solved


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", nargs="?", type=Path, default=ROOT / "data" / "base" / "base.pb.gz")
    parser.add_argument("--puzzles", type=int, default=400)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    puzzles = read_puzzles(ROOT / "data" / "lichess" / "torre_6605_2026.csv")[0]
    items = [
        SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in puzzles[:: len(puzzles) // arguments.puzzles]
    ]
    network = load_network(arguments.weights)
    evaluator = Evaluator(network, arguments.batch)
    positions = sum(len(item.winning) for item in items)
    planes = np.random.default_rng(0).random((arguments.batch, 112, 8, 8), np.float32)
    forwards = -(-positions // arguments.batch)

    scores = score_suite(evaluator, items)
    solved = one_at_a_time(network, items)
    if solved != scores["solved"].sum():
        raise SystemExit(f"the two disagree: {scores['solved'].sum()} and {solved} solved")
    ours, loop, alone = [], [], []
    for _ in range(arguments.rounds):
        ours.append(seconds(lambda: score_suite(evaluator, items)))
        loop.append(seconds(lambda: one_at_a_time(network, items[::8])) * len(items) / len(items[::8]))
        full = seconds(lambda: [evaluator(planes) for _ in range(forwards)])
        alone.append(full * positions / (forwards * arguments.batch))
    batched, single, forward = (statistics.median(times) for times in (ours, loop, alone))
    print(f"{len(items)} puzzles, {positions} solver positions")
    print(f"batch {arguments.batch}, threads {arguments.threads}")
    for label, took in (
        ("batched", batched),
        ("one position per pass", single),
        ("forward passes alone", forward),
    ):
        print(f"{label:>22}  {len(items) / took:9.1f} puzzles/s  {positions / took:9.1f} positions/s")
    print(f"batched / one position per pass: {single / batched:.1f}x")
    print(f"batched / forward passes alone:  {100 * forward / batched:.0f} %")


if __name__ == "__main__":
    main()
