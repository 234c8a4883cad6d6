"""Networks that lc0 has turned into ONNX graphs, where the network file itself is not to be had.

Only what lc0 writes for a convolutional network is read (`lc0 leela2onnx`, lc0 0.30 and later): its
initialisers have fixed names, /inputconv/w/kernel, /block0/conv1/w/kernel and so on, batch norm folded in.
Names and sizes do not tell the activation and the value head's last step, so the operators are compared with
those of the one graph that lc0 writes for such a network with ReLU and a scalar value.
"""

from __future__ import annotations

import math
from itertools import zip_longest
from pathlib import Path

import numpy as np
import torch

from searchless_rl.lc0.container import read_packed
from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.value_lift import DRAW_LOGIT
from searchless_rl.lc0.wire import Message, MessageType, find, parse
from searchless_rl.nets.se_resnet import INPUT_PLANES, POLICY_PLANES, ConvHeadConfig, SEResNet, SEResNetConfig

ENDINGS = (".onnx.bin", ".onnx.gz", ".onnx")
"""How the names of such files end; .bin is what web sites call a packed one."""
_IR_VERSION = b"\x08"
"""Field 1 of a `ModelProto`: how every ONNX file that lc0 writes begins."""
_FLOAT = 1
_TENSOR = MessageType(
    "TensorProto", {2: ("data_type", "uint"), 8: ("name", "bytes"), 9: ("raw_data", "bytes")}
)
_MODEL = MessageType(
    "ModelProto",
    {
        2: ("producer_name", "bytes"),
        7: (
            "graph",
            MessageType(
                "GraphProto",
                {
                    1: ("node", [MessageType("NodeProto", {4: ("op_type", "bytes")})]),
                    5: ("initializer", [_TENSOR]),
                },
            ),
        ),
    },
)
_STEM = "Conv Relu"
_BLOCK = f"{_STEM} Conv ReduceMean MatMul Add Relu MatMul Add Reshape Split Sigmoid Mul Add Add Relu"
_HEADS = f"{_STEM} Conv Reshape Gather {_STEM} Reshape MatMul Add Relu MatMul Add Tanh"
"""The operators of the parts, in lc0's order."""


def is_onnx(path: Path) -> bool:
    """Whether a file's name says that it is an ONNX graph."""
    return path.name.endswith(ENDINGS)


def load_onnx(path: Path) -> SEResNet:
    """The network of a graph, its scalar value head lifted (`value_lift`), exactly.

    Raises:
        NetworkFileError: the file (named) is damaged, or is no graph that lc0 made of such a network.
    """
    try:
        model = _model(path)
        network = _build(_initializers(model))
        _check_operators(model, network.config.blocks)
        return network
    except NetworkFileError as error:
        raise NetworkFileError(f"{path}: {error}") from error.__cause__


def _model(path: Path) -> Message:
    model = parse(read_packed(path, _IR_VERSION), _MODEL)
    if bytes(find(model, "producer_name") or b"") != b"Lc0":
        raise NetworkFileError("producer_name: not Lc0; of ONNX graphs only those that lc0 wrote are read")
    return model


def _check_operators(model: Message, blocks: int) -> None:
    """NetworkFileError, naming the first difference, unless the graph computes such a network."""
    found = [
        bytes(node.get("op_type") or b"").decode("utf-8", "replace")
        for node in find(model, "graph.node") or []
    ]
    expected = " ".join([_STEM, *[_BLOCK] * blocks, _HEADS]).split()
    for index, (operator, wanted) in enumerate(zip_longest(found, expected)):
        if operator != wanted:
            raise NetworkFileError(
                f"graph.node[{index}]: {operator} found, {wanted} expected; of lc0's graphs, those "
                "with ReLU, squeeze-excitation, convolutional policy and a scalar value are read"
            )


def _initializers(model: Message) -> dict[str, np.ndarray]:
    """float32 values of every float initialiser, flat."""
    found = {}
    for tensor in find(model, "graph.initializer") or []:
        if tensor.get("data_type") == _FLOAT:
            name = bytes(tensor.get("name") or b"").decode("utf-8", "replace")
            found[name] = _values(tensor, name)
    return found


