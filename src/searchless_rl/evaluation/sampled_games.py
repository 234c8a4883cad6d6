"""Games of a network with itself, its moves drawn from its policy, with its forecast at every position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from searchless_rl.board import Ending, GameBatch
from searchless_rl.evaluation.policy import log_probabilities
from searchless_rl.nets.evaluator import Evaluator

_STREAM = 30
"""First part of the address of a game's random numbers; the others are the seed and the game's number."""


@dataclass(frozen=True)
class Forecasts:
    """Win/draw/loss forecasts of N positions and how their games ended, for the side to move.

    Attributes:
        game: int64 [N], 0, 1, 2, ...
        ply: int64 [N].
        wdl: float32 [N, 3].
        outcome: int64 [N], 0 won, 1 drawn, 2 lost.
    """

    game: np.ndarray
    ply: np.ndarray
    wdl: np.ndarray
    outcome: np.ndarray


def sample_games(
    evaluator: Evaluator,
    count: int,
    *,
    seed: int,
    max_plies: int,
    progress: Callable[[int], None] = lambda games: None,
) -> Forecasts:
    """Play `count` games from the standard position, every move drawn from the raw policy.

    A game depends on the seed and its number alone. One that reaches `max_plies` is a draw.

    Args:
        evaluator: the network.
        count: >= 1.
        seed: of the draws.
        max_plies: >= 1.
        progress: called with the number of games that have just ended.
    """
    games = GameBatch([None] * count)
    draws = [np.random.default_rng([_STREAM, seed, number]) for number in range(count)]
    seen: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    going = np.arange(count)
    while len(going):
        legal, evaluation = games.legal(going), evaluator(games.planes(going))
        probability = np.exp(log_probabilities(evaluation.policy, legal))
        seen.append((going, games.plies[going], evaluation.wdl, games.is_white[going]))
        moves = []
        for row, begin, end in zip(going.tolist(), legal.start[:-1], legal.start[1:], strict=True):
            cumulative = np.cumsum(probability[begin:end])
            place = np.searchsorted(cumulative, draws[row].random() * cumulative[-1], side="right")
            moves.append(legal.index[begin + min(int(place), end - begin - 1)])
        games.step(going, np.array(moves))
        ended = games.over[going] | (games.plies[going] >= max_plies)
        progress(int(ended.sum()))
        going = going[~ended]
    game, ply, wdl, is_white = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    decided = games.ending == Ending.CHECKMATE
    # The side to move at the end has been mated.
    won = decided[game] & (games.is_white[game] != is_white)
    lost = decided[game] & (games.is_white[game] == is_white)
    return Forecasts(game, ply, wdl, np.where(won, 0, np.where(lost, 2, 1)))
