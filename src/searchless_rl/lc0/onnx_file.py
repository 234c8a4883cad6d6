"""A convolutional network from the ONNX graph that ``lc0 leela2onnx`` made of it.

Some networks are published in that form alone. lc0 writes one graph for one network: its nodes and the
tensors they name follow from the number of blocks. So the graph is not interpreted: it is compared with the
one expected, node by node, and the tensors become the fields of a network file again (batch norms are
already folded into the convolutions). Read are networks with squeeze-excitation, ReLU, the convolutional
policy head and a scalar value head.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from searchless_rl.board.policy_map import CONVOLUTION_GATHER
from searchless_rl.lc0 import schema
from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.header import (
    LINEAR16,
    InputFormat,
    OutputFormat,
    PolicyFormat,
    Structure,
    ValueFormat,
)
from searchless_rl.lc0.layer import encode_layer
from searchless_rl.lc0.wire import Message, MessageType, find_or_create, parse

_FLOAT, _INT32 = 1, 6  # TensorProto.DataType
_DTYPES: dict[int, np.dtype[Any]] = {_FLOAT: np.dtype("<f4"), _INT32: np.dtype("<i4")}

_TENSOR = MessageType(
    "TensorProto",
    {1: ("dims", ["uint"]), 2: ("data_type", "uint"), 8: ("name", "bytes"), 9: ("raw_data", "bytes")},
)
_NODE = MessageType("NodeProto", {1: ("input", ["bytes"]), 2: ("output", ["bytes"]), 4: ("op_type", "bytes")})
_GRAPH = MessageType("GraphProto", {1: ("node", [_NODE]), 5: ("initializer", [_TENSOR])})
MODEL = MessageType("ModelProto", {7: ("graph", _GRAPH)})

Node = tuple[str, tuple[str, ...], tuple[str, ...]]
"""Operator, inputs, outputs."""


def read_onnx(content: memoryview) -> Message:
    """The message ``Net`` of an ONNX model; its tensors are encoded anew, to half a step of LINEAR16.

    Raises NetworkFileError, naming node or tensor, for a damaged model and for any other graph.
    """
    model = parse(content, MODEL)
    graph = model.get("graph")
    if graph is None:
        raise NetworkFileError("graph: missing; the ONNX model holds no network")
    found = [_node(item) for item in graph.get("node", [])]
    blocks = sum(operator == "ReduceMean" for operator, _, _ in found)  # one a squeeze-excitation
    _check_nodes(found, list(expected_nodes(blocks)))
    tensors = {_text(item.get("name", b"")): item for item in graph.get("initializer", [])}
    _check_policy_map(tensors)
    net = _header()
    for weight, bias, name_of_weight, name_of_bias, dense in _bindings(blocks):
        values, biases = _values(tensors, name_of_weight), _values(tensors, name_of_bias)
        _check_shape(name_of_weight, values.shape, biases.shape, dense)
        _store(net, weight, values.T if dense else values, name_of_weight)
        _store(net, bias, biases, name_of_bias)
    return net


def _check_shape(name: str, shape: tuple[int, ...], biases: tuple[int, ...], dense: bool) -> None:
    """Dense: inputs x outputs; convolution: outputs x inputs x 3 x 3, or x 1 x 1."""
    outputs = shape[1:] if dense else shape[:1]
    if outputs != biases or (not dense and (len(shape) != 4 or shape[2:] not in ((1, 1), (3, 3)))):
        raise NetworkFileError(f"{name}: shape {shape} with {biases} biases is none of lc0's")


def _store(net: Message, path: str, values: np.ndarray, name: str) -> None:
    find_or_create(net, f"weights.{path}").values.update(encode_layer(values, name))


def _text(value: memoryview | bytes) -> str:
    return bytes(value).decode("utf-8", "replace")


def _node(node: Message) -> Node:
    inputs, outputs = (tuple(_text(item) for item in node.get(name, [])) for name in ("input", "output"))
    return _text(node.get("op_type", b"")), inputs, outputs


def _conv(name: str, source: str) -> Node:
    return "Conv", (source, f"{name}/w/kernel", f"{name}/w/bias"), (name,)


def _relu(source: str, name: str | None = None) -> Node:
    return "Relu", (source,), (name or f"{source}/relu",)


def _dense(name: str, source: str, matmul: str, add: str) -> Iterator[Node]:
    yield "MatMul", (source, f"{name}/{matmul}/w"), (f"{name}/{matmul}",)
    yield "Add", (f"{name}/{matmul}", f"{name}/{add}/w"), (f"{name}/{add}",)


def expected_nodes(blocks: int) -> Iterator[Node]:
    """The nodes of lc0's graph of a network with that many residual blocks, in order."""
    body = "/inputconv/relu"
    yield _conv("/inputconv", "/input/planes")
    yield _relu("/inputconv")
    for index in range(blocks):
        first, second = f"/block{index}/conv1", f"/block{index}/conv2"
        se = f"{second}/se"
        yield _conv(first, body)
        yield _relu(first)
        yield _conv(second, f"{first}/relu")
        yield "ReduceMean", (second,), (f"{se}/reduce_mean",)
        yield from _dense(se, f"{se}/reduce_mean", "matmul1", "add1")
        yield _relu(f"{se}/add1", f"{se}/relu")
        yield from _dense(se, f"{se}/relu", "matmul2", "add2")
        yield "Reshape", (f"{se}/add2", "/const/se_reshape"), (f"{se}/reshape",)
        yield "Split", (f"{se}/reshape",), (f"{se}/split/out1", f"{se}/split/out2")
        yield "Sigmoid", (f"{se}/split/out1",), (f"{se}/sigmoid",)
        yield "Mul", (f"{se}/sigmoid", second), (f"{se}/mul",)
        yield "Add", (f"{se}/mul", f"{se}/split/out2"), (f"{se}/add3",)
        yield "Add", (f"{se}/add3", body), (f"{second}/mixin",)
        body = f"{second}/relu"
        yield _relu(f"{second}/mixin", body)
    yield _conv("/policy/conv1", body)
    yield _relu("/policy/conv1")
    yield _conv("/policy/conv2", "/policy/conv1/relu")
    yield "Reshape", ("/policy/conv2", "/const/policy_shape"), ("/policy/flatten",)
    yield "Gather", ("/policy/flatten", "/const/mapping_table"), ("/output/policy",)
    yield _conv("/value/conv", body)
    yield _relu("/value/conv")
    yield "Reshape", ("/value/conv/relu", "/const/value_shape"), ("/value/reshape",)
    yield from _dense("/value/dense1", "/value/reshape", "matmul", "add")
    yield _relu("/value/dense1/add", "/value/dense1/relu")
    yield from _dense("/value/dense2", "/value/dense1/relu", "matmul", "add")
    yield "Tanh", ("/value/dense2/add",), ("/output/value",)


