"""Simulations per second: the batched search over many trees, the real lc0, and forward passes alone.

    python benchmarks/mcts.py [WEIGHTS] [--trees 16 64 256] [--simulations 100] [--rounds 3]

Everything computes on one thread, in float32 but for the row that says bf16. The real lc0 (extra `oracle`;
its rows are left out where it is not installed) searches one position after the other with `go nodes`,
backend eigen, one thread, always in float32. Its speed depends on its options and on the number of nodes, so
that it is measured twice: with its defaults at 400 nodes, and at its fastest, which is 2,000 nodes with
batches of 32 and without smart pruning. That was the fastest of six sets of options (defaults; without smart
pruning; then also batches of 32, of 256, of 32 without prefetching, of 32 with the history in the cache's
key) at 100, 400 and 2,000 nodes. The target is held against both. lc0 counts nodes that its cache answers
and looks positions up without their history; the search here evaluates every node that the rules do not
decide.

Rounds of all take turns after a short one that warms up, and the medians are compared; a ratio is the value
over the baseline. What forward passes alone reach beside lc0 is the most that a search around them can. The
network share is the part of the search's time that is spent in forward passes; memory per node is what the
trees hold at their end, positions, edges and spare room included.
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
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from shared.rows import Row, describe_machine, keep
from tqdm import tqdm

from searchless_rl.board import GameBatch
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator
from searchless_rl.nets.precision import resolve_precision
from searchless_rl.search import SearchConfig, Trees, run_mcts_batched

ROOT = Path(__file__).resolve().parent.parent
LC0_POSITIONS = 2
LC0_SETTINGS: dict[str, tuple[int, tuple[str, ...]]] = {
    "lc0 with its defaults": (400, ()),
    "lc0 at its fastest": (2000, ("--smart-pruning-factor=0", "--minibatch-size=32")),
}
"""Nodes a search and options of the real lc0, besides its backend and its one thread."""


class Clocked:
    """An evaluator that adds up how long it takes."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator, self.device = evaluator, evaluator.device
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

    def __init__(self, program: str, weights: Path, nodes: int, options: Sequence[str]) -> None:
        self._nodes = nodes
        self._process = subprocess.Popen(
            [program, f"--weights={weights}", "--backend=eigen", "--threads=1", *options],
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
            lines = self._ask(f"position fen {fen}\ngo nodes {self._nodes}", "bestmove")
            seconds += time.perf_counter() - begun
            counts = [int(found[1]) for line in lines if (found := re.search(r" nodes (\d+)", line))]
            nodes += counts[-1]
        return nodes / seconds

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.wait()


def measure(weights: Path, trees: Sequence[int], simulations: int, rounds: int) -> Iterator[Row]:
    """The rows, by number of trees."""
    network, games = load_network(weights), random_games(max(trees))
    program = shutil.which("lc0") or shutil.which("lc0", path=str(Path(sys.executable).parent))
    engines = {name: Lc0(program, weights, *how) for name, how in LC0_SETTINGS.items()} if program else {}
    fens = [games.board_fen(row) for row in range(min(LC0_POSITIONS, len(games)))]
    searches: list[tuple[int, bool]] = [(count, False) for count in trees]
    if resolve_precision("auto") == "bf16":
        searches.append((max(trees), True))
    found: dict[object, list[float]] = {}
    try:
        for number in tqdm(range(rounds + 1), desc="mcts", unit="round"):
            spent = simulations if number else 2  # the first round warms up
            measured: dict[object, float] = {"forward": _forward_rate(network, games)}
            for how in searches:
                rate, share = _search(network, games.select(np.arange(how[0])), spent, is_bf16=how[1])
                measured |= {how: rate, ("share", *how): share}
            if number:
                measured |= {name: engine.rate(fens) for name, engine in engines.items()}
                for what, value in measured.items():
                    found.setdefault(what, []).append(value)
    finally:
        for engine in engines.values():
            engine.close()
    medians = {what: statistics.median(values) for what, values in found.items()}
    yield from _rows(medians, searches, list(engines), simulations)
    yield Row("mcts", "memory per node", _memory_per_node(simulations), "bytes")


def _rows(
    medians: dict[object, float],
    searches: Sequence[tuple[int, bool]],
    engines: Sequence[str],
    simulations: int,
) -> Iterator[Row]:
    unit, forward = "simulations/s", medians["forward"]
    most = max(count for count, _ in searches)
    if not engines:
        yield Row("mcts", "the real lc0", None, unit, problem="lc0 is not installed")
    for name in engines:
        other = medians[name]
        yield Row("mcts", f"forward passes alone beside {name}", forward, unit, other, forward / other)
    for count, is_bf16 in searches:
        rate, is_goal = medians[count, is_bf16], count == most and not is_bf16
        what = f"{count} trees, {simulations} simulations" + ", bf16" * is_bf16
        for name in engines:
            other, target = medians[name], "ratio >= 2.5" * is_goal
            yield Row("mcts", f"{what}, beside {name}", rate, unit, other, rate / other, target)
        if not is_bf16:
            yield Row("mcts", f"{what}, beside forward passes alone", rate, unit, forward, rate / forward)
        share = 100 * medians["share", count, is_bf16]
        yield Row("mcts", f"network share, {what}", share, "% of the time", target="value >= 85" * is_goal)


def _search(
    network: torch.nn.Module, games: GameBatch, simulations: int, *, is_bf16: bool
) -> tuple[float, float]:
    """Simulations per second of one search, and the network's share of its time."""
    evaluate = Clocked(Evaluator(network, len(games)))
    begun = time.perf_counter()
    with torch.autocast(evaluate.device.type, torch.bfloat16, enabled=is_bf16):
        found = run_mcts_batched(games, evaluate, SearchConfig(), simulations=simulations)
    seconds = time.perf_counter() - begun
    return float(found.visits.sum()) / seconds, evaluate.seconds / seconds


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
