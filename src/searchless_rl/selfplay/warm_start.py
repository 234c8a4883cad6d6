"""Games played by the base: where self-play begins (paper appendix D), and randomized roots.

Each game first plays k full moves sampled from the raw base policy, k ~ Uniform{0..K}. A game that ends
meanwhile begins again from the standard position and spends the rest. Full moves leave White to move in
every game that did not restart: kept as the paper has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from searchless_rl.board import GameBatch
from searchless_rl.files import write_atomically
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.selfplay.distributions import LegalRows, sample
from searchless_rl.selfplay.randomness import Stream, uniforms


def full_moves_to_plies(uniform: np.ndarray, most: int) -> np.ndarray:
    """int64 [N] plies of Uniform{0..most} full moves from uniform numbers in [0, 1)."""
    return 2 * np.floor(uniform * (most + 1)).astype(np.int64)


def advance(
    games: GameBatch,
    plies: np.ndarray,
    policy: Callable[[np.ndarray], Tensor],
    uniform: Callable[[int], np.ndarray],
) -> None:
    """Play `plies[i]` sampled plies in game i; a game that ends begins again and spends the rest.

    Args:
        games: N games.
        plies: int64 [N].
        policy: raw policy logits [n, 1858] of planes float32 [n, 112, 8, 8].
        uniform: the [N] random numbers of ply 0, 1, ...
    """
    for ply in range(int(plies.max(initial=0))):
        rows = np.flatnonzero(plies > ply)
        legal = LegalRows.of(games.legal(rows))
        log_policy = legal.log_policy(policy(games.planes(rows)).cpu())
        column = sample(log_policy, legal.mask, uniform(ply)[rows])
        games.step(rows, legal.index.gather(1, column[:, None]).squeeze(1).numpy())
        games.restart(rows[games.over[rows]])


def play_warm_start(base: Evaluator, games: int, full_moves: int, seed: int) -> GameBatch:
    """`games` games advanced by Uniform{0..full_moves} full moves of the base, none of them over.

    Game i is the same whatever the number of games.
    """
    batch = GameBatch([None] * games)
    advance(
        batch,
        full_moves_to_plies(uniforms(Stream.WARM_START_LENGTH, seed, 0, games), full_moves),
        lambda planes: torch.from_numpy(base(planes).policy),
        lambda ply: uniforms(Stream.WARM_START_MOVES, seed, ply, games),
    )
    return batch


def make_warm_start(
    base: Path, out: Path, *, games: int, full_moves: int, seed: int, batch_size: int
) -> None:
    """The stage `warm_start`: play the games of a seed with a network file and write them."""
    write_games(play_warm_start(Evaluator(load_network(base), batch_size), games, full_moves, seed), out)


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