def _check_nodes(found: list[Node], expected: list[Node]) -> None:
    for index, (node, wanted) in enumerate(zip(found, expected, strict=False)):
        if node != wanted:
            raise NetworkFileError(
                f"graph.node[{index}]: {_show(node)} found, {_show(wanted)} expected; "
                "of lc0's ONNX graphs, those of networks with squeeze-excitation, ReLU, convolutional policy "
                "and scalar value are read"
            )
    if len(found) != len(expected):
        raise NetworkFileError(f"graph.node: {len(expected)} nodes expected, {len(found)} found")


def _show(node: Node) -> str:
    operator, inputs, outputs = node
    return f"{operator}({', '.join(inputs)}) -> {', '.join(outputs)}"[:200]


def _bindings(blocks: int) -> Iterator[tuple[str, str, str, str, bool]]:
    """Of each layer: fields of weight and bias below ``weights``, their tensors, whether it is dense."""

    def conv(path: str, name: str) -> tuple[str, str, str, str, bool]:
        return f"{path}.weights", f"{path}.biases", f"{name}/w/kernel", f"{name}/w/bias", False

    yield conv("input", "/inputconv")
    for index in range(blocks):
        path, name = f"residual[{index}]", f"/block{index}"
        yield conv(f"{path}.conv1", f"{name}/conv1")
        yield conv(f"{path}.conv2", f"{name}/conv2")
        se = f"{name}/conv2/se"
        for number in (1, 2):
            fields = f"{path}.se.w{number}", f"{path}.se.b{number}"
            yield *fields, f"{se}/matmul{number}/w", f"{se}/add{number}/w", True
    yield conv("policy1", "/policy/conv1")
    yield conv("policy", "/policy/conv2")
    yield conv("value", "/value/conv")
    for number in (1, 2):
        dense = f"/value/dense{number}"
        yield f"ip{number}_val_w", f"ip{number}_val_b", f"{dense}/matmul/w", f"{dense}/add/w", True


def _values(tensors: dict[str, Message], name: str, kind: int = _FLOAT) -> np.ndarray:
    """A tensor in its own shape; NetworkFileError where it is missing or not of its stated size."""
    tensor = tensors.get(name)
    if tensor is None:
        raise NetworkFileError(f"{name}: missing among the graph's initializers")
    if tensor.get("data_type", 0) != kind:
        raise NetworkFileError(f"{name}: data type {tensor.get('data_type', 0)}, expected {kind}")
    shape, raw = tuple(tensor.get("dims", [])), tensor.get("raw_data", b"")
    expected = math.prod(shape) * _DTYPES[kind].itemsize
    if len(raw) != expected or not raw:
        size = " x ".join(map(str, shape))
        raise NetworkFileError(f"{name}: {expected} bytes expected ({size}), {len(raw)} found")
    values: np.ndarray = np.frombuffer(raw, _DTYPES[kind]).reshape(shape)
    return values


def _check_policy_map(tensors: dict[str, Message]) -> None:
    if not np.array_equal(_values(tensors, "/const/mapping_table", _INT32), CONVOLUTION_GATHER):
        raise NetworkFileError("/const/mapping_table: not the order of Lc0's 1858 moves")


def _header() -> Message:
    formats = {
        "input": InputFormat.CLASSICAL_112_PLANE,
        "output": OutputFormat.CLASSICAL,
        "network": Structure.SE_WITH_HEADFORMAT,
        "policy": PolicyFormat.CONVOLUTION,
        "value": ValueFormat.CLASSICAL,
    }
    network_format = Message(schema.NETWORK_FORMAT, **{name: int(value) for name, value in formats.items()})
    return Message(
        schema.NET,
        magic=schema.MAGIC,
        min_version=Message(schema.ENGINE_VERSION, major=0, minor=21, patch=0),
        format=Message(schema.FORMAT, weights_encoding=LINEAR16, network_format=network_format),
        weights=Message(schema.WEIGHTS),
    )
