"""The four exploration terms R(θ) of the study (paper sections 2.1, 2.2 and 3.1), over legal moves."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from searchless_rl.cells import Term
from searchless_rl.selfplay.distributions import entropy, kl_divergence


def exploration_term(
    term: Term, log_policy: Tensor, log_base: Tensor | None, mask: Tensor, *, reverse_floor: float = 0.0
) -> Tensor:
    """R of each position in nats, [B], to be minimised with weight β.

    * forward_kl: KL(π_base‖π_θ), mass-covering (equation 2; the paper's method)
    * reverse_kl: KL(π_θ‖π_base), mode-seeking (section 2.2)
    * entropy: KL(π_θ‖U) = log|A(s)| − H(π_θ), the entropy bonus (equation 1)
    * none: 0

    Args:
        term: one of the four.
        log_policy: [B, L] log π_θ, with gradient.
        log_base: [B, L] log π_base, constant; needed by the two anchors only.
        mask: bool [B, L] legal moves.
        reverse_floor: both policies of the reverse KL are clamped to at least this probability (the
            released code's 1e-8); 0 leaves them as they are.
    """
    if term == "none":
        return torch.zeros_like(log_policy[:, 0])
    if term == "entropy":
        return mask.sum(1).to(log_policy.dtype).log() - entropy(log_policy, mask)
    if log_base is None:
        raise ValueError(f"the term {term} needs the base policy")
    if term == "forward_kl":
        return kl_divergence(log_base, log_policy, mask)
    if reverse_floor > 0:
        log_policy, log_base = (log_p.clamp(min=math.log(reverse_floor)) for log_p in (log_policy, log_base))
    return kl_divergence(log_policy, log_base, mask)


def needs_base(term: Term) -> bool:
    """Whether the term is measured against π_base (the others save its forward pass)."""
    return term in ("forward_kl", "reverse_kl")
