"""The least change of a win/draw/loss head that calibrates it (`statistics.calibration`)."""

from __future__ import annotations

import torch
from torch import nn


def change_value_head(network: nn.Module, scale: float, draw: float) -> None:
    """Make the WDL logits of a network `scale` times themselves, and add `draw` to the middle one.

    Args:
        network: of any family; its other outputs stay as they are.
        scale: of all three logits.
        draw: added to that of the draw, after scaling.
    """
    output = network.get_submodule("value.output")
    with torch.no_grad():
        for parameter in output.parameters():
            parameter.mul_(scale)
        bias = output.get_parameter("bias")
        bias[1] += draw
