"""A larger SE-ResNet that computes exactly what a smaller one does, to go on from.

New channels are computed by new, random weights, and nothing old reads them: the weights from new channels to
old ones are zero, and get gradients. New blocks add nothing to their inputs.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from searchless_rl.nets.se_resnet import SEResNet


def grow(small: SEResNet, *, filters: int, blocks: int, se_hidden: int, seed: int) -> SEResNet:
    """A network of more filters and blocks with the outputs of `small`, up to float rounding.

    Args:
        small: with squeeze-and-excitation.
        filters: of the new one; no size is smaller than that of `small`.
        blocks: of the new one.
        se_hidden: units of its squeeze-and-excitation.
        seed: of the new weights.

    Raises:
        ValueError: a size that shrinks, or a network without squeeze-and-excitation.
    """
    config = small.config
    if config.se_hidden is None:
        raise ValueError("only networks with squeeze-and-excitation can be grown")
    sizes = (filters, blocks, se_hidden)
    if any(
        new < old for new, old in zip(sizes, (config.filters, config.blocks, config.se_hidden), strict=True)
    ):
        raise ValueError(f"{filters} filters, {blocks} blocks, {se_hidden} SE units: smaller than {config}")
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        large = SEResNet(replace(config, filters=filters, blocks=blocks, se_hidden=se_hidden))
    old = dict(small.named_parameters())
    with torch.no_grad():
        for name, parameter in large.named_parameters():
            if name in old:
                parameter.copy_(_widened(name, old[name].detach(), parameter.shape, generator))
            else:
                parameter.copy_(_added(name, parameter.shape, generator))
    return large


def _widened(name: str, old: Tensor, shape: torch.Size, generator: torch.Generator) -> Tensor:
    """The old values in the leading corner; new rows random, new columns of old rows zero."""
    if ".se.excite." in name:  # two halves, scale and shift, each of all channels
        halves = old.reshape(2, -1, *old.shape[1:])
        half = (shape[0] // 2, *shape[1:])
        return torch.cat([_widened("", part, torch.Size(half), generator) for part in halves])
    new = _random(shape, generator)
    rows = tuple(slice(0, size) for size in old.shape)
    new[: old.shape[0]] = 0
    new[rows] = old
    return new


def _added(name: str, shape: torch.Size, generator: torch.Generator) -> Tensor:
    """A parameter of a new block: its last convolution and the shift of its excitation are zero."""
    new = _random(shape, generator)
    if ".conv2." in name:
        return torch.zeros(shape)
    if ".se.excite." in name:
        new[shape[0] // 2 :] = 0
    return new


def _random(shape: torch.Size, generator: torch.Generator) -> Tensor:
    """Weights with the variance that keeps that of their inputs through a rectifier; biases zero."""
    if len(shape) == 1:
        return torch.zeros(shape)
    inputs = nn.init._calculate_fan_in_and_fan_out(torch.empty(shape))[0]
    scale = float(2 / inputs) ** 0.5
    drawn: Tensor = scale * torch.randn(shape, generator=generator)
    return drawn
