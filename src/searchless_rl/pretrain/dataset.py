"""Positions of labelled games in arrays, as students learn from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from searchless_rl.board import GameBatch, LegalMoves
from searchless_rl.board.planes import Encoded
from searchless_rl.pretrain.records import LabelledGame

_AT_ONCE = 512
"""Games that are replayed together."""


@dataclass(frozen=True)
class Positions:
    """N positions with their targets.

    Attributes:
        encoded: what their planes are made of.
        legal: their legal moves, M in all.
        target: float32 [M] π(a|s) of the search, aligned with `legal`; it sums to 1 in each position.
        value: float32 [N] of the search, -1 to 1, for the side to move.
        outcome: int64 [N] of the game for the side to move: 0 won, 1 drawn, 2 lost.
        game: int64 [N] number of the game.
    """

    encoded: Encoded
    legal: LegalMoves
    target: np.ndarray
    value: np.ndarray
    outcome: np.ndarray
    game: np.ndarray

    def __len__(self) -> int:
        return len(self.value)

    def select(self, rows: np.ndarray) -> Positions:
        """Some positions, in their order."""
        begin, count = self.legal.start[rows], np.diff(self.legal.start)[rows]
        place = np.repeat(begin - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        start = np.concatenate([[0], np.cumsum(count)])
        legal = LegalMoves(self.legal.index[place], np.repeat(np.arange(len(rows)), count), start)
        return Positions(
            self.encoded.select(rows),
            legal,
            self.target[place],
            self.value[rows],
            self.outcome[rows],
            self.game[rows],
        )


def positions_of(games: Sequence[LabelledGame], first_game: int = 0) -> Positions:
    """Every position of the games that has a target.

    Args:
        games: at least one with a target.
        first_game: number of the first of them.

    Raises:
        ValueError: an illegal move, or a target that names one.
    """
    parts = [
        _replayed(games[begin : begin + _AT_ONCE], first_game + begin)
        for begin in range(0, len(games), _AT_ONCE)
    ]
    return Positions(
        Encoded.concatenate([part.encoded for part in parts]),
        LegalMoves.concatenate([part.legal for part in parts]),
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("target", "value", "outcome", "game")
        ),
    )


def _replayed(games: Sequence[LabelledGame], first_game: int) -> Positions:
    """The positions of some games, ply by ply."""
    batch = GameBatch([game.fen for game in games])
    place = [dict(zip(game.plies.tolist(), range(len(game.plies)), strict=True)) for game in games]
    begins = [np.concatenate([[0], np.cumsum(game.counts.astype(np.int64))]) for game in games]
    encoded, legal, targets = [], [], []
    values, outcomes, numbers = [], [], []
    for ply in range(max(len(game.moves) for game in games) + 1):
        rows = np.array([row for row in range(len(games)) if ply in place[row]], np.int64)
        if len(rows):
            moves = batch.legal(rows)
            encoded.append(batch.encoded(rows))
            legal.append(moves)
            for number, row in enumerate(rows.tolist()):
                game, at = games[row], place[row][ply]
                own = slice(moves.start[number], moves.start[number + 1])
                named = slice(begins[row][at], begins[row][at + 1])
                targets.append(_target(moves.index[own], game, named, first_game + row, ply))
                values.append(game.values[at])
                sign = game.result if batch.is_white[row] else -game.result
                outcomes.append(1 - sign)
                numbers.append(first_game + row)
        going = [row for row in range(len(games)) if ply < len(games[row].moves)]
        batch.step(np.array(going, np.int64), np.array([games[row].moves[ply] for row in going], np.int64))
    return Positions(
        Encoded.concatenate(encoded),
        LegalMoves.concatenate(legal),
        np.concatenate(targets),
        np.array(values, np.float32),
        np.array(outcomes, np.int64),
        np.array(numbers, np.int64),
    )


def _target(legal: np.ndarray, game: LabelledGame, named: slice, number: int, ply: int) -> np.ndarray:
    """float32: the weights of a position's target over its legal moves, in their order; they sum to 1."""
    moves = game.target_moves[named].astype(np.int64)
    column = np.searchsorted(legal, moves)
    if not np.array_equal(legal[np.minimum(column, len(legal) - 1)], moves):
        raise ValueError(f"game {number}, after {ply} plies: the target names a move that is not legal")
    target = np.zeros(len(legal), np.float32)
    target[column] = game.target_weights[named] / game.target_weights[named].sum(dtype=np.float64)
    return target
