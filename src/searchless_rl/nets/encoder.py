"""Transformer encoder layer of Lc0's attention bodies, with the optional smolgen attention bias.

Tokens are the 64 squares. Norms come after the residual sum; ``alpha`` scales the branch, not the skip.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

from searchless_rl.nets.activations import ACTIVATIONS, Activation
from searchless_rl.nets.precision import LayerNorm

SQUARES = 64
SMOLGEN_EPSILON = 1e-3


@dataclass(frozen=True)
class SmolgenConfig:
    """``compress`` channels a square, then ``hidden`` units, then ``generator`` numbers a head."""

    compress: int
    hidden: int
    generator: int


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of a stack of encoder layers; ``attention`` is the width of all heads together."""

    layers: int
    heads: int
    attention: int
    ffn: int


class FeedForward(nn.Module):
    """[..., width] -> [..., width] through ``hidden`` units."""

    def __init__(self, width: int, hidden: int, activation: Activation) -> None:
        super().__init__()
        self.expand = nn.Linear(width, hidden)
        self.contract = nn.Linear(hidden, width)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[..., width] -> [..., width]."""
        contracted: torch.Tensor = self.contract(self.activation(self.expand(x)))
        return contracted


class Smolgen(nn.Module):
    """Attention bias from the whole position: tokens [B, 64, width] -> [B, heads, 64, 64].

    The last step multiplies by the generator [4096, generator], one tensor shared by all layers.
    """

    def __init__(self, width: int, heads: int, config: SmolgenConfig, activation: Activation) -> None:
        super().__init__()
        self.heads = heads
        self.activation = activation
        self.compress = nn.Linear(width, config.compress, bias=False)
        self.hidden = nn.Linear(SQUARES * config.compress, config.hidden)
        self.hidden_norm = LayerNorm(config.hidden, eps=SMOLGEN_EPSILON)
        self.per_head = nn.Linear(config.hidden, heads * config.generator)
        self.per_head_norm = LayerNorm(heads * config.generator, eps=SMOLGEN_EPSILON)

    def forward(self, x: torch.Tensor, generator: torch.Tensor) -> torch.Tensor:
        """Tokens [B, 64, width] and the generator [4096, generator] -> [B, heads, 64, 64]."""
        compressed = self.compress(x).flatten(1)
        hidden = self.hidden_norm(self.activation(self.hidden(compressed)))
        per_head = self.per_head_norm(self.activation(self.per_head(hidden)))
        bias = F.linear(per_head.reshape(len(x), self.heads, -1), generator)
        return bias.reshape(len(x), self.heads, SQUARES, SQUARES)


class Attention(nn.Module):
    """Multi-head attention over the squares; smolgen's output is added before the softmax."""

    def __init__(
        self, width: int, config: EncoderConfig, smolgen: SmolgenConfig | None, smolgen_activation: Activation
    ) -> None:
        super().__init__()
        self.heads = config.heads
        self.query = nn.Linear(width, config.attention)
        self.key = nn.Linear(width, config.attention)
        self.value = nn.Linear(width, config.attention)
        self.output = nn.Linear(config.attention, width)
        self.smolgen = None if smolgen is None else Smolgen(width, config.heads, smolgen, smolgen_activation)

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        """[B, 64, heads * d] -> [B, heads, 64, d]."""
        return x.reshape(len(x), SQUARES, self.heads, -1).transpose(1, 2)

    def forward(self, x: torch.Tensor, generator: torch.Tensor | None) -> torch.Tensor:
        """Tokens [B, 64, width] -> [B, 64, width]; smolgen needs the generator [4096, generator]."""
        query, key, value = self._split(self.query(x)), self._split(self.key(x)), self._split(self.value(x))
        bias = None
        if self.smolgen is not None:
            assert generator is not None
            bias = self.smolgen(x, generator)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        output: torch.Tensor = self.output(attended.transpose(1, 2).flatten(2))
        return output


class EncoderLayer(nn.Module):
    """[B, 64, width] -> [B, 64, width]."""

    def __init__(
        self,
        width: int,
        config: EncoderConfig,
        *,
        alpha: float,
        epsilon: float,
        ffn_activation: str,
        smolgen: SmolgenConfig | None = None,
        smolgen_activation: str = "none",
    ) -> None:
        super().__init__()
        self.alpha = alpha
        self.attention = Attention(width, config, smolgen, ACTIVATIONS[smolgen_activation])
        self.attention_norm = LayerNorm(width, eps=epsilon)
        self.ffn = FeedForward(width, config.ffn, ACTIVATIONS[ffn_activation])
        self.ffn_norm = LayerNorm(width, eps=epsilon)

    def forward(self, x: torch.Tensor, generator: torch.Tensor | None = None) -> torch.Tensor:
        """Tokens [B, 64, width] -> [B, 64, width]; smolgen needs the generator [4096, generator]."""
        x = self.attention_norm(x + self.alpha * self.attention(x, generator))
        tokens: torch.Tensor = self.ffn_norm(x + self.alpha * self.ffn(x))
        return tokens
