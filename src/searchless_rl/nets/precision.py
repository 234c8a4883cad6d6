"""Precision rules shared by the networks: what must not run in bfloat16 under autocast."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


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
        with full_precision(x):
            return F.layer_norm(widen(x), self.normalized_shape, self.weight, self.bias, self.eps)


class FinalLinear(nn.Linear):
    """The linear layer that ends a head: computed in float32 also under autocast."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with full_precision(x):
            return F.linear(widen(x), self.weight, self.bias)


class FinalConv2d(nn.Conv2d):
    """The convolution that ends a head: computed in float32 also under autocast."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with full_precision(x):
            return super().forward(widen(x))
