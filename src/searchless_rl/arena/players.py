"""Searchless players: a network and how it picks its move from one forward pass (paper sections 2.3, 3.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from searchless_rl.board import GameBatch, LegalMoves
from searchless_rl.evaluation.policy import Choice, argmax_moves, log_probabilities
from searchless_rl.evaluation.temperature import temper, wdl_entropy
from searchless_rl.nets.evaluator import Evaluation, Evaluator

Temperature = float | Literal["adaptive"]
"""τ of μ ∝ π^(1/τ): 0 is the argmax, 1 the raw policy, "adaptive" the entropy in nats of the network's own
win/draw/loss probabilities at the position."""


@dataclass(frozen=True)
class Player:
    """A network and how it picks its moves.

    Attributes:
        name: its name in results and games; no blanks, quotes or backslashes.
        weights: an Lc0 network file.
        temperature: see `Temperature`.
    """

    name: str
    weights: Path
    temperature: Temperature = 0.0

    def __post_init__(self) -> None:
        if not self.name or any(letter.isspace() or letter in "\"'\\" for letter in self.name):
            raise ValueError(
                f"player name {self.name!r}: must not be empty or hold blanks, quotes or backslashes"
            )
        check_temperature(self.temperature)

    @property
    def is_sampled(self) -> bool:
        """Moves are drawn; otherwise they are the argmax."""
        return self.temperature != 0


def check_temperature(temperature: Temperature) -> None:
    """Raise a ValueError for anything that is no `Temperature`."""
    if temperature == "adaptive":
        return
    if isinstance(temperature, str) or not (math.isfinite(temperature) and temperature >= 0):
        raise ValueError(
            f'temperature {temperature!r}; allowed: "adaptive" or a number >= 0 (0 is the argmax)'
        )


def sample_moves(log_mu: np.ndarray, legal: LegalMoves, uniform: np.ndarray) -> np.ndarray:
    """One move per position by inverting its cumulative distribution.

    Args:
        log_mu: float64 [M] log-probabilities of the legal moves of N positions.
        legal: these moves.
        uniform: float64 [N] in [0, 1).

    Returns:
        int64 [N] policy indices.
    """
    counts = np.diff(legal.start)
    # Padded rows: a running sum over all positions would round differently beside other positions.
    mass = np.zeros((len(counts), int(counts.max(initial=1))))
    mass[legal.row, np.arange(len(legal.row)) - legal.start[legal.row]] = np.exp(log_mu)
    cumulative = mass.cumsum(1)
    total = cumulative[:, -1:]
    # Never past the last move that has mass, even where the product rounds up to the whole sum.
    column = ((cumulative <= uniform[:, None] * total) & (cumulative < total)).sum(1)
    moves: np.ndarray = legal.index[legal.start[:-1] + column]
    return moves


def played_policy(
    evaluation: Evaluation, legal: LegalMoves, temperatures: Sequence[Temperature]
) -> np.ndarray:
    """log-probabilities, float64 [M], with which each position's player moves.

    Args:
        evaluation: outputs for N positions of the networks to move.
        legal: their legal moves, at least one each.
        temperatures: N, the players'; at 0 all mass is on the argmax (tied moves within rounding share).
    """
    tau = np.array([math.nan if each == "adaptive" else each for each in temperatures], np.float64)
    tau = np.where(np.isnan(tau), wdl_entropy(evaluation.wdl), tau)
    return temper(log_probabilities(evaluation.policy, legal), legal, tau)


def pick_moves(
    evaluation: Evaluation, legal: LegalMoves, temperatures: Sequence[Temperature], uniform: np.ndarray
) -> Choice:
    """The move each position's player makes.

    Args:
        evaluation: outputs for N positions of the networks to move.
        legal: their legal moves, at least one each.
        temperatures: N, the players'.
        uniform: float64 [N] in [0, 1), read where the temperature is not 0.

    Returns:
        Moves; only an argmax is ever tied.
    """
    is_sampled = np.array([temperature != 0 for temperature in temperatures], bool)
    if not is_sampled.any():
        return argmax_moves(evaluation.policy, legal)
    drawn = sample_moves(played_policy(evaluation, legal, temperatures), legal, uniform)
    if is_sampled.all():
        return Choice(drawn, ~is_sampled)
    best = argmax_moves(evaluation.policy, legal)
    return Choice(np.where(is_sampled, drawn, best.move), best.tied & ~is_sampled)


class ChosenMove(NamedTuple):
    """One move of one player.

    Attributes:
        move: UCI, castling as e1g1.
        wdl: float32 [3] win/draw/loss probabilities for the side to move, before the move.
    """

    move: str
    wdl: np.ndarray


def choose_move(
    evaluator: Evaluator,
    game: GameBatch,
    temperature: Temperature,
    uniform: float,
    *,
    among: Sequence[str] = (),
) -> ChosenMove | None:
    """The move of a player in a single game; None where there is no legal move.

    Args:
        evaluator: the player's network.
        game: one game.
        temperature: the player's.
        uniform: random number in [0, 1), read where the temperature is not 0.
        among: UCI moves to choose from; those that are not legal are left out, and if none is left, or none
            is given, all legal moves may be chosen.

    Raises:
        RuntimeError: the network's outputs are not finite.
    """
    legal = game.legal()
    allowed = [index for index in legal.index.tolist() if game.uci(0, index) in among]
    if allowed:
        legal = LegalMoves(
            np.array(allowed, np.int64), np.zeros(len(allowed), np.int64), np.array([0, len(allowed)])
        )
    if not len(legal.index):
        return None
    evaluation = evaluator(game.planes())
    if not (np.isfinite(evaluation.policy).all() and np.isfinite(evaluation.wdl).all()):
        raise RuntimeError(f"the network's outputs are not finite in {game.board_fen(0)}")
    choice = pick_moves(evaluation, legal, [temperature], np.array([uniform]))
    return ChosenMove(game.uci(0, int(choice.move[0])), evaluation.wdl[0])
