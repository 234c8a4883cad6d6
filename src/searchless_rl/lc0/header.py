"""The header of a network file: enums, the corrections Lc0 applies to old files, what is supported."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeVar

from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.wire import Message, find

LINEAR16 = 1


class InputFormat(IntEnum):
    """``network_format.input``: what the 112 planes hold."""

    UNKNOWN = 0
    CLASSICAL_112_PLANE = 1
    WITH_CASTLING_PLANE = 2
    WITH_CANONICALIZATION = 3
    WITH_CANONICALIZATION_HECTOPLIES = 4
    WITH_CANONICALIZATION_V2 = 5
    WITH_CANONICALIZATION_HECTOPLIES_ARMAGEDDON = 132
    WITH_CANONICALIZATION_V2_ARMAGEDDON = 133


class OutputFormat(IntEnum):
    """``network_format.output``."""

    UNKNOWN = 0
    CLASSICAL = 1
    WDL = 2


class Structure(IntEnum):
    """``network_format.network``."""

    UNKNOWN = 0
    CLASSICAL = 1
    SE = 2
    CLASSICAL_WITH_HEADFORMAT = 3
    SE_WITH_HEADFORMAT = 4
    ONNX = 5
    ATTENTIONBODY_WITH_HEADFORMAT = 6
    ATTENTIONBODY_WITH_MULTIHEADFORMAT = 7
    AB_LEGACY_WITH_MULTIHEADFORMAT = 134


class PolicyFormat(IntEnum):
    """``network_format.policy``."""

    UNKNOWN = 0
    CLASSICAL = 1
    CONVOLUTION = 2
    ATTENTION = 3


class ValueFormat(IntEnum):
    """``network_format.value``."""

    UNKNOWN = 0
    CLASSICAL = 1
    WDL = 2
    PARAM = 3


class MovesLeftFormat(IntEnum):
    """``network_format.moves_left``."""

    NONE = 0
    V1 = 1


class DefaultActivation(IntEnum):
    """``network_format.default_activation``."""

    RELU = 0
    MISH = 1


class ActivationFunction(IntEnum):
    """``smolgen_activation`` and ``ffn_activation``; DEFAULT is the default activation."""

    DEFAULT = 0
    MISH = 1
    RELU = 2
    NONE = 3
    TANH = 4
    SIGMOID = 5
    SELU = 6
    SWISH = 7
    RELU_2 = 8
    SOFTMAX = 9


class InputEmbedding(IntEnum):
    """``network_format.input_embedding``: how positions of squares enter an attention body."""

    NONE = 0
    PE_MAP = 1
    PE_DENSE = 2


_FIELDS: dict[str, type[IntEnum]] = {
    "input": InputFormat,
    "output": OutputFormat,
    "network": Structure,
    "policy": PolicyFormat,
    "value": ValueFormat,
    "moves_left": MovesLeftFormat,
    "default_activation": DefaultActivation,
    "smolgen_activation": ActivationFunction,
    "ffn_activation": ActivationFunction,
    "input_embedding": InputEmbedding,
}
_FORMAT = "format.network_format"
_ATTENTION = (Structure.ATTENTIONBODY_WITH_HEADFORMAT, Structure.ATTENTIONBODY_WITH_MULTIHEADFORMAT)
_CONVOLUTIONAL = (Structure.CLASSICAL_WITH_HEADFORMAT, Structure.SE_WITH_HEADFORMAT)

_Enum = TypeVar("_Enum", bound=IntEnum)


@dataclass(frozen=True)
class NetworkFormat:
    """``format.network_format`` as Lc0 reads it, after its corrections of old headers."""

    input: InputFormat
    output: OutputFormat
    network: Structure
    policy: PolicyFormat
    value: ValueFormat
    moves_left: MovesLeftFormat
    default_activation: DefaultActivation
    smolgen_activation: ActivationFunction
    ffn_activation: ActivationFunction
    input_embedding: InputEmbedding

    @property
    def attention_body(self) -> bool:
        """Whether the body is one of encoders."""
        return self.network in _ATTENTION

    def activation(self, which: ActivationFunction | None = None) -> str:
        """Name in ``nets.activations`` of the default activation, or of ``which``."""
        chosen = self.default_activation if which in (None, ActivationFunction.DEFAULT) else which
        assert chosen is not None
        return chosen.name.lower()


def read_format(net: Message) -> NetworkFormat:
    """The corrected format of a parsed file; NetworkFileError for an enum value that is not known."""
    encoding = find(net, "format.weights_encoding")
    if encoding != LINEAR16:
        raise NetworkFileError(f"format.weights_encoding = {encoding}: supported is LINEAR16 (1)")
    values = _corrected(net)
    try:
        members: dict[str, Any] = {name: enum(values.get(name, 0)) for name, enum in _FIELDS.items()}
        return NetworkFormat(**members)
    except ValueError:
        name = next(name for name, enum in _FIELDS.items() if values.get(name, 0) not in list(enum))
        known = ", ".join(f"{item.name} ({item.value})" for item in _FIELDS[name])
        raise NetworkFileError(f"{_FORMAT}.{name} = {values[name]}: known values are {known}") from None


def _corrected(net: Message) -> dict[str, int]:
    """Lc0's corrections of old headers, in its order."""
    stored = find(net, _FORMAT)
    if stored is None:
        return {"input": 1, "output": 1, "network": 3, "value": 1, "policy": 1}
    values: dict[str, int] = dict(stored.values)
    if values.get("network") in (Structure.CLASSICAL, Structure.SE):
        with_head_format = {
            Structure.CLASSICAL: Structure.CLASSICAL_WITH_HEADFORMAT,
            Structure.SE: Structure.SE_WITH_HEADFORMAT,
        }
        values |= {"network": with_head_format[Structure(values["network"])], "value": 1, "policy": 1}
    if values.get("network") == Structure.SE_WITH_HEADFORMAT and find(net, "weights.encoder[0]") is not None:
        values["network"] = Structure.ATTENTIONBODY_WITH_HEADFORMAT
        if find(net, "weights.smolgen_w") is not None:
            values["ffn_activation"] = ActivationFunction.RELU_2
            values["smolgen_activation"] = ActivationFunction.SWISH
    if values.get("network") == Structure.AB_LEGACY_WITH_MULTIHEADFORMAT:
        values["network"] = Structure.ATTENTIONBODY_WITH_MULTIHEADFORMAT
    if values.get("network") == Structure.ATTENTIONBODY_WITH_HEADFORMAT:
        multihead = all(
            find(net, f"weights.{heads}") is not None for heads in ("policy_heads", "value_heads")
        )
        if multihead:
            values["network"] = Structure.ATTENTIONBODY_WITH_MULTIHEADFORMAT
            values["input_embedding"] = InputEmbedding.PE_DENSE
        values.setdefault("input_embedding", InputEmbedding.PE_MAP)
    return values


