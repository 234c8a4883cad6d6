"""A single move by tree search, for the UCI engine and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from searchless_rl.arena.players import choose_move
from searchless_rl.board import GameBatch
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.search import SearchConfig, Trees, run_mcts

LEAVES = 8
"""Leaves of the tree that are evaluated together: one alone would leave a processor half idle."""


class SearchedMove(NamedTuple):
    """The most visited move of a position.

    Attributes:
        move: UCI, castling as e1g1.
        line: UCI moves from the position, each the most visited one; the first is `move`.
        simulations: visits of the root's moves.
        wdl: float32 [3] of the network itself, before the move.
        value: mean win minus loss of `move` for the side to move, -1 to 1.
    """

    move: str
    line: list[str]
    simulations: int
    wdl: np.ndarray
    value: float


def search_move(
    evaluator: Evaluator, game: GameBatch, simulations: int, among: Sequence[str] = ()
) -> SearchedMove | None:
    """The move that a search of `simulations` visits most; None where there is no legal move.

    A game that the study's rule calls drawn (third occurrence, fifty moves, material) goes on where nobody
    claims the draw. There is nothing to search in it: the network's most likely move is given, with 0
    simulations, the line of that move and the value of a draw.

    Args:
        evaluator: the player's network.
        game: one game.
        simulations: >= 0; 0 is the network's most likely move.
        among: UCI moves to choose from; those that are not legal are left out, and if none is left, or none
            is given, all legal moves may be chosen.

    Raises:
        OutputError: the network's outputs are not finite.
    """
    if game.over[0]:
        chosen = choose_move(evaluator, game, 0.0, 0.0, among=among)
        return None if chosen is None else SearchedMove(chosen.move, [chosen.move], 0, chosen.wdl, 0.0)
    trees, config = Trees(1), SearchConfig(leaves=LEAVES)
    evaluate = Evaluator(evaluator.network, LEAVES)
    result = run_mcts(game, evaluate, config, simulations=simulations, trees=trees)
    names = [game.uci(0, index) for index in result.move.tolist()]
    allowed = [place for place, name in enumerate(names) if name in among] or list(range(len(names)))
    best = max(allowed, key=lambda place: result.visits[place])  # among equals the first, the likeliest
    value = result.q[best] if result.visits[best] else result.value[0]
    line = _line(trees, game, int(result.move[best]))
    return SearchedMove(
        names[best], line, int(result.visits.sum()), evaluate(game.planes()).wdl[0], float(value)
    )


def _line(trees: Trees, game: GameBatch, move: int) -> list[str]:
    """A move, then the most visited ones below it."""
    copy, line = game.select(np.array([0])), []
    while True:
        line.append(copy.uci(0, move))
        copy.step(np.array([0]), np.array([move]))
        trees.advance(np.array([0]), np.array([move]))
        below = trees.best()[0]
        if below < 0:
            return line
        move = int(below)
