"""Simulations per second: the batched search over many trees, the real lc0, and forward passes alone.

    python benchmarks/mcts.py [WEIGHTS] [--trees 16 64 256] [--simulations 100] [--rounds 3]

Everything computes in float32 on one thread. The real lc0 searches one position after the other (backend
eigen, one thread, `go nodes`, smart pruning off); it is the program `lc0` (extra `oracle`), and its rows are
left out where it is not installed. Rounds of all take turns, and the medians are compared. The network share
is the part of the search's time that is spent in forward passes; memory per node is what a tree of a forest
holds, positions and edges included.
"""

from __future__ import annotations

import argparse
import re
import shutil
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from shared.rows import Row, describe_machine, keep
from tqdm import tqdm

from searchless_rl.board import GameBatch
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator
from searchless_rl.search import SearchConfig, Trees, run_mcts_batched

ROOT = Path(__file__).resolve().parent.parent
LC0_NODES = 400
LC0_POSITIONS = 3


class Clocked:
    """An evaluator that adds up how long it takes."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.seconds = 0.0

    def __call__(self, planes: np.ndarray) -> Evaluation:
        """Evaluate, on the clock."""
        begun = time.perf_counter()
        found = self._evaluator(planes)
        self.seconds += time.perf_counter() - begun
        return found


def random_games(count: int, plies: int = 20) -> GameBatch:
    """Games of random moves, none of them over."""
    generator = np.random.default_rng(0)
    games = GameBatch([None] * count)
    for _ in range(plies):
        legal = games.legal()
        counts = np.diff(legal.start)
        games.step(
            np.arange(count), legal.index[legal.start[:-1] + (generator.random(count) * counts).astype(int)]
        )
        games.restart(np.flatnonzero(games.over))
    return games


class Lc0:
    """The real lc0 as a UCI program."""

    def __init__(self, program: str, weights: Path) -> None:
        options = ("--backend=eigen", "--threads=1", "--smart-pruning-factor=0", "--minibatch-size=32")
        self._process = subprocess.Popen(
            [program, f"--weights={weights}", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._ask("uci", "uciok")
        self._ask("isready", "readyok")

    def _ask(self, command: str, end: str) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if line.startswith(end):
                return lines
        raise RuntimeError("lc0 ended")

    def rate(self, fens: list[str]) -> float:
        """Nodes per second over some positions, each searched anew."""
        nodes, seconds = 0, 0.0
        for fen in fens:
            self._ask("ucinewgame\nisready", "readyok")
            begun = time.perf_counter()
            lines = self._ask(f"position fen {fen}\ngo nodes {LC0_NODES}", "bestmove")
            seconds += time.perf_counter() - begun
            counts = [int(found[1]) for line in lines if (found := re.search(r" nodes (\d+)", line))]
            nodes += counts[-1]
        return nodes / seconds

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()


def measure(weights: Path, trees: list[int], simulations: int, rounds: int) -> Iterator[Row]:
    """The rows, by number of trees."""
    network = load_network(weights)
    games = random_games(max(trees))
    program = shutil.which("lc0") or shutil.which("lc0", path=str(Path(sys.executable).parent))
    lc0 = Lc0(program, weights) if program else None
    fens = [games.board_fen(row) for row in range(LC0_POSITIONS)]
    ours: dict[int, list[float]] = {count: [] for count in trees}
    shares: dict[int, list[float]] = {count: [] for count in trees}
    alone: list[float] = []
    theirs: list[float] = []
    for number in tqdm(range(rounds + 1), desc="mcts", unit="round"):
        for count in trees:
            rate, share = _search(network, games.select(np.arange(count)), simulations)
            if number:  # the first round warms up
                ours[count].append(rate)
                shares[count].append(share)
        passes = _forward_rate(network, games)
        nodes = lc0.rate(fens) if lc0 else 0.0
        if number:
            alone.append(passes)
            theirs.append(nodes)
    if lc0:
        lc0.close()
    forward, other = statistics.median(alone), statistics.median(theirs)
    unit = "simulations/s"
    if lc0:
        yield Row(
            "mcts", "forward passes alone, batch 256, beside lc0", forward, unit, other, forward / other
        )
    else:
        yield Row("mcts", "the real lc0", None, unit, problem="lc0 is not installed")
    for count in trees:
        rate, share = statistics.median(ours[count]), statistics.median(shares[count])
        what, goal = f"{count} trees, {simulations} simulations", count == max(trees)
        if lc0:
            target = "ratio >= 2.5" if goal else ""
            yield Row("mcts", f"{what}, beside lc0", rate, unit, other, rate / other, target)
        yield Row("mcts", f"{what}, beside forward passes alone", rate, unit, forward, rate / forward)
        yield Row("mcts", f"network share, {what}", 100 * share, "% of the time", target="value >= 85" * goal)
    yield Row("mcts", "memory per node", _memory_per_node(simulations), "bytes")


def _search(network: torch.nn.Module, games: GameBatch, simulations: int) -> tuple[float, float]:
    """Simulations per second of one search, and the network's share of its time."""
    evaluate = Clocked(Evaluator(network, len(games)))
    begun = time.perf_counter()
    run_mcts_batched(games, evaluate, SearchConfig(), simulations=simulations)
    seconds = time.perf_counter() - begun
    return len(games) * simulations / seconds, evaluate.seconds / seconds


def _forward_rate(network: torch.nn.Module, games: GameBatch) -> float:
    """Positions per second of forward passes, 256 at a time."""
    evaluate = Evaluator(network, 256)
    planes = np.resize(games.planes(), (256, 112, 8, 8))
    begun = time.perf_counter()
    for _ in range(8):
        evaluate(planes)
    return 8 * 256 / (time.perf_counter() - begun)


def _memory_per_node(simulations: int) -> float:
    """Bytes that a search of uniform priors holds at its end, by node."""

    def uniform(planes: np.ndarray) -> Evaluation:
        count = len(planes)
        wdl = np.full((count, 3), 1 / 3, np.float32)
        return Evaluation(np.zeros((count, 1858), np.float32), wdl)

    games, trees = random_games(64), Trees(64)
    tracemalloc.start()
    run_mcts_batched(games, uniform, SearchConfig(), simulations=simulations, trees=trees)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / trees.forest.nodes


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("weights", nargs="?", type=Path, default=ROOT / "data" / "base" / "base.pb.gz")
    parser.add_argument("--trees", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "mcts.csv")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = measure(arguments.weights, arguments.trees, arguments.simulations, arguments.rounds)
    keep(rows, arguments.out, describe_machine(1) | {"network": arguments.weights.name})


if __name__ == "__main__":
    main()
