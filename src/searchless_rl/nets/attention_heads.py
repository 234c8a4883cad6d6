"""Heads on the tokens [B, 64, width] of an attention body."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn

from searchless_rl.board.policy_map import ATTENTION_GATHER
from searchless_rl.nets.activations import ACTIVATIONS
from searchless_rl.nets.encoder import SQUARES, EncoderConfig, EncoderLayer
from searchless_rl.nets.precision import FinalLinear, full_precision, widen

POLICY_ENCODER_EPSILON = 1e-6
_RANK_7 = slice(48, 56)
_RANK_8 = slice(56, 64)


@dataclass(frozen=True)
class AttentionPolicyConfig:
    """``embedding`` channels, then queries and keys of ``width`` channels; encoders in between if any."""

    embedding: int
    width: int
    encoders: EncoderConfig | None = None


@dataclass(frozen=True)
class TokenHeadConfig:
    """``channels`` a square, then a hidden layer of ``hidden`` units."""

    channels: int
    hidden: int


class AttentionPolicyHead(nn.Module):
    """Policy format 3: logit of a move = query of its from-square times key of its to-square."""

    gather: torch.Tensor

    def __init__(
        self, width: int, config: AttentionPolicyConfig, activation: str, ffn_activation: str
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.embedding = nn.Linear(width, config.embedding)
        self.encoders = nn.ModuleList()
        if config.encoders is not None:
            self.encoders.extend(
                EncoderLayer(
                    config.embedding,
                    config.encoders,
                    alpha=1.0,
                    epsilon=POLICY_ENCODER_EPSILON,
                    ffn_activation=ffn_activation,
                )
                for _ in range(config.encoders.layers)
            )
        self.query = nn.Linear(config.embedding, config.width)
        self.key = nn.Linear(config.embedding, config.width)
        self.promotion = FinalLinear(config.width, 4, bias=False)
        self.register_buffer("gather", torch.from_numpy(ATTENTION_GATHER), persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """[B, 64, width] -> [B, 1858] raw logits."""
        x = self.activation(self.embedding(tokens))
        for encoder in self.encoders:
            x = encoder(x)
        query, key = self.query(x), self.key(x)
        with full_precision(x):
            logits = widen(query) @ widen(key).transpose(1, 2) / math.sqrt(key.shape[2])
        # A promotion is its pawn move plus an offset by to-file for queen, rook, bishop; the fourth
        # number (the knight's) goes to all three.
        offsets = self.promotion(key[:, _RANK_8])
        offsets = offsets[..., :3] + offsets[..., 3:]
        promotions = logits[:, _RANK_7, _RANK_8].unsqueeze(3) + offsets.unsqueeze(1)
        return torch.cat([logits.flatten(1), promotions.flatten(1)], dim=1).index_select(1, self.gather)


class TokenHead(nn.Module):
    """Value or moves-left head: [B, 64, width] -> [B, outputs]; flattened square by square."""

    def __init__(self, width: int, config: TokenHeadConfig, outputs: int, activation: str) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.embedding = nn.Linear(width, config.channels)
        self.hidden = nn.Linear(SQUARES * config.channels, config.hidden)
        self.output = FinalLinear(config.hidden, outputs)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """[B, 64, width] -> [B, outputs]."""
        features = self.activation(self.embedding(tokens)).flatten(1)
        outputs: torch.Tensor = self.output(self.activation(self.hidden(features)))
        return outputs
