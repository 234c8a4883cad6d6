"""How much is measured, and what every part begins from."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn
from tqdm import tqdm

from searchless_rl.board import GameBatch
from searchless_rl.nets.evaluator import Evaluation, Evaluator
from searchless_rl.selfplay.distributions import Stream, uniforms
from searchless_rl.selfplay.warm_start import full_moves_to_plies, play_warm_start

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL_NETWORK = ROOT / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


@dataclass(frozen=True)
class Settings:
    """Sizes of a run.

    Attributes:
        games: in the batch of the parts host and memory.
        plies: where those two look.
        rounds: repetitions of the part host.
        sizes: numbers of games of the part step, ascending.
        steps: measured training steps for each number of games.
        growth_sizes: numbers of games of the part growth, ascending.
        drift_steps: steps of its long runs.
        batch: positions of the part formats.
        passes: repetitions of its passes.
        warm_start_moves: most full moves of the games that steps begin from (paper appendix D: 60).
        chessformer: width, layers, heads of the random Chessformer.
    """

    games: int = 256
    plies: tuple[int, ...] = (0, 60, 120)
    rounds: int = 15
    sizes: tuple[int, ...] = (64, 256, 1024)
    steps: int = 6
    growth_sizes: tuple[int, ...] = (64, 128, 256, 512, 1024)
    drift_steps: int = 200
    batch: int = 128
    passes: int = 7
    warm_start_moves: int = 60
    chessformer: tuple[int, int, int] = (256, 4, 8)


QUICK = Settings(
    games=16,
    rounds=2,
    sizes=(8, 16),
    steps=2,
    growth_sizes=(8, 16),
    drift_steps=16,
    batch=8,
    passes=2,
    warm_start_moves=4,
    chessformer=(32, 2, 2),
)
"""Everything once at toy size, to try the program; its numbers mean nothing."""


def random_games(count: int, plies: int, seed: int) -> tuple[list[tuple[int, ...]], list[list[str]]]:
    """Games of uniformly random legal moves that have not ended by rule after `plies` plies.

    Returns:
        Their moves as policy indices, and as UCI.
    """
    generator = np.random.default_rng(seed)
    indices: list[tuple[int, ...]] = []
    texts: list[list[str]] = []
    while len(indices) < count:
        games = GameBatch([None] * count)
        played: list[list[str]] = [[] for _ in range(count)]
        for _ in range(plies):
            rows = np.flatnonzero(~games.over)
            legal = games.legal(rows)
            place = (generator.random(len(rows)) * np.diff(legal.start)).astype(np.int64)
            chosen = legal.index[legal.start[:-1] + place]
            for row, index in zip(rows.tolist(), chosen.tolist(), strict=True):
                played[row].append(games.uci(row, index))
            games.step(rows, chosen)
        whole = np.flatnonzero(~games.over).tolist()
        indices += [games.moves[row] for row in whole]
        texts += [played[row] for row in whole]
    return indices[:count], texts[:count]


def warm_start(network: nn.Module, games: int, full_moves: int) -> GameBatch:
    """The games that self-play of seed 0 begins from; shows progress."""
    plies = full_moves_to_plies(uniforms(Stream.WARM_START_LENGTH, 0, 0, games), full_moves)
    with tqdm(total=int(plies.sum()), desc="warm start", unit="position") as bar:
        return play_warm_start(_Shown(network, bar), games, full_moves, seed=0)


class _Shown(Evaluator):
    """An evaluator that moves a progress bar."""

    def __init__(self, network: nn.Module, bar: tqdm[Any]) -> None:
        super().__init__(copy.deepcopy(network), batch_size=256, device="cpu")
        self._bar = bar

    def __call__(self, planes: np.ndarray) -> Evaluation:
        self._bar.update(len(planes))
        return super().__call__(planes)
