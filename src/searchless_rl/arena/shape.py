"""The shape of the policies that players play, at the positions of their own games (paper Table 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from searchless_rl.arena.players import Player, played_policy
from searchless_rl.arena.randomness import Stream, generator
from searchless_rl.board import GameBatch, LegalMoves
from searchless_rl.evaluation.policy import log_probabilities
from searchless_rl.nets.evaluator import Evaluator

FLOOR = 1e-8
"""Least probability inside a logarithm, the released trainer's. A tempered policy has moves of probability 0
next to which the divergence from the base has no finite value; the paper prints finite ones."""
COVERED = 5
COLUMNS = ("player", "positions", "entropy", "kl_base_policy", "kl_policy_base", "cov5", "floored")


class Shape(NamedTuple):
    """Measures of N positions, float64 [N]; p is the policy played, b the base's raw policy.

    Attributes:
        entropy: of p, nats.
        kl_base_policy: KL(b‖p), nats, with p taken as `FLOOR` where it is below.
        kl_policy_base: KL(p‖b), nats, with b likewise.
        cov5: p's mass on the five moves most likely under b.
        floored: b's mass on moves that p gives less than `FLOOR`.
    """

    entropy: np.ndarray
    kl_base_policy: np.ndarray
    kl_policy_base: np.ndarray
    cov5: np.ndarray
    floored: np.ndarray


def shape_of(log_policy: np.ndarray, log_base: np.ndarray, legal: LegalMoves) -> Shape:
    """The measures of paper section 3.4.

    Args:
        log_policy: float64 [M] log-probabilities of the legal moves under the policy played.
        log_base: float64 [M] under the base.
        legal: the legal moves of N positions.
    """
    first = legal.start[:-1]

    def per_position(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, first)

    policy, base = np.exp(log_policy), np.exp(log_base)
    floor = math.log(FLOOR)
    # Moves in descending order of the base within each position; of equal ones the lower index first.
    order = np.lexsort((-log_base, legal.row))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - legal.start[legal.row]
    return Shape(
        entropy=-per_position(policy * np.where(policy > 0, log_policy, 0.0)),
        kl_base_policy=per_position(base * (log_base - np.maximum(log_policy, floor))),
        kl_policy_base=per_position(
            policy * (np.where(policy > 0, log_policy, 0.0) - np.maximum(log_base, floor))
        ),
        cov5=per_position(policy * (rank < COVERED)),
        floored=per_position(base * (log_policy < floor)),
    )


def measure_shape(
    frame: pd.DataFrame,
    players: Sequence[Player],
    base: Path,
    load: Callable[[Path], Evaluator],
    *,
    positions: int,
    seed: int,
    on_player: Callable[[int], Any] = lambda players: None,
) -> pd.DataFrame:
    """Average the measures over a seeded sample of the positions in which each player moved.

    Args:
        frame: games as of `results.results_frame`; the moves of an opening count as no player's.
        players: the players to measure.
        base: weights of the base, whose raw policy the others are compared with.
        load: makes the evaluator of a weights file.
        positions: positions of each player, drawn without repetition; all where it moved less often.
        seed: seed of the sample, which depends on the player's name and games alone.
        on_player: progress callback, called with the number of players just finished.

    Returns:
        One row per player with the columns `COLUMNS`, means over `positions` positions.

    Raises:
        ValueError: a player never moved.
    """
    base_evaluator = load(base)
    evaluators = {base: base_evaluator}
    rows = []
    for player in players:
        planes, legal = _sampled_positions(frame, player.name, positions, seed)
        evaluator = evaluators.get(player.weights) or load(player.weights)
        log_base = log_probabilities(base_evaluator(planes).policy, legal)
        log_policy = played_policy(evaluator(planes), legal, [player.temperature] * len(planes))
        means = {
            name: float(values.mean())
            for name, values in shape_of(log_policy, log_base, legal)._asdict().items()
        }
        rows.append({"player": player.name, "positions": len(planes)} | means)
        on_player(1)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _sampled_positions(
    frame: pd.DataFrame, name: str, positions: int, seed: int
) -> tuple[np.ndarray, LegalMoves]:
    """Planes and legal moves of positions in which a player moved."""
    games = frame[(frame["white"] == name) | (frame["black"] == name)]
    moves = [text.split() for text in games["moves"]]
    fens = [fen or None for fen in games["fen"]]
    board = GameBatch(fens)
    # The player's plies of each game, opening excluded; White moves at even plies where White moves first.
    is_white = (games["white"] == name).to_numpy()
    is_players = [
        (np.arange(len(line)) % 2 == (first ^ own)) & (np.arange(len(line)) >= opening)
        for line, first, own, opening in zip(
            moves, board.is_white, is_white, games["opening_plies"], strict=True
        )
    ]
    counts = np.array([mine.sum() for mine in is_players], np.int64)
    if not counts.sum():
        raise ValueError(f"{name} made no move in these games")
    drawn = generator(Stream.SHAPE, seed, name).permutation(counts.sum())[:positions]
    game = np.searchsorted(np.cumsum(counts), drawn, side="right")
    nth = drawn - (np.cumsum(counts) - counts)[game]
    ply = np.array([np.flatnonzero(is_players[g])[n] for g, n in zip(game, nth, strict=True)], np.int64)
    planes, legal = [], []
    for now in range(int(ply.max()) + 1):
        here = np.unique(game[ply == now])
        if len(here):
            planes.append(board.planes(here))
            legal.append(board.legal(here))
        # Games without a drawn position to come stand still.
        going = np.unique(game[ply > now])
        if len(going):
            board.play([moves[row][now : now + 1] for row in going.tolist()], going)
    return np.concatenate(planes), LegalMoves.concatenate(legal)
