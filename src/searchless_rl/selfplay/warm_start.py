"""Warm-start games: where self-play begins (paper appendix D).

Each game first plays k full moves sampled from the raw base policy, k ~ Uniform{0..K}. A game that ends
meanwhile begins again from the standard position and spends the rest. Full moves leave White to move in
every game that did not restart: kept as the paper has it.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from searchless_rl.board import GameBatch
from searchless_rl.files import write_atomically
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.selfplay.distributions import LegalRows, sample
from searchless_rl.selfplay.randomness import Stream, uniforms


def play_warm_start(base: Evaluator, games: int, full_moves: int, seed: int) -> GameBatch:
    """`games` games advanced by Uniform{0..full_moves} full moves of the base, none of them over.

    Game i is the same whatever the number of games.
    """
    draws = uniforms(Stream.WARM_START_LENGTH, seed, 0, games)
    plies = 2 * np.floor(draws * (full_moves + 1)).astype(np.int64)
    batch = GameBatch([None] * games)
    for ply in range(2 * full_moves):
        rows = np.flatnonzero(plies > ply)
        if not len(rows):
            break
        legal = LegalRows.of(batch.legal(rows))
        log_policy = legal.log_policy(torch.from_numpy(base(batch.planes(rows)).policy))
        uniform = uniforms(Stream.WARM_START_MOVES, seed, ply, games)[rows]
        column = sample(log_policy, legal.mask, uniform)
        batch.step(rows, legal.index.gather(1, column[:, None]).squeeze(1).numpy())
        batch.restart(np.flatnonzero(batch.over))
    return batch


def write_games(games: GameBatch, path: Path) -> None:
    """Write the moves of games that began from the standard position, as JSON."""
    write_atomically(path, json.dumps({"moves": games.moves}, separators=(",", ":")) + "\n")


def read_games(path: Path) -> GameBatch:
    """Read `write_games` back.

    Raises:
        ValueError: not such a file (the file named).
    """
    try:
        moves = json.loads(path.read_text(encoding="utf-8"))["moves"]
        return GameBatch.replay([None] * len(moves), moves)
    except FileNotFoundError:
        raise ValueError(f"{path}: missing; `searchless warm-start SEED` or `dvc repro` makes it") from None
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise ValueError(
            f"{path}: not a file of warm-start games ({error}); delete it and run again"
        ) from error
