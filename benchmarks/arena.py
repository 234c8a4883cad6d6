"""Games per second: the arena, and a loop that plays one board at a time with python-chess.

    python benchmarks/arena.py [WEIGHTS] [--players 10] [--games 20] [--batch 16] [--threads 1]

A round-robin of argmax players: the network and copies of it whose weights differ by 3 % noise, as fine-tuned
ones do. The loop plays a sample of the same games as a script on python-chess does: legal moves and rules by
python-chess, planes from the moves so far, one forward pass a move. Times are processor time with one thread
and wall time otherwise; the loop runs before and after the arena, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import chess
import numpy as np
import torch
from torch import nn

from searchless_rl.board import encode_game, move_index
from searchless_rl.evaluation.arena.hall import play_games
from searchless_rl.evaluation.arena.openings import Opening
from searchless_rl.evaluation.arena.players import Player
from searchless_rl.evaluation.arena.schedule import Game, round_robin
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator

ROOT = Path(__file__).resolve().parent.parent
MAX_PLIES = 512
SAMPLE = 10
REPLIES = ("e7e5", "c7c5", "e7e6", "d7d5", "g8f6", "d7d6", "g7g6", "b8c6", "c7c6", "b7b6")


class Counting(Evaluator):
    """An evaluator that adds up the seconds and positions of all evaluators."""

    clock: Callable[[], float] = time.process_time
    seconds = 0.0
    positions = 0
    passes = 0

    def __call__(self, planes: np.ndarray) -> Evaluation:
        """Evaluate, and count."""
        begun = Counting.clock()
        out = super().__call__(planes)
        Counting.seconds += Counting.clock() - begun
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


@torch.inference_mode()
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
            planes = torch.from_numpy(encode_game(None, [move.uci() for move in board.move_stack]))[None]
            logits = networks[game.white if board.turn else game.black](planes).policy[0]
            board.push(max(board.legal_moves, key=lambda move: float(logits[move_index(board, move)])))
        played.append(tuple(move.uci() for move in board.move_stack[len(game.opening.moves) :]))
    return played


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", nargs="?", type=Path, default=ROOT / "data" / "base" / "base.pb.gz")
    parser.add_argument("--players", type=int, default=10)
    parser.add_argument("--games", type=int, default=20, help="of every two players (20)")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    Counting.clock = clock

    firsts = [move.uci() for move in chess.Board().legal_moves]
    openings = [Opening(f"{one} {two}", None, (one, two)) for two, one in product(REPLIES, firsts)]
    networks = variants(load_network(arguments.weights), arguments.players)
    players = [Player(f"p{number}", Path(str(number))) for number in range(arguments.players)]
    games = round_robin(players, openings, games=arguments.games)
    sample = games[:: -(-len(games) // SAMPLE)]

    loop_seconds, alone = [], list[tuple[str, ...]]()

    def loop() -> None:
        begun = clock()
        alone[:] = one_at_a_time(networks, sample)
        loop_seconds.append((clock() - begun) / sum(map(len, alone)))

    loop()
    begun = clock()
    outcomes = {
        outcome.number: outcome
        for outcome in play_games(
            games,
            players,
            lambda path: Counting(networks[int(path.name)], arguments.batch),
            seed=0,
            max_plies=MAX_PLIES,
            in_flight=len(games),
        )
    }
    took = clock() - begun
    loop()

    same = sum(outcomes[game.number].moves == moves for game, moves in zip(sample, alone, strict=True))
    plies = sum(len(outcome.moves) for outcome in outcomes.values())
    single = statistics.mean(loop_seconds)
    print(f"{len(games)} games of {plies / len(games):.0f} plies, batch {arguments.batch}, ", end="")
    print(f"threads {arguments.threads}; {same} of {len(sample)} equal in the loop")
    print(f"asked: {100 * Counting.positions / plies:.0f} % of the positions, ", end="")
    print(f"batches {100 * Counting.positions / Counting.passes / arguments.batch:.0f} % full")
    print(f"host share {100 * (1 - Counting.seconds / took):.1f} %")
    for label, per_ply in (("arena", took / plies), ("one board, one pass a move", single)):
        rate = 1 / (per_ply * plies / len(games))
        print(f"{label:>27}  {rate:7.2f} games/s  {1 / per_ply:8.0f} moves/s")
    print(f"arena / one board: {single * plies / took:.1f}x")


if __name__ == "__main__":
    main()
