"""Headers for networks that were built in Python instead of loaded from a file."""

from __future__ import annotations

from enum import IntEnum
from typing import TypeVar

from searchless_rl.lc0 import schema
from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.header import (
    LINEAR16,
    ActivationFunction,
    DefaultActivation,
    InputEmbedding,
    InputFormat,
    MovesLeftFormat,
    OutputFormat,
    PolicyFormat,
    Structure,
    ValueFormat,
)
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.wire import Message
from searchless_rl.nets.chessformer import ChessformerConfig
from searchless_rl.nets.se_resnet import SEResNetConfig

MAGIC = 0x1C0
# The first lc0 versions that read such files.
_MULTIHEAD_VERSION = 31
_MISH_VERSION = 29
_PLAIN_VERSION = 21

_Enum = TypeVar("_Enum", bound=IntEnum)


def blank_file(config: ChessformerConfig | SEResNetConfig) -> NetworkFile:
    """A network file with a header and no tensors, to be filled through the binding table.

    Heads: vanilla policy, winner value. Raises NetworkFileError for activations that the header cannot
    express.
    """
    if isinstance(config, ChessformerConfig):
        return NetworkFile(_attention_net(config))
    return NetworkFile(_convolutional_net(config))


def _attention_net(config: ChessformerConfig) -> Message:
    policy = Message(schema.POLICY_HEAD)
    if config.policy.encoders is not None:
        policy.values["pol_headcount"] = config.policy.encoders.heads
    weights = Message(
        schema.WEIGHTS,
        headcount=config.encoders.heads,
        policy_heads=Message(schema.POLICY_HEADS, vanilla=policy),
        value_heads=Message(schema.VALUE_HEADS, winner=Message(schema.VALUE_HEAD)),
    )
    return _net(
        _MULTIHEAD_VERSION,
        weights,
        network=Structure.ATTENTIONBODY_WITH_MULTIHEADFORMAT,
        policy=PolicyFormat.ATTENTION,
        moves_left=MovesLeftFormat.NONE if config.moves_left is None else MovesLeftFormat.V1,
        default_activation=_enum(DefaultActivation, config.activation),
        smolgen_activation=_enum(ActivationFunction, config.smolgen_activation),
        ffn_activation=_enum(ActivationFunction, config.ffn_activation),
        input_embedding=InputEmbedding.PE_MAP if config.dense is None else InputEmbedding.PE_DENSE,
    )


def _convolutional_net(config: SEResNetConfig) -> Message:
    return _net(
        _MISH_VERSION if config.activation == "mish" else _PLAIN_VERSION,
        Message(schema.WEIGHTS),
        network=(
            Structure.CLASSICAL_WITH_HEADFORMAT if config.se_hidden is None else Structure.SE_WITH_HEADFORMAT
        ),
        policy=PolicyFormat[config.policy.upper()],
        moves_left=MovesLeftFormat.NONE if config.moves_left is None else MovesLeftFormat.V1,
        default_activation=_enum(DefaultActivation, config.activation),
    )


def _enum(enum: type[_Enum], name: str) -> _Enum:
    try:
        return enum[name.upper()]
    except KeyError:
        known = ", ".join(item.name.lower() for item in enum)
        raise NetworkFileError(f"activation {name!r}: a network file can hold {known}") from None


def _net(minor_version: int, weights: Message, **network_format: IntEnum) -> Message:
    common = {"input": InputFormat.CLASSICAL_112_PLANE, "output": OutputFormat.WDL, "value": ValueFormat.WDL}
    return Message(
        schema.NET,
        magic=MAGIC,
        min_version=Message(schema.ENGINE_VERSION, major=0, minor=minor_version, patch=0),
        format=Message(
            schema.FORMAT,
            weights_encoding=LINEAR16,
            network_format=Message(
                schema.NETWORK_FORMAT,
                **{name: int(value) for name, value in (common | network_format).items()},
            ),
        ),
        weights=weights,
    )
