"""The objective of one self-play step (paper section 2.3, equation 7, and appendix E).

    L(θ) = mean[-ρ·A·log π_θ(a|s)] + β·mean[R] + c_v·mean[ρ·CE(target, p_θ(s))]

with ρ = min(cap, π_θ(a|s)/μ(a|s)) and A = score(target) − v_θ(s) constant, score = W + D/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from searchless_rl.board import Ending
from searchless_rl.cells import Term
from searchless_rl.selfplay.terms import exploration_term


class Transitions(NamedTuple):
    """What one ply of B games left for the update; every tensor is constant.

    Attributes:
        action: int64 [B] column of the move played.
        rho: [B] truncated importance weights.
        advantage: [B] A, in [-1, 1].
        target: [B, 3] win/draw/loss target from the mover's view.
        log_base: [B, L] log π_base, or None where the term needs none.
        base_wdl: [B, 3] of the base at s, or None where no anchor of the value head needs it.
    """

    action: Tensor
    rho: Tensor
    advantage: Tensor
    target: Tensor
    log_base: Tensor | None
    base_wdl: Tensor | None = None


class Losses(NamedTuple):
    """Parts of the objective as [B] vectors; the objective is the mean of `total`."""

    policy: Tensor
    exploration: Tensor
    value: Tensor
    base_wdl: Tensor
    total: Tensor


@dataclass(frozen=True)
class Coefficients:
    """Factors of the parts of the objective.

    Attributes:
        beta: β, of the exploration term.
        c_v: of the value loss.
        base_wdl: of the KL between the WDL of base and online network; 0 in the paper.
        reverse_floor: least probability inside the reverse KL; 0 in the paper.
    """

    beta: float
    c_v: float
    base_wdl: float = 0.0
    reverse_floor: float = 0.0


def score(wdl: Tensor) -> Tensor:
    """Expected score v = W + D/2 in [0, 1], [B] (paper appendix A)."""
    return wdl[:, 0] + wdl[:, 1] / 2


def importance_weight(log_policy: Tensor, log_mu: Tensor, action: Tensor, cap: float | None) -> Tensor:
    """ρ(s, a) = min(cap, π_θ(a|s)/μ(a|s)), [B] (V-trace truncation, paper appendix E); 1 without a cap."""
    if cap is None:
        return torch.ones_like(log_policy[:, 0])
    column = action[:, None]
    return (log_policy.gather(1, column) - log_mu.gather(1, column)).squeeze(1).exp().clamp(max=cap)


def value_target(successor_wdl: Tensor, ending: np.ndarray, capped: np.ndarray) -> Tensor:
    """Win/draw/loss target p̂(s) from the mover's view, [B, 3] (paper appendix E).

    Args:
        successor_wdl: [B, 3] EMA distribution at s′, from the opponent's view (read where the game goes on).
        ending: int8 [B] `Ending` at s′: a checkmate is the mover's win, every other ending a draw.
        capped: bool [B]: the game counts as a draw at s′ without having ended by rule.
    """
    target = successor_wdl.flip(1)
    device = target.device
    won = torch.from_numpy(ending == Ending.CHECKMATE).to(device)
    drawn = torch.from_numpy((ending != Ending.CHECKMATE) & ((ending != Ending.ONGOING) | capped)).to(device)
    target[won] = target.new_tensor([1.0, 0.0, 0.0])
    target[drawn] = target.new_tensor([0.0, 1.0, 0.0])
    return target


def td_advantage(target: Tensor, wdl: Tensor) -> Tensor:
    """A(s, a) = (1 − v_ema(s′)) − v_θ(s), in [-1, 1], [B] (paper equation 4); not normalized.

    Args:
        target: [B, 3] of `value_target`, whose flip is the 1 − v of the equation.
        wdl: [B, 3] of the online network at s.
    """
    return score(target) - score(wdl)


def policy_loss(rho: Tensor, advantage: Tensor, log_action: Tensor) -> Tensor:
    """−ρ·A·log π_θ(a|s), [B]: the policy gradient of equation 7, reweighted (paper appendix E)."""
    return -rho * advantage * log_action


def value_loss(rho: Tensor, target: Tensor, log_wdl: Tensor) -> Tensor:
    """L_V = ρ·CE(p̂(s), p_θ(s)), nats, [B] (paper appendix E)."""
    return -rho * (target * log_wdl).sum(1)


def wdl_anchor(term: Term, log_wdl: Tensor, base_wdl: Tensor) -> Tensor:
    """KL between the base's and the online WDL, [B]: reversed for the reverse-KL arm (released code only)."""
    log_base = base_wdl.log()
    if term == "reverse_kl":
        return (log_wdl.exp() * (log_wdl - log_base)).sum(1)
    return (base_wdl * (log_base - log_wdl)).sum(1)


def losses(
    log_policy: Tensor,
    value_logits: Tensor,
    mask: Tensor,
    step: Transitions,
    term: Term,
    coefficients: Coefficients,
) -> Losses:
    """Equation 7 for B positions, with gradients in `log_policy` and `value_logits` only.

    Args:
        log_policy: [B, L] log π_θ.
        value_logits: [B, 3] of the online network.
        mask: bool [B, L] legal moves.
        step: the constants of the transition.
        term: exploration term R.
        coefficients: of the parts.
    """
    log_action = log_policy.gather(1, step.action[:, None]).squeeze(1)
    log_wdl = torch.log_softmax(value_logits, dim=1)
    policy = policy_loss(step.rho, step.advantage, log_action)
    floor = coefficients.reverse_floor
    exploration = exploration_term(term, log_policy, step.log_base, mask, reverse_floor=floor)
    value = value_loss(step.rho, step.target, log_wdl)
    anchor = torch.zeros_like(value)
    if step.base_wdl is not None:
        anchor = wdl_anchor(term, log_wdl, step.base_wdl)
    weighted_anchor = coefficients.base_wdl * anchor
    total = policy + coefficients.beta * exploration + coefficients.c_v * value + weighted_anchor
    return Losses(policy, exploration, value, anchor, total)
