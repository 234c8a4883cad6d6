"""Training steps in Lightning with a clock in them, and the same network calls without anything else."""

from __future__ import annotations

import copy
import functools
import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from searchless_rl.board import POLICY_SIZE
from searchless_rl.nets import NetOutput
from searchless_rl.params import SelfPlayParams, load_params
from searchless_rl.selfplay import module as training
from searchless_rl.selfplay.callbacks import MetricsWriter
from searchless_rl.selfplay.module import SelfPlayModule
from searchless_rl.selfplay.optimizer import build_optimizer, update_ema
from selfplay_parts.settings import ROOT


class Call(NamedTuple):
    """One pass through a network: "online", "ema" or "base" forward, or "backward" through the online one."""

    what: str
    positions: int


class StepTimes(NamedTuple):
    """One training step.

    Attributes:
        whole: seconds from the end of one step to the end of the next, Lightning's loop and the line of
            metrics included, checkpoints not.
        network: of them in forward and backward passes.
        update: of them in AdamW and the EMA.
        calls: its passes, in order.
    """

    whole: float
    network: float
    update: float
    calls: tuple[Call, ...]


class ClockedModule(SelfPlayModule):
    """A module that notes what its network passes and updates take; it computes the same."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.network_seconds = self.update_seconds = 0.0
        self.calls: list[Call] = []

    def configure_optimizers(self) -> Any:
        """The optimizer, its steps timed."""
        configured = super().configure_optimizers()
        optimizer: torch.optim.Optimizer = configured["optimizer"]

        def begin(*_: object) -> None:
            self._update_begun = time.perf_counter()

        def end(*_: object) -> None:
            self.update_seconds += time.perf_counter() - self._update_begun

        optimizer.register_step_pre_hook(begin)
        optimizer.register_step_post_hook(end)
        return configured

    def manual_backward(self, loss: Tensor, *args: Any, **options: Any) -> None:
        """A backward pass, timed; it goes through as many positions as the last online pass."""
        positions = next(call.positions for call in reversed(self.calls) if call.what == "online")
        self._timed(
            "backward", positions, lambda: super(ClockedModule, self).manual_backward(loss, *args, **options)
        )

    def _online(self, planes: Tensor) -> NetOutput:
        return self._timed("online", len(planes), lambda: super(ClockedModule, self)._online(planes))

    def _ema(self, planes: Tensor) -> NetOutput:
        return self._timed("ema", len(planes), lambda: super(ClockedModule, self)._ema(planes))

    def _base(self, planes: Tensor) -> NetOutput:
        return self._timed("base", len(planes), lambda: super(ClockedModule, self)._base(planes))

    def _timed(self, what: str, positions: int, work: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        result = work()
        self.network_seconds += time.perf_counter() - begun
        self.calls.append(Call(what, positions))
        return result

    def timed_ema(self, *args: Any) -> None:
        """`update_ema`, timed."""
        begun = time.perf_counter()
        update_ema(*args)
        self.update_seconds += time.perf_counter() - begun

    def read_and_reset(self, whole: float) -> StepTimes:
        """What was noted since the last call."""
        times = StepTimes(whole, self.network_seconds, self.update_seconds, tuple(self.calls))
        self.network_seconds = self.update_seconds = 0.0
        self.calls = []
        return times


class _Clock(pl.Callback):
    """Reads the module after each step, and lets others work before the next one's time begins."""

    def __init__(self, after: Callable[[StepTimes], None]) -> None:
        self._after = after
        self._begun = 0.0

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._begun = time.perf_counter()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, ClockedModule)
        self._after(pl_module.read_and_reset(time.perf_counter() - self._begun))
        self._begun = time.perf_counter()


def step_params(games: int, steps: int) -> SelfPlayParams:
    """The paper's parameters (Table 2) for a number of games and steps."""
    paper = load_params(ROOT / "scales" / "paper.yaml").selfplay
    return paper.model_copy(update={"games": games, "steps": steps})


def run_steps(module: ClockedModule, *, bf16: bool, after: Callable[[StepTimes], None]) -> None:
    """Train `module.params.steps` steps on the CPU; `after` is called after each, outside the times."""
    for name in ("pytorch_lightning", "lightning"):
        logging.getLogger(name).setLevel(logging.WARNING)
    for message in (".*does not have many workers.*", ".*LeafSpec.*"):
        warnings.filterwarnings("ignore", message=message)
    ticks: Any = range(module.params.steps)
    data: Any = torch.utils.data.DataLoader(ticks, batch_size=None)
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(training, "update_ema", module.timed_ema),
    ):
        trainer = pl.Trainer(
            max_steps=module.params.steps,
            max_epochs=-1,
            accelerator="cpu",
            devices=1,
            precision="bf16-mixed" if bf16 else "32-true",
            callbacks=[MetricsWriter(Path(folder) / "metrics.jsonl"), _Clock(after)],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            deterministic="warn",
        )
        trainer.fit(module, data)


class NetworkBound:
    """The network passes of a step and nothing else: ready-made planes in, ready-made gradients back.

    Args:
        module: whose networks are copied, so that it trains on undisturbed.
        base: its frozen network.
        planes: float32 [n, 112, 8, 8], at least as many as in one pass.
        bf16: under autocast, as the module's steps are.
    """

    def __init__(self, module: SelfPlayModule, base: nn.Module, planes: Tensor, *, bf16: bool) -> None:
        self._networks: dict[str, nn.Module] = {
            "online": copy.deepcopy(module.online),
            "ema": copy.deepcopy(module.ema),
            "base": copy.deepcopy(base),
        }
        self._optimizer = build_optimizer(self._networks["online"], module.params)
        self._decay = module.params.ema_decay
        self._planes = planes
        generator = torch.Generator().manual_seed(0)
        self._gradients = tuple(
            torch.randn(len(planes), width, generator=generator) / len(planes) for width in (POLICY_SIZE, 3)
        )
        self._autocast = functools.partial(torch.autocast, "cpu", torch.bfloat16, enabled=bf16)

    def seconds(self, calls: tuple[Call, ...]) -> float:
        """What the passes of one step take, with one AdamW step and one EMA update."""
        begun = time.perf_counter()
        self._optimizer.zero_grad()
        out: NetOutput | None = None
        with self._autocast():
            for what, positions in calls:
                if what == "backward":
                    assert out is not None
                    gradients = [gradient[:positions] for gradient in self._gradients]
                    torch.autograd.backward([out.policy, out.value_logits], gradients)
                    continue
                with torch.set_grad_enabled(what == "online"):
                    result = self._networks[what](self._planes[:positions])
                out = result if what == "online" else out
        self._optimizer.step()
        update_ema(self._networks["ema"], self._networks["online"], self._decay)
        return time.perf_counter() - begun
