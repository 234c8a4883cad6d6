"""The attention-body family of Lc0 (BT4 and its relatives)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from searchless_rl.board.policy_map import PLAIN_INDEX
from searchless_rl.nets.activations import ACTIVATIONS
from searchless_rl.nets.attention_heads import (
    AttentionPolicyConfig,
    AttentionPolicyHead,
    TokenHead,
    TokenHeadConfig,
)
from searchless_rl.nets.base import PolicyValueNet
from searchless_rl.nets.encoder import SQUARES, EncoderConfig, EncoderLayer, FeedForward, SmolgenConfig
from searchless_rl.nets.outputs import NetOutput
from searchless_rl.nets.precision import LayerNorm

INPUT_PLANES = 112
PIECE_PLANES = 12
"""The planes of the current position's pieces: the first 12."""
_DENSE_EPSILON = 1e-3
_MAP_EPSILON = 1e-6


@dataclass(frozen=True)
class DenseEmbeddingConfig:
    """PE_DENSE: ``position`` channels a square computed from all pieces, and a feed-forward layer."""

    position: int
    ffn: int


@dataclass(frozen=True)
class ChessformerConfig:
    """Sizes of an attention-body network.

    ``dense`` None is the PE_MAP embedding: a fixed map of the squares a piece could move to.
    """

    width: int
    encoders: EncoderConfig
    policy: AttentionPolicyConfig
    value: TokenHeadConfig
    moves_left: TokenHeadConfig | None = None
    dense: DenseEmbeddingConfig | None = None
    gates: bool = True
    smolgen: SmolgenConfig | None = None
    activation: str = "mish"
    ffn_activation: str = "mish"
    smolgen_activation: str = "swish"

    @property
    def alpha(self) -> float:
        """What every residual branch of the body is multiplied by: (2 * layers) ** -1/4."""
        return float((2 * self.encoders.layers) ** -0.25)

    @property
    def embedding_inputs(self) -> int:
        """Channels a square at the input of the embedding."""
        return INPUT_PLANES + (SQUARES if self.dense is None else self.dense.position)


def _position_map() -> np.ndarray:
    """float32 [64, 64]: 1 where a queen or knight reaches the square, -1 on the diagonal, else 0."""
    table: np.ndarray = (PLAIN_INDEX >= 0).astype(np.float32)
    return table - np.eye(SQUARES, dtype=np.float32)


class Gate(nn.Module):
    """Scale and shift of every channel of every square."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(SQUARES, width))
        self.shift = nn.Parameter(torch.zeros(SQUARES, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[B, 64, width] -> [B, 64, width]."""
        return x * self.scale + self.shift


class Embedding(nn.Module):
    """Planes [B, 112, 8, 8] -> tokens [B, 64, width]."""

    position_map: torch.Tensor

    def __init__(self, config: ChessformerConfig) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        self.alpha = config.alpha
        self.preprocess = self.norm = self.ffn = self.ffn_norm = None
        self.project = nn.Linear(config.embedding_inputs, config.width)
        if config.dense is None:
            self.register_buffer("position_map", torch.from_numpy(_position_map()), persistent=False)
        else:
            self.preprocess = nn.Linear(SQUARES * PIECE_PLANES, SQUARES * config.dense.position)
            self.norm = LayerNorm(config.width, eps=_DENSE_EPSILON)
            self.ffn = FeedForward(config.width, config.dense.ffn, ACTIVATIONS[config.ffn_activation])
            self.ffn_norm = LayerNorm(config.width, eps=_DENSE_EPSILON)
        self.gate = Gate(config.width) if config.gates else None

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        """[B, 112, 8, 8] -> [B, 64, width]."""
        tokens = planes.flatten(2).transpose(1, 2)
        if self.preprocess is None:
            position = self.position_map.expand(len(tokens), -1, -1)
        else:
            position = self.preprocess(tokens[:, :, :PIECE_PLANES].flatten(1)).unflatten(1, (SQUARES, -1))
        x = self.activation(self.project(torch.cat([tokens, position], dim=2)))
        if self.norm is not None:
            x = self.norm(x)
        if self.gate is not None:
            x = self.gate(x)
        if self.ffn is not None and self.ffn_norm is not None:
            x = self.ffn_norm(x + self.alpha * self.ffn(x))
        return x


class Chessformer(PolicyValueNet):
    """Transformer over the 64 squares with policy, win/draw/loss and optional moves-left heads."""

    def __init__(self, config: ChessformerConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(config)
        self.smolgen_generator = None
        if config.smolgen is not None:
            generator = torch.empty(SQUARES * SQUARES, config.smolgen.generator)
            self.smolgen_generator = nn.Parameter(nn.init.xavier_uniform_(generator))
        self.blocks = nn.ModuleList(
            EncoderLayer(
                config.width,
                config.encoders,
                alpha=config.alpha,
                epsilon=_MAP_EPSILON if config.dense is None else _DENSE_EPSILON,
                ffn_activation=config.ffn_activation,
                smolgen=config.smolgen,
                smolgen_activation=config.smolgen_activation,
            )
            for _ in range(config.encoders.layers)
        )
        self.policy = AttentionPolicyHead(
            config.width, config.policy, config.activation, config.ffn_activation
        )
        self.value = TokenHead(config.width, config.value, 3, config.activation)
        self.moves_left = (
            None
            if config.moves_left is None
            else TokenHead(config.width, config.moves_left, 1, config.activation)
        )

    def forward(self, planes: torch.Tensor) -> NetOutput:
        """Evaluate planes [B, 112, 8, 8] (``board.encode_game``)."""
        tokens = self.embedding(planes)
        for block in self.blocks:
            tokens = block(tokens, self.smolgen_generator)
        value_logits = self.value(tokens)
        return NetOutput(
            policy=self.policy(tokens),
            wdl=value_logits.softmax(dim=-1),
            moves_left=None if self.moves_left is None else F.relu(self.moves_left(tokens)).squeeze(1),
            value_logits=value_logits,
        )
