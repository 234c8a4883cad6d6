"""Games played by the base: the start of self-play (paper appendix D), and randomized roots (Limitations).

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
from searchless_rl.progress import Progress
from searchless_rl.selfplay.distributions import LegalRows, Stream, sample, uniforms


def full_moves_to_plies(uniform: np.ndarray, most: int) -> np.ndarray:
    """int64 [N] plies of Uniform{0..most} full moves from uniform numbers in [0, 1)."""
    plies: np.ndarray = 2 * np.floor(uniform * (most + 1)).astype(np.int64)
    return plies


def advance(
    games: GameBatch,
    plies: np.ndarray,
    policy: Callable[[np.ndarray], Tensor],
    uniform: Callable[[int], np.ndarray],
    progress: Callable[[], None] = lambda: None,
) -> None:
    """Play `plies[i]` sampled plies in game i; a game that ends begins again and spends the rest.

    Args:
        games: N games.
        plies: int64 [N].
        policy: raw policy logits [n, 1858] of planes float32 [n, 112, 8, 8].
        uniform: the [N] random numbers of ply 0, 1, ...
        progress: progress callback, once a ply.
    """
    for ply in range(int(plies.max(initial=0))):
        rows = np.flatnonzero(plies > ply)
        legal = LegalRows.of(games.legal(rows))
        log_policy = legal.log_policy(policy(games.planes(rows)).cpu())
        column = sample(log_policy, legal.mask, uniform(ply)[rows])
        games.step(rows, legal.index.gather(1, column[:, None]).squeeze(1).numpy())
        games.restart(rows[games.over[rows]])
        progress()


def play_warm_start(
    base: Evaluator, games: int, full_moves: int, seed: int, progress: Callable[[], None] = lambda: None
) -> GameBatch:
    """`games` games advanced by Uniform{0..full_moves} full moves of the base, none of them over.

    Game i is the same whatever the number of games. The progress callback is called at most `2 · full_moves`
    times, once a ply.
    """
    batch = GameBatch([None] * games)
    advance(
        batch,
        full_moves_to_plies(uniforms(Stream.WARM_START_LENGTH, seed, 0, games), full_moves),
        lambda planes: torch.from_numpy(base(planes).policy),
        lambda ply: uniforms(Stream.WARM_START_MOVES, seed, ply, games),
        progress,
    )
    return batch


def randomize_roots(
    games: GameBatch,
    restarted: np.ndarray,
    policy: Callable[[np.ndarray], Tensor],
    *,
    full_moves: int,
    seed: int,
    step: int,
) -> None:
    """Let the base play the first Uniform{0..full_moves} full moves of restarted games (paper, Limitations).

    Args:
        games: N games.
        restarted: bool [N].
        policy: raw policy logits of the base, see `advance`.
        full_moves: most of them.
        seed: of the random numbers.
        step: optimizer steps taken, the rest of their address.
    """
    count = len(games)
    lengths = full_moves_to_plies(uniforms(Stream.ROOT_LENGTH, seed, step, count), full_moves)
    advance(
        games,
        np.where(restarted, lengths, 0),
        policy,
        lambda ply: uniforms(Stream.ROOT_MOVES, seed, step, count, ply),
    )


def make_warm_start(
    base: Path,
    out: Path,
    *,
    games: int,
    full_moves: int,
    seed: int,
    batch_size: int,
    show_progress: bool = False,
) -> None:
    """Play the warm-start games of a seed with the base network and write them."""
    evaluator = Evaluator(load_network(base), batch_size)
    with Progress("warm start", 2 * full_moves, "ply", show=show_progress) as progress:
        played = play_warm_start(evaluator, games, full_moves, seed, progress.update)
    write_games(played, out)


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
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ValueError(
            f"{path}: not a file of warm-start games ({error}); delete it and run again"
        ) from error
