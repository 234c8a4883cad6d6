"""Puzzles per second: batched, one position per forward pass, and forward passes alone.

    python benchmarks/evaluate.py [WEIGHTS] [--puzzles 2000] [--batch 256] [--threads 1]

The one-position loop is what a reader would write on python-chess: play the line on a board, set the planes
from the boards of the last eight plies, one forward pass, argmax over the legal moves, any mate in one right.
Rounds of the three alternate, so that a busy machine slows all of them; the medians are compared.
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

from searchless_rl.board import move_index
from searchless_rl.evaluation.tactics import score_suite
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.suites.files import SuiteItem
from searchless_rl.suites.puzzles import read_puzzles
from searchless_rl.suites.winning import winning_sets

ROOT = Path(__file__).resolve().parent.parent
LOOP_SHARE = 8  # the loop plays every eighth puzzle


def planes_of(board: chess.Board) -> np.ndarray:
    """float32 [112, 8, 8] planes of a board and its move stack, set square by square."""
    planes = np.zeros((112, 8, 8), np.float32)
    us, past = board.turn, board.copy()
    for back in range(8):
        for square, piece in past.piece_map().items():
            rank = chess.square_rank(square) if us else 7 - chess.square_rank(square)
            plane = 13 * back + piece.piece_type - 1 + (0 if piece.color == us else 6)
            planes[plane, rank, chess.square_file(square)] = 1
        if past.is_repetition(2):
            planes[13 * back + 12] = 1
        if past.move_stack:
            past.pop()
        elif (
            past.ep_square is not None
        ):  # lc0 fills the history before a FEN with the position before the push
            step = 8 if past.turn == chess.BLACK else -8
            past.set_piece_at(past.ep_square - step, past.remove_piece_at(past.ep_square + step))
            past.ep_square = None
    for place, (color, has_rights) in enumerate(
        (color, has_rights)
        for color in (us, not us)
        for has_rights in (board.has_queenside_castling_rights, board.has_kingside_castling_rights)
    ):
        planes[104 + place] = has_rights(color)
    planes[108] = not us
    planes[109] = board.halfmove_clock
    planes[111] = 1
    return planes


@torch.inference_mode()
def one_at_a_time(network: nn.Module, items: list[SuiteItem]) -> int:
    """Solve puzzles position by position; returns how many are solved."""
    solved = 0
    for item in items:
        board, right = chess.Board(item.puzzle.fen), True
        for ply, uci in enumerate(item.puzzle.moves):
            if ply % 2:
                logits = network(torch.from_numpy(planes_of(board))[None]).policy[0]
                legal = list(board.legal_moves)
                policy = torch.softmax(torch.stack([logits[move_index(board, move)] for move in legal]), 0)
                best = legal[int(policy.argmax())]
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", nargs="?", type=Path, default=ROOT / "data" / "base" / "base.pb.gz")
    parser.add_argument("--puzzles", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    puzzles = read_puzzles(ROOT / "data" / "lichess" / "torre_6605_2026.csv")[0]
    chosen = puzzles[:: len(puzzles) // arguments.puzzles][: arguments.puzzles]
    items = [SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in chosen]
    few = items[::LOOP_SHARE]
    network = load_network(arguments.weights)
    evaluator = Evaluator(network, arguments.batch)
    positions = sum(len(item.winning) for item in items)
    planes = np.random.default_rng(0).random((arguments.batch, 112, 8, 8), np.float32)
    passes = -(-positions // arguments.batch)

    by_batch = int(score_suite(evaluator, few).puzzles["solved"].sum())
    if (by_loop := one_at_a_time(network, few)) != by_batch:
        raise SystemExit(f"the two disagree: {by_batch} and {by_loop} solved")
    ours, loop, alone = [], [], []
    for _ in range(arguments.rounds):
        ours.append(seconds(lambda: score_suite(evaluator, items)))
        loop.append(seconds(lambda: one_at_a_time(network, few)) * len(items) / len(few))
        full = seconds(lambda: [evaluator(planes) for _ in range(passes)])
        alone.append(full * positions / (passes * arguments.batch))
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
