"""The method with one part left out, to see what each component contributes (paper section 3)."""

from __future__ import annotations

from typing import Any

from searchless_rl.cells import Variant
from searchless_rl.params import SelfPlayParams

_CHANGES: dict[Variant, dict[str, Any]] = {
    "full": {},
    "no_rho": {"importance_cap": None},
    "no_ema": {"ema_decay": 0.0},  # the EMA is the online network then: targets, τ and what is evaluated
    "online_tau": {"temperature_source": "online"},
    "no_value_loss": {"value_coefficient": 0.0, "base_wdl_coefficient": 0.0},
}


def with_variant(params: SelfPlayParams, variant: Variant) -> SelfPlayParams:
    """The parameters a cell of this variant trains with."""
    return params.model_copy(update=_CHANGES[variant])