def _values(tensor: Message, name: str) -> np.ndarray:
    raw = tensor.get("raw_data") or b""
    if len(raw) % 4:
        raise NetworkFileError(f"{name}: {len(raw)} bytes are no whole number of float32 values")
    values: np.ndarray = np.frombuffer(raw, "<f4").astype(np.float32)
    if not np.isfinite(values).all():
        raise NetworkFileError(f"{name}: has values that are not finite")
    return values


def _build(tensors: dict[str, np.ndarray]) -> SEResNet:
    filters, channels, hidden = (
        _size(tensors, name) for name in ("/inputconv/w/bias", "/value/conv/w/bias", "/value/dense1/add/w")
    )
    blocks = 0
    while f"/block{blocks}/conv1/w/kernel" in tensors:
        blocks += 1
    se_hidden = _size(tensors, "/block0/conv2/se/add1/w")
    config = SEResNetConfig(
        filters=filters, blocks=blocks, se_hidden=se_hidden, value=ConvHeadConfig(channels, hidden)
    )
    parts = {
        **_conv("input", "/inputconv/w", filters, INPUT_PLANES, 3),
        **_conv("policy.conv", "/policy/conv1/w", filters, filters, 3),
        **_conv("policy.planes", "/policy/conv2/w", POLICY_PLANES, filters, 3),
        **_conv("value.conv", "/value/conv/w", channels, filters, 1),
        **_dense("value.hidden", "/value/dense1/matmul/w", "/value/dense1/add/w", hidden, channels * 64),
    }
    for number in range(blocks):
        own, theirs = f"blocks.{number}", f"/block{number}"
        squeeze, excite = (f"{theirs}/conv2/se/{part}" for part in ("matmul1/w", "matmul2/w"))
        parts |= _conv(f"{own}.conv1", f"{theirs}/conv1/w", filters, filters, 3)
        parts |= _conv(f"{own}.conv2", f"{theirs}/conv2/w", filters, filters, 3)
        parts |= _dense(f"{own}.se.squeeze", squeeze, f"{theirs}/conv2/se/add1/w", se_hidden, filters)
        parts |= _dense(f"{own}.se.excite", excite, f"{theirs}/conv2/se/add2/w", 2 * filters, se_hidden)
    values = {name: _read(tensors, *part) for name, part in parts.items()}
    weight = _read(tensors, "/value/dense2/matmul/w", (1, hidden), False)
    bias = _read(tensors, "/value/dense2/add/w", (1,), False)
    sign = np.array([1, 0, -1], np.float32)
    values["value.output.weight"] = sign[:, None] * weight
    values["value.output.bias"] = sign * bias + np.array([0, DRAW_LOGIT, 0], np.float32)
    with torch.random.fork_rng(devices=[]):
        network = SEResNet(config)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(torch.from_numpy(values[name]))
    return network


_Part = tuple[str, tuple[int, ...], bool]
"""Name of an initialiser, shape of the parameter, and whether it is stored as its transpose."""


def _conv(parameter: str, name: str, outputs: int, inputs: int, size: int) -> dict[str, _Part]:
    return {
        f"{parameter}.weight": (f"{name}/kernel", (outputs, inputs, size, size), False),
        f"{parameter}.bias": (f"{name}/bias", (outputs,), False),
    }


def _dense(parameter: str, weight: str, bias: str, outputs: int, inputs: int) -> dict[str, _Part]:
    """A matrix is stored as [inputs, outputs]: the graph multiplies from the right."""
    return {
        f"{parameter}.weight": (weight, (outputs, inputs), True),
        f"{parameter}.bias": (bias, (outputs,), False),
    }


def _size(tensors: dict[str, np.ndarray], name: str) -> int:
    if name not in tensors or not len(tensors[name]):
        raise NetworkFileError(f"{name}: missing; this is no convolutional network with a scalar value")
    return len(tensors[name])


def _read(tensors: dict[str, np.ndarray], name: str, shape: tuple[int, ...], transposed: bool) -> np.ndarray:
    values, wanted = tensors.get(name), math.prod(shape)
    if values is None:
        raise NetworkFileError(f"{name}: missing")
    if len(values) != wanted:
        raise NetworkFileError(
            f"{name}: {wanted} values expected ({' x '.join(map(str, shape))}), {len(values)} found"
        )
    return np.ascontiguousarray(values.reshape(shape[::-1]).T) if transposed else values.reshape(shape)
