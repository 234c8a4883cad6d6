"""The convolutional family of Lc0 (Maia, T60, ...): residual blocks with squeeze-and-excitation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import nn

from searchless_rl.board.policy_map import CONVOLUTION_GATHER, POLICY_SIZE
from searchless_rl.nets.activations import ACTIVATIONS, Activation
from searchless_rl.nets.base import PolicyValueNet
from searchless_rl.nets.outputs import NetOutput
from searchless_rl.nets.precision import FinalConv2d, FinalLinear

INPUT_PLANES = 112
POLICY_PLANES = 80


@dataclass(frozen=True)
class ConvHeadConfig:
    """A 1x1 convolution to ``channels``, then a hidden layer of ``hidden`` units."""

    channels: int
    hidden: int


@dataclass(frozen=True)
class SEResNetConfig:
    """Sizes of an SE-ResNet.

    ``se_hidden`` None leaves squeeze-and-excitation out. ``policy`` "convolution" is policy format 2
    (80 planes, gathered); "classical" is format 1 (``policy_channels`` 1x1 planes, then dense).
    """

    filters: int
    blocks: int
    se_hidden: int | None
    value: ConvHeadConfig
    moves_left: ConvHeadConfig | None = None
    policy: Literal["convolution", "classical"] = "convolution"
    policy_channels: int = 0
    activation: str = "relu"


def _conv3x3(inputs: int, outputs: int) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, padding=1)


class SqueezeExcitation(nn.Module):
    """y -> sigmoid(scale) * y + shift, both from the mean of y over the squares. y is [B, C, 8, 8]."""

    def __init__(self, filters: int, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.squeeze = nn.Linear(filters, hidden)
        self.excite = nn.Linear(hidden, 2 * filters)
        self.activation = activation

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        """[B, C, 8, 8] -> [B, C, 8, 8]."""
        gate = self.excite(self.activation(self.squeeze(y.mean(dim=(2, 3)))))
        scale, shift = gate[:, :, None, None].chunk(2, dim=1)
        excited: torch.Tensor = torch.sigmoid(scale) * y + shift
        return excited


class ResidualBlock(nn.Module):
    """x -> act(x + se(conv2(act(conv1(x))))), [B, C, 8, 8]."""

    def __init__(self, config: SEResNetConfig) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.conv1 = _conv3x3(config.filters, config.filters)
        self.conv2 = _conv3x3(config.filters, config.filters)
        self.se = (
            None
            if config.se_hidden is None
            else SqueezeExcitation(config.filters, config.se_hidden, self.activation)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B, C, 8, 8] -> [B, C, 8, 8]."""
        y = self.conv2(self.activation(self.conv1(x)))
        if self.se is not None:
            y = self.se(y)
        return self.activation(x + y)


class ConvolutionPolicyHead(nn.Module):
    """Policy format 2: 80 planes of from-squares, of which 1858 cells are moves."""

    gather: torch.Tensor

    def __init__(self, config: SEResNetConfig) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.conv = _conv3x3(config.filters, config.filters)
        self.planes = FinalConv2d(config.filters, POLICY_PLANES, 3, padding=1)
        self.register_buffer("gather", torch.from_numpy(CONVOLUTION_GATHER), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B, C, 8, 8] -> [B, 1858] logits."""
        planes: torch.Tensor = self.planes(self.activation(self.conv(x)))
        return planes.flatten(1).index_select(1, self.gather)


class ClassicalPolicyHead(nn.Module):
    """Policy format 1: a 1x1 convolution, then one dense layer to the 1858 moves."""

    def __init__(self, config: SEResNetConfig) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.conv = nn.Conv2d(config.filters, config.policy_channels, 1)
        self.output = FinalLinear(config.policy_channels * 64, POLICY_SIZE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B, C, 8, 8] -> [B, 1858] logits."""
        logits: torch.Tensor = self.output(self.activation(self.conv(x)).flatten(1))
        return logits


class ConvHead(nn.Module):
    """Value or moves-left head: [B, C, 8, 8] -> [B, outputs]; squares flattened plane by plane."""

    def __init__(self, filters: int, head: ConvHeadConfig, outputs: int, activation: Activation) -> None:
        super().__init__()
        self.activation = activation
        self.conv = nn.Conv2d(filters, head.channels, 1)
        self.hidden = nn.Linear(head.channels * 64, head.hidden)
        self.output = FinalLinear(head.hidden, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B, C, 8, 8] -> [B, outputs]."""
        features = self.activation(self.conv(x)).flatten(1)
        outputs: torch.Tensor = self.output(self.activation(self.hidden(features)))
        return outputs


class SEResNet(PolicyValueNet):
    """Residual tower with policy, win/draw/loss and optional moves-left heads.

    Batch norm is folded into the convolutions (``lc0.load_network`` does it), so every parameter is a
    plain weight or bias. Weights and activations are channels-last, the layout that convolution kernels
    want.
    """

    def __init__(self, config: SEResNetConfig) -> None:
        super().__init__()
        self.config = config
        self.activation = ACTIVATIONS[config.activation]
        self.input = _conv3x3(INPUT_PLANES, config.filters)
        self.blocks = nn.ModuleList(ResidualBlock(config) for _ in range(config.blocks))
        self.policy = (
            ConvolutionPolicyHead(config) if config.policy == "convolution" else ClassicalPolicyHead(config)
        )
        self.value = ConvHead(config.filters, config.value, 3, self.activation)
        self.moves_left = (
            None
            if config.moves_left is None
            else ConvHead(config.filters, config.moves_left, 1, self.activation)
        )
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, planes: torch.Tensor) -> NetOutput:
        """Evaluate planes [B, 112, 8, 8] (``board.encode_game``)."""
        x = self.activation(self.input(planes.contiguous(memory_format=torch.channels_last)))
        for block in self.blocks:
            x = block(x)
        value_logits = self.value(x)
        return NetOutput(
            policy=self.policy(x),
            wdl=value_logits.softmax(dim=-1),
            moves_left=None if self.moves_left is None else F.relu(self.moves_left(x)).squeeze(1),
            value_logits=value_logits,
        )
