"""The three networks of a cell and their optimizer, as Lightning handles them."""

from __future__ import annotations

import copy
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from searchless_rl.nets.outputs import NetOutput
from searchless_rl.nets.precision import strict_float32
from searchless_rl.params import SelfPlayParams
from searchless_rl.selfplay.optimizer import build_optimizer, warmup_factor


class ThreeNetworks(pl.LightningModule):
    """The online network π_θ, p_θ, its EMA, and the frozen base, each ``planes -> NetOutput``.

    Args:
        base: the network to fine-tune; it is copied, and itself kept frozen outside the checkpoint.
        params: training parameters.

    Attributes:
        online, ema: the networks in the checkpoint.
    """

    def __init__(self, base: nn.Module, params: SelfPlayParams) -> None:
        super().__init__()
        strict_float32()
        self.automatic_optimization = False
        self.params = params
        self.online = copy.deepcopy(base).requires_grad_(True)
        self.ema = copy.deepcopy(base).requires_grad_(False)
        self._frozen = (base.requires_grad_(False),)  # a tuple, so that it is no submodule
        wrap = torch.compile if params.compile else lambda network: network
        # The networks as they are called; in a tuple too, so that wrapping renames no parameter.
        self._called = tuple(wrap(network) for network in (self.online, self.ema, base))

    def _online(self, planes: Tensor) -> NetOutput:
        out: NetOutput = self._called[0](planes)
        return out

    def _ema(self, planes: Tensor) -> NetOutput:
        out: NetOutput = self._called[1](planes)
        return out

    def _base(self, planes: Tensor) -> NetOutput:
        out: NetOutput = self._called[2](planes)
        return out

    def configure_optimizers(self) -> Any:
        """AdamW in the paper's groups under a linear warm-up."""
        optimizer = build_optimizer(self.online, self.params)
        warmup = self.params.warmup_steps
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warmup_factor(step, warmup))
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    def on_fit_start(self) -> None:
        """Move the frozen base, which is no submodule, to the device."""
        self._frozen[0].to(self.device)
