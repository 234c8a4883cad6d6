"""A student that is distilled from a search: cross-entropy to its visits, and to its values and outcomes.

    L(θ) = mean[-Σ_a π(a|s) log p_θ(a|s)] + c_v · mean[-Σ_k y_k log w_θ,k(s)]

over legal moves. The first term is the mass-covering direction, KL(π‖p_θ) up to the entropy of π. The target
y of the win/draw/loss head is a mix of the game's outcome and the search's value; a value q of the search
enters as calibrated on the outcomes of the same games, with the logits (a·z, b, -a·z), z = artanh q.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from searchless_rl.nets.precision import strict_float32
from searchless_rl.pretrain.dataset import Positions
from searchless_rl.pretrain.settings import StudentParams
from searchless_rl.selfplay.distributions import LegalRows
from searchless_rl.statistics.calibration import Calibration, fit_calibration
from searchless_rl.supervised.control import draw

_LARGEST = 0.999
"""Search values are drawn in to this before artanh; mates would be infinite."""


def value_logits(value: np.ndarray) -> np.ndarray:
    """float64 [N, 3] logits (z, 0, -z) of search values, z = artanh q."""
    z = np.arctanh(np.clip(value.astype(np.float64), -_LARGEST, _LARGEST))
    return np.stack([z, np.zeros_like(z), -z], 1)


def wdl_targets(positions: Positions, calibration: Calibration, outcome_share: float) -> np.ndarray:
    """float32 [N, 3]: the outcome with the weight `outcome_share`, and the calibrated search value."""
    searched = calibration.apply(value_logits(positions.value))
    mixed = outcome_share * np.eye(3)[positions.outcome] + (1 - outcome_share) * searched
    result: np.ndarray = mixed.astype(np.float32)
    return result


class StudentModule(pl.LightningModule):
    """Trains `network` on positions; the batch of a step depends on the step and the seed alone.

    Args:
        network: to train; it ends as the student.
        positions: of the training games.
        rows: int64, the positions of an epoch (`surprise.epoch_rows`).
        params: of the training.
    """

    def __init__(
        self, network: nn.Module, positions: Positions, rows: np.ndarray, params: StudentParams
    ) -> None:
        super().__init__()
        strict_float32()
        self.network = network
        self.positions = positions
        self.rows = rows
        self.params = params
        self.calibration = fit_calibration(value_logits(positions.value), positions.outcome)
        self.targets = self.targets_of(positions)
        self.record: dict[str, float] = {}

    def targets_of(self, positions: Positions) -> np.ndarray:
        """float32 [N, 3] of the WDL head, for any positions."""
        return wdl_targets(positions, self.calibration, self.params.outcome_share)

    def training_step(self, batch: Any, number: int) -> Tensor:
        """The loss of the next batch."""
        rows = self.rows[draw(len(self.rows), self.params.batch_size, self.global_step, self.params.seed)]
        found = losses(self.network, self.positions, self.targets, rows, self.device)
        self.record = {name: float(part.detach()) for name, part in found._asdict().items()}
        return found.policy + self.params.value_coefficient * found.value

    def configure_optimizers(self) -> Any:
        """AdamW, a linear warm-up, then half a cosine to zero."""
        params = self.params
        decayed = [p for p in self.network.parameters() if p.ndim > 1]
        plain = [p for p in self.network.parameters() if p.ndim <= 1]
        groups: list[dict[str, Any]] = [
            {"name": "weights", "params": decayed, "weight_decay": params.weight_decay},
            {"name": "biases", "params": plain, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=params.learning_rate, betas=(0.9, 0.98))

        def factor(step: int) -> float:
            if step < params.warmup_steps:
                return (step + 1) / params.warmup_steps
            done = (step - params.warmup_steps) / max(params.steps - params.warmup_steps, 1)
            return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))

        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


class Losses(NamedTuple):
    """Means over some positions.

    Attributes:
        policy: cross-entropy of the policy, nats.
        value: cross-entropy of the WDL head, nats.
        agreement: how often the likeliest move is the one of the largest target, 0 to 1.
    """

    policy: Tensor
    value: Tensor
    agreement: Tensor


def losses(
    network: nn.Module,
    positions: Positions,
    targets: np.ndarray,
    rows: np.ndarray,
    device: torch.device | str = "cpu",
) -> Losses:
    """The means over some positions.

    Args:
        network: any of the Lc0 families.
        positions: N of them.
        targets: float32 [N, 3], of the WDL head.
        rows: int64 [n].
        device: of the network.
    """
    part = positions.select(rows)
    planes = torch.from_numpy(part.encoded.planes(np.arange(len(rows)))).to(device)
    legal = LegalRows.of(part.legal, device)
    target = torch.zeros(legal.mask.shape)
    column = np.arange(len(part.target)) - part.legal.start[part.legal.row]
    target[part.legal.row, column] = torch.from_numpy(part.target)
    out = network(planes)
    log_policy = legal.log_policy(out.policy)
    policy = -(target.to(device) * log_policy).sum(1).mean()
    likeliest = log_policy.masked_fill(~legal.mask, -torch.inf).argmax(1).cpu()
    agreement = (likeliest == target.argmax(1)).float().mean()
    log_wdl = torch.log_softmax(out.value_logits.float(), 1)
    value = -(torch.from_numpy(targets[rows]).to(device) * log_wdl).sum(1).mean()
    return Losses(policy, value, agreement)
