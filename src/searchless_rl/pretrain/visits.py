"""Games played by tree search, with the visit counts of every position that was searched.

Games are played in lockstep, and a place that a game has left is taken by the next one. A game depends on
its number and the settings alone: its random numbers come from a stream of its own, and a position's outputs
do not depend on what else is in a batch. So games can be made in any order, by any number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from searchless_rl.board import Ending, GameBatch
from searchless_rl.pretrain.records import LabelledGame
from searchless_rl.pretrain.settings import VisitParams
from searchless_rl.search import SearchConfig, SearchResult, Trees, run_mcts_batched
from searchless_rl.search.expansion import Evaluate, priors

_STREAM = 20
"""First part of the address of a game's random numbers; the others are the seed and the game's number."""


@dataclass
class _Play:
    """A game in play: its number, its random numbers, and the targets so far."""

    number: int
    random: np.random.Generator
    opening: int
    plies: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    moves: list[np.ndarray] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def record(self, ply: int, result: SearchResult, row: int) -> None:
        """Keep the visits and the value of a position that was searched."""
        part = result.line(row)
        visited = result.visits[part] > 0
        self.plies.append(ply)
        self.counts.append(int(visited.sum()))
        self.moves.append(result.move[part][visited])
        self.weights.append(result.visits[part][visited])
        self.values.append(float(result.value[row]))

    def labelled(self, fen: str | None, moves: tuple[int, ...], result: int) -> LabelledGame:
        """The finished game."""
        return LabelledGame(
            fen,
            moves,
            result,
            np.array(self.plies, np.uint16),
            np.array(self.counts, np.uint8),
            np.concatenate([np.zeros(0, np.uint16), *self.moves]).astype(np.uint16),
            np.concatenate([np.zeros(0, np.float32), *self.weights]).astype(np.float32),
            np.array(self.values, np.float32),
        )


def play_games(
    numbers: Sequence[int], evaluate: Evaluate, evaluate_few: Evaluate, params: VisitParams
) -> Iterator[tuple[int, LabelledGame]]:
    """Play games by their numbers; each is given with its number as soon as it has ended.

    Args:
        numbers: of the games, distinct.
        evaluate: the network, for the searches.
        evaluate_few: the same network with a small batch, for the openings of single games.
        params: how they are played.
    """
    search = SearchConfig(c_puct=params.search.c_puct, unvisited_reduction=params.search.unvisited_reduction)
    waiting = list(reversed(numbers))
    plays, games = _next_games(waiting, params.slots, evaluate_few, params)
    trees = Trees(len(plays))
    while plays:
        result = run_mcts_batched(games, evaluate, search, simulations=params.search.simulations, trees=trees)
        plies = games.plies
        chosen = np.array([_choose(play, plies[row], result, row, params) for row, play in enumerate(plays)])
        rows = np.arange(len(plays))
        trees.advance(rows, chosen)
        games.step(rows, chosen)
        ended = np.flatnonzero(games.over | (games.plies >= params.max_plies))
        for row in ended.tolist():
            yield plays[row].number, plays[row].labelled(None, games.moves[row], _result(games, row))
        plays, games, trees = _replace(plays, games, trees, ended, waiting, evaluate_few, params)


def _choose(play: _Play, ply: int, result: SearchResult, row: int, params: VisitParams) -> int:
    """Record the target of a position and draw its move: in proportion to the visits, or the most visited."""
    play.record(int(ply), result, row)
    part = result.line(row)
    visits = result.visits[part]
    if ply - play.opening < params.sampled_plies:
        threshold = play.random.random() * visits.sum()
        return int(result.move[part][np.searchsorted(np.cumsum(visits), threshold, side="right")])
    return int(result.move[part][visits.argmax()])


def _result(games: GameBatch, row: int) -> int:
    """1 White won, -1 Black won, 0 a draw or a game that was cut."""
    if games.ending[row] != Ending.CHECKMATE:
        return 0
    return -1 if games.is_white[row] else 1


def _next_games(
    waiting: list[int], count: int, evaluate: Evaluate, params: VisitParams
) -> tuple[list[_Play], GameBatch]:
    """Up to `count` of the waiting games, their openings played."""
    plays = []
    for _ in range(min(count, len(waiting))):
        random = np.random.default_rng([_STREAM, params.seed, waiting[-1]])
        plays.append(_Play(waiting.pop(), random, int(random.integers(params.opening_plies + 1))))
    games = GameBatch([None] * len(plays))
    left = np.array([play.opening for play in plays], np.int64)
    while (left > 0).any():
        rows = np.flatnonzero(left > 0)
        legal = games.legal(rows)
        prior, move = priors(evaluate(games.planes(rows)).policy, legal)
        for place, row in enumerate(rows.tolist()):
            part = slice(legal.start[place], legal.start[place + 1])
            drawn = np.searchsorted(np.cumsum(prior[part]), plays[row].random.random(), side="right")
            games.step(np.array([row]), move[part][[min(drawn, part.stop - part.start - 1)]])
        left[rows] -= 1
        for row in rows[games.over[rows]].tolist():  # it ended in its opening: again, with other numbers
            games.restart(np.array([row]))
            left[row] = plays[row].opening
    return plays, games


def _replace(
    plays: list[_Play],
    games: GameBatch,
    trees: Trees,
    ended: np.ndarray,
    waiting: list[int],
    evaluate: Evaluate,
    params: VisitParams,
) -> tuple[list[_Play], GameBatch, Trees]:
    """Put new games in the places of those that have ended; without any, the batch shrinks."""
    if not len(ended):
        return plays, games, trees
    new_plays, new_games = _next_games(waiting, len(ended), evaluate, params)
    filled, emptied = ended[: len(new_plays)], ended[len(new_plays) :]
    games.place(filled, new_games)
    trees.restart(filled)
    for row, play in zip(filled.tolist(), new_plays, strict=True):
        plays[row] = play
    if len(emptied):
        kept = np.setdiff1d(np.arange(len(plays)), emptied)
        plays = [plays[row] for row in kept.tolist()]
        games = games.select(kept)
        trees.roots = trees.roots[kept]
    return plays, games, trees
