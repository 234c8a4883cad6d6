"""Games per second: the arena, and a loop that plays one board at a time with python-chess.

    python benchmarks/arena.py [WEIGHTS] [--players 10] [--games 20] [--batch 16] [--threads 1 2]

A round-robin of argmax players: the network and copies of it whose weights differ by 3 % noise, as fine-tuned
ones do. The loop plays a sample of the same games as a script on python-chess does: legal moves and rules by
python-chess, planes set from the boards of the last eight plies, one forward pass a move. Times are processor
time with one thread and wall time otherwise; the loop runs before and after the arena, so that a busy machine
slows both. A ratio is the arena's rate over the loop's. The arena gains by asking in batches, and by asking
once where games or players agree; the host share is the part of its wall time outside forward passes.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import chess
import numpy as np
import torch
from shared.one_board import best_move
from shared.rows import Row, describe_machine, keep
from torch import nn

from searchless_rl.arena.match_runner import play_games
from searchless_rl.arena.openings import Opening
from searchless_rl.arena.players import Player
from searchless_rl.arena.schedule import Game, round_robin
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator

ROOT = Path(__file__).resolve().parent.parent
MAX_PLIES = 512
SAMPLE = 10
REPLIES = ("e7e5", "c7c5", "e7e6", "d7d5", "g8f6", "d7d6", "g7g6", "b8c6", "c7c6", "b7b6")


class Counting(Evaluator):
    """An evaluator that adds up the seconds and positions of all evaluators."""

    seconds = 0.0
    positions = 0
    passes = 0

    def __call__(self, planes: np.ndarray) -> Evaluation:
        """Evaluate, and count."""
        begun = time.perf_counter()  # process_time takes as long as some layers
        out = super().__call__(planes)
        Counting.seconds += time.perf_counter() - begun
        Counting.positions += len(planes)
        Counting.passes += 1
        return out


def variants(network: nn.Module, count: int) -> list[nn.Module]:
    """The network and copies with noise."""
    made = [network]
    for seed in range(1, count):
        other = copy.deepcopy(network)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in other.parameters():
                spread = 0.03 * parameter.std(correction=0)
                parameter += spread * torch.randn(parameter.shape, generator=generator)
        made.append(other)
    return made


def one_at_a_time(networks: list[nn.Module], games: list[Game]) -> list[tuple[str, ...]]:
    """Play argmax games position by position; their moves after the opening."""
    played = []
    for game in games:
        board = chess.Board()
        for uci in game.opening.moves:
            board.push_uci(uci)
        while board.ply() < MAX_PLIES and not (
            board.is_game_over() or board.is_repetition(3) or board.is_fifty_moves()
        ):
            board.push(best_move(networks[game.white if board.turn else game.black], board))
        played.append(tuple(move.uci() for move in board.move_stack[len(game.opening.moves) :]))
    return played


def measure(networks: list[nn.Module], games_per_pair: int, batch: int, threads: int) -> Iterator[Row]:
    """The rows for one number of threads.

    Raises:
        SystemExit: arena and loop play different games.
    """
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    Counting.seconds, Counting.positions, Counting.passes = 0.0, 0, 0
    firsts = [move.uci() for move in chess.Board().legal_moves]
    openings = [Opening(f"{one} {two}", None, (one, two)) for two, one in product(REPLIES, firsts)]
    players = [Player(f"p{number}", Path(str(number))) for number in range(len(networks))]
    games = round_robin(players, openings, games=games_per_pair)
    sample = games[:: -(-len(games) // SAMPLE)]

    loop_seconds, alone = [], list[tuple[str, ...]]()

    def loop() -> None:
        begun = clock()
        alone[:] = one_at_a_time(networks, sample)
        loop_seconds.append((clock() - begun) / sum(map(len, alone)))

    loop()
    begun, wall = clock(), time.perf_counter()
    outcomes = {
        outcome.number: outcome
        for outcome in play_games(
            games,
            players,
            lambda path: Counting(networks[int(path.name)], batch),
            seed=0,
            max_plies=MAX_PLIES,
            in_flight=len(games),
        )
    }
    took, wall = clock() - begun, time.perf_counter() - wall
    loop()

    same = sum(outcomes[game.number].moves == moves for game, moves in zip(sample, alone, strict=True))
    if same < len(sample) - 1:  # one may tie within rounding
        raise SystemExit(f"only {same} of {len(sample)} games are the same in the loop")
    plies = sum(len(outcome.moves) for outcome in outcomes.values())
    single = statistics.mean(loop_seconds) * plies / len(games)
    setting = (
        f"{len(networks)} players, {len(games)} games of {plies / len(games):.0f} plies, "
        f"batch {batch}, {threads} thread{'s' if threads > 1 else ''}"
    )
    rate = len(games) / took
    yield Row(
        "ladder",
        f"arena beside one board, {setting}",
        rate,
        "games/s",
        1 / single,
        rate * single,
        "ratio >= 10",
    )
    share = 100 * (1 - Counting.seconds / wall)
    yield Row("ladder", f"host share, {setting}", share, "% of the time", target="value <= 10")
    yield Row("ladder", f"positions asked, {setting}", 100 * Counting.positions / plies, "% of those played")
    filled = 100 * Counting.positions / Counting.passes / batch
    yield Row("ladder", f"batches filled, {setting}", filled, "% of the rows")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", nargs="?", type=Path, default=ROOT / "data" / "base" / "base.pb.gz")
    parser.add_argument("--players", type=int, default=10)
    parser.add_argument("--games", type=int, default=20, help="of every two players (20)")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, nargs="+", default=sorted({1, torch.get_num_threads()}))
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "arena.csv")
    arguments = parser.parse_args()

    networks = variants(load_network(arguments.weights), arguments.players)
    rows = (
        row
        for threads in arguments.threads
        for row in measure(networks, arguments.games, arguments.batch, threads)
    )
    keep(rows, arguments.out, describe_machine(max(arguments.threads)))


if __name__ == "__main__":
    main()
