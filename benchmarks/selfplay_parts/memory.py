"""Memory of a game in play and on disk.

Bytes per game that Python and NumPy hold for a batch of random games at a ply, legal moves asked for
(tracemalloc, before and after the batch is made), and bytes per game of what a checkpoint says of games.
"""

from __future__ import annotations

import gc
import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import torch
from shared.rows import Row

from searchless_rl.board import GameBatch
from searchless_rl.cells import Cell
from searchless_rl.lc0 import load_network
from searchless_rl.selfplay.module import SelfPlayModule
from selfplay_parts.settings import SMALL_NETWORK, Settings, random_games
from selfplay_parts.training import step_params

PART = "memory"
_TARGET = "value <= 4096"
_CELL = Cell.parse("forward_kl-adaptive-0.01-s0")


def traced_bytes(make: Callable[[], object]) -> int:
    """What is still allocated while the result of `make` lives, as tracemalloc sees it."""
    make()  # what is made once and kept by others is not counted
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = make()
        gc.collect()
        held = tracemalloc.get_traced_memory()[0] - before
        del kept
    finally:
        tracemalloc.stop()
    return held


def batch_bytes(moves: list[list[int]]) -> float:
    """Bytes per game of a `GameBatch` of games from the standard position."""

    def make() -> GameBatch:
        games = GameBatch.replay([None] * len(moves), moves)
        games.legal()
        return games

    return traced_bytes(make) / len(moves)


def checkpoint_bytes(moves: list[list[int]]) -> float:
    """Bytes per game that games add to a checkpoint."""
    games = GameBatch.replay([None] * len(moves), moves)
    module = SelfPlayModule(load_network(SMALL_NETWORK), games, _CELL, step_params(len(games), 1))
    checkpoint: dict[str, Any] = {}
    module.on_save_checkpoint(checkpoint)
    stream = io.BytesIO()
    torch.save(checkpoint, stream)
    return stream.tell() / len(games)


def measure(settings: Settings) -> list[Row]:
    """Rows of this part."""
    moves, _ = random_games(settings.games, max(settings.plies), seed=0)
    rows = []
    for ply in settings.plies:
        at = [line[:ply] for line in moves]
        label = f"ply {ply}, {settings.games} games"
        rows.append(Row(PART, f"games in play, {label}", batch_bytes(at), "bytes per game", target=_TARGET))
        rows.append(
            Row(PART, f"in a checkpoint, {label}", checkpoint_bytes(at), "bytes per game", target=_TARGET)
        )
    return rows
