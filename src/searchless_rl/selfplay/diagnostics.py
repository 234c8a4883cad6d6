"""The metrics of every step: loss parts, sampling, concentration, endings."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from torch import Tensor

from searchless_rl.board import Ending, GameBatch
from searchless_rl.selfplay.distributions import entropy, kl_divergence, prior_coverage
from searchless_rl.selfplay.objective import Losses

TAU_QUANTILES = {"tau_min": 0.0, "tau_q10": 0.1, "tau_median": 0.5, "tau_q90": 0.9, "tau_max": 1.0}


class Signals(NamedTuple):
    """Signals of B transitions as [B] vectors.

    Attributes:
        entropy: of π_θ at s, nats.
        cov5: its mass on the base's five most likely moves.
        kl_base_policy, kl_policy_base: KL(π_base‖π_θ) and KL(π_θ‖π_base), nats. These three are None where
            the base was not evaluated in this step.
        tau: temperatures τ.
        rho: importance weights ρ.
        advantage: A.
        value: v_θ(s) = W + D/2 of the side to move.
    """

    entropy: Tensor
    cov5: Tensor | None
    kl_base_policy: Tensor | None
    kl_policy_base: Tensor | None
    tau: Tensor
    rho: Tensor
    advantage: Tensor
    value: Tensor


def measure_policy(
    log_policy: Tensor, log_base: Tensor | None, mask: Tensor
) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
    """The first four fields of `Signals` from [B, L] log-probabilities."""
    if log_base is None:
        return entropy(log_policy, mask), None, None, None
    return (
        entropy(log_policy, mask),
        prior_coverage(log_policy, log_base, mask),
        kl_divergence(log_base, log_policy, mask),
        kl_divergence(log_policy, log_base, mask),
    )


def summarize_step(parts: Losses, signals: Signals, games: GameBatch, max_plies: int) -> dict[str, float]:
    """Scalars of one step by metric key; means over the batch unless the key says otherwise.

    Args:
        parts: parts of the objective.
        signals: of the same transitions.
        games: after their moves, finished ones not yet restarted.
        max_plies: games this long are over.
    """
    means = {
        "loss": parts.total,
        "loss_policy": parts.policy,
        "loss_exploration": parts.exploration,
        "loss_value": parts.value,
        "loss_base_wdl": parts.base_wdl,
        "entropy": signals.entropy,
        "cov5": signals.cov5,
        "rho": signals.rho,
        "tau": signals.tau,
        "advantage": signals.advantage,
        "kl_base_policy": signals.kl_base_policy,
        "kl_policy_base": signals.kl_policy_base,
    }
    values = {key: float(part.mean()) for key, part in means.items() if part is not None}
    values["advantage_sd"] = float(signals.advantage.std(correction=0))
    tau = signals.tau.double().cpu().numpy()
    values |= {key: float(np.quantile(tau, share)) for key, share in TAU_QUANTILES.items()}
    return values | _endings(games, max_plies)


def finished(games: GameBatch, max_plies: int) -> np.ndarray:
    """The games that are over by rule or by length, bool [N]."""
    return games.over | (games.plies >= max_plies)


def _endings(games: GameBatch, max_plies: int) -> dict[str, float]:
    ending, plies, white_to_move = games.ending, games.plies, games.is_white
    over = finished(games, max_plies)
    mated = ending == Ending.CHECKMATE
    values: dict[str, float] = {
        "finished": int(over.sum()),
        "white_wins": int((mated & ~white_to_move).sum()),
        "black_wins": int((mated & white_to_move).sum()),
        "stalemates": int((ending == Ending.STALEMATE).sum()),
        "insufficient_material": int((ending == Ending.MATERIAL).sum()),
        "repetitions": int((ending == Ending.THREEFOLD).sum()),
        "fifty_moves": int((ending == Ending.FIFTY_MOVES).sum()),
        "capped": int((over & (ending == Ending.ONGOING)).sum()),
    }
    if over.any():
        values["plies"] = float(plies[over].mean())
    return values


def final_means(lines: str, counts: Collection[str] = (), share: float = 0.1) -> dict[str, float]:
    """The end of a run in one figure per metric.

    Args:
        lines: its metrics, a JSON object per step.
        counts: metrics that add up over the run; of these the last value is taken.
        share: part of the steps, at its end, that the other metrics are averaged over (where recorded).
    """
    records = [json.loads(line) for line in lines.splitlines()]
    last = records[-max(1, round(len(records) * share)) :]
    keys = [key for key in dict.fromkeys(key for record in last for key in record) if key != "step"]
    columns = {key: [record[key] for record in last if key in record] for key in keys}
    means = {key: sum(values) / len(values) for key, values in columns.items()}
    return means | {key: records[-1][key] for key in counts}
