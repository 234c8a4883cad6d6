"""Which number format the networks compute in while a cell trains."""

from __future__ import annotations

from typing import Literal

import torch


def resolve_precision(requested: Literal["auto", "float32", "bf16"]) -> Literal["float32", "bf16"]:
    """bf16 or float32; "auto" is bf16 where the processor computes in it natively.

    Master weights, losses and distributions are float32 either way.
    """
    if requested != "auto":
        return requested
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    features = torch.cpu.get_capabilities()
    return "bf16" if features.get("avx512_bf16") or features.get("amx_bf16") else "float32"
