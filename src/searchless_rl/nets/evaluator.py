"""Networks on batches of positions, in one fixed padded batch shape."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from searchless_rl.nets.precision import strict_float32


class OutputError(RuntimeError):
    """A network whose outputs are not finite numbers; the message names its file."""


class Evaluation(NamedTuple):
    """Outputs for N positions.

    Attributes:
        policy: float32 [N, 1858] raw logits, mover's frame.
        wdl: float32 [N, 3] win/draw/loss probabilities for the side to move.
    """

    policy: np.ndarray
    wdl: np.ndarray


class Evaluator:
    """A network that answers NumPy with NumPy.

    Every forward pass has the same shape (the last one is padded), so that a position's outputs do not
    depend on how many others are asked about.

    Args:
        network: any network of `nets`; it is put into evaluation mode and moved to `device`.
        batch_size: positions per forward pass.
        device: default: the first GPU where there is one, else the CPU.
    """

    def __init__(self, network: nn.Module, batch_size: int, device: str | None = None) -> None:
        strict_float32()
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.network = network.eval().to(self.device)
        self.batch_size = batch_size

    @torch.inference_mode()
    def __call__(self, planes: np.ndarray) -> Evaluation:
        """Evaluate float32 [N, 112, 8, 8] planes (N may be 0).

        Raises:
            OutputError: an output is NaN or infinite. Nothing that compares or draws moves could notice.
        """
        count = len(planes)
        policy = np.empty((count, 1858), np.float32)
        wdl = np.empty((count, 3), np.float32)
        for begin in range(0, count, self.batch_size):
            chunk = planes[begin : begin + self.batch_size]
            filled = len(chunk)
            if filled < self.batch_size:
                padding = np.zeros((self.batch_size - filled, *chunk.shape[1:]), np.float32)
                chunk = np.concatenate([chunk, padding])
            out = self.network(torch.from_numpy(np.ascontiguousarray(chunk)).to(self.device))
            policy[begin : begin + filled] = out.policy[:filled].cpu().numpy()
            wdl[begin : begin + filled] = out.wdl[:filled].cpu().numpy()
            self._require_finite(policy[begin : begin + filled], wdl[begin : begin + filled])
        return Evaluation(policy, wdl)

    def _require_finite(self, policy: np.ndarray, wdl: np.ndarray) -> None:
        outputs = {"policy": policy, "wdl": wdl}
        broken = [name for name, values in outputs.items() if not np.isfinite(values).all()]
        if broken:
            source = getattr(self.network, "source", None) or f"a {type(self.network).__name__}"
            raise OutputError(
                f"{source}: the network's outputs ({' and '.join(broken)}) are not finite numbers. Its "
                "weights overflow or are damaged: use another file."
            )
