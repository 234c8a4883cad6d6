"""Policy-value networks of the Lc0 families.

`base` and `outputs` are what they have in common. `chessformer` is the attention body (BT4) of `encoder`
layers with `attention_heads`, `se_resnet` the convolutional one (Maia); `activations` and `precision` serve
both. `evaluator` runs any of them on batches of positions.
"""

from searchless_rl.nets.attention_heads import AttentionPolicyConfig as AttentionPolicyConfig
from searchless_rl.nets.attention_heads import TokenHeadConfig as TokenHeadConfig
from searchless_rl.nets.base import PolicyValueNet as PolicyValueNet
from searchless_rl.nets.chessformer import Chessformer as Chessformer
from searchless_rl.nets.chessformer import ChessformerConfig as ChessformerConfig
from searchless_rl.nets.chessformer import DenseEmbeddingConfig as DenseEmbeddingConfig
from searchless_rl.nets.encoder import EncoderConfig as EncoderConfig
from searchless_rl.nets.encoder import SmolgenConfig as SmolgenConfig
from searchless_rl.nets.outputs import NetOutput as NetOutput
from searchless_rl.nets.se_resnet import ConvHeadConfig as ConvHeadConfig
from searchless_rl.nets.se_resnet import SEResNet as SEResNet
from searchless_rl.nets.se_resnet import SEResNetConfig as SEResNetConfig

__all__ = [
    "AttentionPolicyConfig",
    "Chessformer",
    "ChessformerConfig",
    "ConvHeadConfig",
    "DenseEmbeddingConfig",
    "EncoderConfig",
    "NetOutput",
    "PolicyValueNet",
    "SEResNet",
    "SEResNetConfig",
    "SmolgenConfig",
    "TokenHeadConfig",
]