def check_supported(network_format: NetworkFormat) -> None:
    """Raise NetworkFileError, naming field and value, for a network that the families cannot express."""
    _require(network_format, "network", (*_CONVOLUTIONAL, *_ATTENTION))
    _require(network_format, "input", (InputFormat.CLASSICAL_112_PLANE,), "; other planes are not made")
    _require(network_format, "value", (ValueFormat.WDL, ValueFormat.CLASSICAL))
    output = OutputFormat[network_format.value.name]
    _require(
        network_format,
        "output",
        (output, OutputFormat.UNKNOWN),
        f"; it contradicts value = {network_format.value.name}",
    )
    if network_format.attention_body:
        _require(network_format, "policy", (PolicyFormat.ATTENTION,), " with an attention body")
        _require(network_format, "input_embedding", (InputEmbedding.PE_MAP, InputEmbedding.PE_DENSE))
        without_softmax = [item for item in ActivationFunction if item is not ActivationFunction.SOFTMAX]
        _require(network_format, "smolgen_activation", without_softmax)
        _require(network_format, "ffn_activation", without_softmax)
    else:
        convolutional = (PolicyFormat.CLASSICAL, PolicyFormat.CONVOLUTION)
        _require(network_format, "policy", convolutional, " with a convolutional body")


def _require(
    network_format: NetworkFormat, name: str, supported: tuple[_Enum, ...] | list[_Enum], reason: str = ""
) -> None:
    value = getattr(network_format, name)
    if value not in supported:
        names = " or ".join(f"{item.name} ({item.value})" for item in supported)
        raise NetworkFileError(
            f"{_FORMAT}.{name} = {value.name} ({value.value}): supported is {names}{reason}"
        )
