"""Signs of a broken run, each of which stops it with the cell, the step and what to do."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from searchless_rl.board import GameBatch
from searchless_rl.cells import Cell

MIN_MEAN_RHO = 0.2
"""Healthy runs have a mean ρ of 0.85 to 1; a broken temperature gives about 0.001 and no other sign."""


class TrainingFailure(RuntimeError):
    """A run that cannot go on."""


class UnusableBase(TrainingFailure):
    """The run failed before any weight moved, so its base network is at fault."""


def require_healthy(
    cell: Cell, step: int, record: Mapping[str, float], total: Tensor, games: GameBatch
) -> None:
    """Check a step before its gradient is applied.

    Args:
        cell: which.
        step: its number, from 1.
        record: its scalars (`diagnostics.summarize_step`).
        total: [B] loss of each position.
        games: after their moves.

    Raises:
        UnusableBase: the loss of the first step is not finite.
        TrainingFailure: a later loss is not finite (at most three positions named), the mean ρ is below
            `MIN_MEAN_RHO`, or a temperature lies outside [0, ln 3].
    """
    loss = record["loss"]
    if not math.isfinite(loss):
        positions = _positions_before(games, torch.nonzero(~torch.isfinite(total)).flatten().tolist()[:3])
        raise not_finite(f"{cell.id}: the loss is {loss} at step {step} (at {positions})", step, " or beta")
    if not record["rho"] >= MIN_MEAN_RHO:
        raise TrainingFailure(
            f"{cell.id}: the mean importance weight is {record['rho']:.4g} at step {step}; moves are no "
            "longer sampled from a tempered policy."
        )
    coldest, hottest = record["tau_min"], record["tau_max"]
    if cell.tau == "adaptive" and not -1e-6 <= coldest <= hottest <= math.log(3) + 1e-4:
        raise TrainingFailure(
            f"{cell.id}: temperatures from {coldest:.4g} to {hottest:.4g} at step {step} leave [0, ln 3]; "
            "the value head is broken."
        )


def not_finite(what: str, step: int, also: str = "") -> TrainingFailure:
    """The error of a loss that is not finite at a step, counted from 1; `also`: what else may be lowered."""
    if step == 1:
        return UnusableBase(f"{what}, before any weight has moved: the network's outputs are not finite.")
    return TrainingFailure(f"{what}; lower selfplay.learning_rates{also}.")


def require_finite_weights(network: nn.Module, name: str, step: int) -> None:
    """Check the weights after a step before they are saved.

    Raises:
        TrainingFailure: one is not finite.
    """
    if not all(torch.isfinite(parameter).all() for parameter in network.parameters()):
        raise TrainingFailure(
            f"{name}: weights are not finite after step {step}; lower selfplay.learning_rates or beta."
        )


@contextlib.contextmanager
def failures_explained(base: Path, checkpoint: Path) -> Iterator[None]:
    """Add to a failure the file of an unusable base, or the checkpoint that is left."""
    try:
        yield
    except UnusableBase as error:
        raise UnusableBase(f"base {base}: {error} Use another base network.") from error
    except TrainingFailure as error:
        kept = f" The last checkpoint is kept: {checkpoint}" if checkpoint.exists() else ""
        raise TrainingFailure(f"{error}{kept}") from error


def _positions_before(games: GameBatch, rows: list[int]) -> str:
    """FENs of games before their last move."""
    before = GameBatch.replay([games.fens[row] for row in rows], [games.moves[row][:-1] for row in rows])
    return "; ".join(before.board_fen(row) for row in range(len(rows)))
