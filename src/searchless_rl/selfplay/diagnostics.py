"""What is recorded of every step: loss parts, sampling, concentration, endings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from searchless_rl.board import Ending
from searchless_rl.selfplay.distributions import covering_mass, entropy, kl_divergence
from searchless_rl.selfplay.objective import Losses


@dataclass(frozen=True)
class StepRecord:
    """Scalars of one step, by metric key; means over the batch unless the key says otherwise."""

    values: dict[str, float]

    def with_losses(self, parts: Losses) -> StepRecord:
        """The record with the loss and its (unweighted) parts in front."""
        means = {
            "loss": parts.total,
            "loss_policy": parts.policy,
            "loss_exploration": parts.exploration,
            "loss_value": parts.value,
        }
        return StepRecord({key: float(part.mean()) for key, part in means.items()} | self.values)


def measure_step(
    *,
    log_policy: Tensor,
    log_base: Tensor | None,
    mask: Tensor,
    tau: Tensor,
    weight: Tensor,
    advantage: Tensor,
    ending: np.ndarray,
    capped: np.ndarray,
    plies: np.ndarray,
    moved_white: np.ndarray,
) -> StepRecord:
    """Health signals of a step.

    Args:
        log_policy: [B, L] log π_θ at s.
        log_base: [B, L] log π_base, or None where it was not computed in this step.
        mask: bool [B, L] legal moves.
        tau: [B] temperatures.
        weight: [B] ρ.
        advantage: [B] A.
        ending: int8 [B] `Ending` at s′.
        capped: bool [B] games stopped at the ply cap.
        plies: int [B] lengths at s′.
        moved_white: bool [B]: White made the move.
    """
    values = {
        "entropy": float(entropy(log_policy, mask).mean()),
        "cov5": float(covering_mass(log_policy, mask).mean()),
        "rho": float(weight.mean()),
        "tau": float(tau.mean()),
        "tau_min": float(tau.min()),
        "tau_max": float(tau.max()),
        "advantage": float(advantage.mean()),
        "advantage_sd": float(advantage.std(correction=0)),
    }
    if log_base is not None:
        values["kl_base_policy"] = float(kl_divergence(log_base, log_policy, mask).mean())
        values["kl_policy_base"] = float(kl_divergence(log_policy, log_base, mask).mean())
    finished = (ending != Ending.ONGOING) | capped
    mated = ending == Ending.CHECKMATE
    values["finished"] = int(finished.sum())
    values["white_wins"] = int((mated & moved_white).sum())
    values["black_wins"] = int((mated & ~moved_white).sum())
    values["stalemates"] = int((ending == Ending.STALEMATE).sum())
    values["insufficient_material"] = int((ending == Ending.MATERIAL).sum())
    values["repetitions"] = int((ending == Ending.THREEFOLD).sum())
    values["fifty_moves"] = int((ending == Ending.FIFTY_MOVES).sum())
    values["capped"] = int(capped.sum())
    if finished.any():
        values["plies"] = float(plies[finished].mean())
    return StepRecord(values)
