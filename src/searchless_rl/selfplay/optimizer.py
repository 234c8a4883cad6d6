"""AdamW in the paper's parameter groups, linear warm-up, EMA (paper Table 2 and appendix G)."""

from __future__ import annotations

import torch
from torch import nn

from searchless_rl.params import SelfPlayParams

TRAINED_ROLES = ("backbone", "final_block", "policy_head", "value_head")


def build_optimizer(network: nn.Module, params: SelfPlayParams) -> torch.optim.AdamW:
    """One AdamW with a group per role, in the order of `TRAINED_ROLES`.

    The moves-left head gets no gradient from the objective and stays out; it is kept as the base has it.
    """
    roles = network.parameter_roles()  # type: ignore[operator]  # every network of `nets` has it
    named = dict(network.named_parameters())
    groups = [
        {
            "params": [named[name] for name, role in roles.items() if role == wanted],
            "lr": getattr(params.learning_rates, wanted),
            "name": wanted,
        }
        for wanted in TRAINED_ROLES
    ]
    return torch.optim.AdamW(
        groups, betas=(params.adam_beta1, params.adam_beta2), weight_decay=params.weight_decay
    )


def warmup_factor(step: int, warmup_steps: int) -> float:
    """Share of the peak rate at optimizer step 0, 1, ...: (step + 1)/warmup, then 1 (paper appendix G)."""
    return min(1.0, (step + 1) / warmup_steps) if warmup_steps else 1.0


@torch.no_grad()
def update_ema(ema: nn.Module, online: nn.Module, decay: float) -> None:
    """θ̄ ← α·θ̄ + (1 − α)·θ with α = `decay` (paper section 2.3, Table 2) for every parameter.

    Buffers are copied.
    """
    torch._foreach_lerp_(list(ema.parameters()), list(online.parameters()), 1 - decay)
    for kept, new in zip(ema.buffers(), online.buffers(), strict=True):
        kept.copy_(new)


def beta_at(step: int, beta: float, params: SelfPlayParams) -> float:
    """β at optimizer step 0, 1, ...: falls linearly to β·`beta_final` at the last step.

    The paper names annealing as a safeguard (Limitations); `beta_final` 1 keeps β constant.
    """
    through = step / max(1, params.steps - 1)
    return beta * (1 + (params.beta_final - 1) * through)
