"""Number formats of the networks: strict float32, bfloat16 where asked for, and what stays float32 then."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import nn


def strict_float32() -> None:
    """Make float32 mean float32 on GPUs too, in this process: no TF32 in convolutions or matrix products.

    PyTorch's default computes float32 convolutions with TF32's ten bits of mantissa. Every place that runs a
    network calls this first (`Evaluator`, self-play, the control).
    """
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")


def resolve_precision(requested: Literal["auto", "float32", "bf16"]) -> Literal["float32", "bf16"]:
    """The number format networks compute in while they are trained; "auto" is bf16 where it is native.

    Master weights, losses and distributions are float32 either way.
    """
    if requested != "auto":
        return requested
    if torch.cuda.is_available():
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    features = torch.cpu.get_capabilities()
    return "bf16" if features.get("avx512_bf16") or features.get("amx_bf16") else "float32"


def widen(x: torch.Tensor) -> torch.Tensor:
    """float32 of a half-precision tensor; float32 and float64 pass unchanged."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def full_precision(x: torch.Tensor) -> torch.autocast:
    """Context without autocast on the device of x.

    The last product of every head runs in it: logits rounded to bfloat16 would tie moves that differ.
    """
    return torch.autocast(x.device.type, enabled=False)


class LayerNorm(nn.LayerNorm):
    """Layer norm over the channels whose statistics and result are float32 also under autocast."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the layer; the result is float32, or float64 for float64."""
        with full_precision(x):
            return F.layer_norm(widen(x), self.normalized_shape, self.weight, self.bias, self.eps)


class FinalLinear(nn.Linear):
    """The linear layer that ends a head: computed in float32 also under autocast."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the layer; the result is float32, or float64 for float64."""
        with full_precision(x):
            return F.linear(widen(x), self.weight, self.bias)


class FinalConv2d(nn.Conv2d):
    """The convolution that ends a head: computed in float32 also under autocast."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the layer; the result is float32, or float64 for float64."""
        with full_precision(x):
            return super().forward(widen(x))
