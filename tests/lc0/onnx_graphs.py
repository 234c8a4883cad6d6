"""Small ONNX graphs in the form that ``lc0 leela2onnx`` writes, byte by byte, from a random network file."""

from __future__ import annotations

import numpy as np
import random_networks

from searchless_rl.board.policy_map import CONVOLUTION_GATHER
from searchless_rl.lc0.layer import decode_layer
from searchless_rl.lc0.wire import Message, find


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def chunk(number: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name: str, values: np.ndarray) -> bytes:
    kind = {"float32": 1, "int32": 6, "int64": 7}[str(values.dtype)]
    dims = b"".join(b"\x08" + varint(size) for size in values.shape)
    return dims + b"\x10" + varint(kind) + chunk(8, name) + chunk(9, values.tobytes())


def network() -> Message:
    """What the graphs are made of: 2 blocks of 16 filters, no batch norm, scalar value."""
    return random_networks.conv_network(conv="bias", value=1)


def tensors(net: Message) -> dict[str, np.ndarray]:
    """The named tensors of the graph; dense weights lie as inputs x outputs there."""

    def layer(path: str, *shape: int) -> np.ndarray:
        return decode_layer(find(net, f"weights.{path}")).reshape(shape)

    found = {}

    def conv(path: str, name: str, outputs: int, inputs: int, size: int = 3) -> None:
        found[f"{name}/w/kernel"] = layer(f"{path}.weights", outputs, inputs, size, size)
        found[f"{name}/w/bias"] = layer(f"{path}.biases", outputs)

    conv("input", "/inputconv", 16, 112)
    for index in range(2):
        path, name = f"residual[{index}]", f"/block{index}"
        conv(f"{path}.conv1", f"{name}/conv1", 16, 16)
        conv(f"{path}.conv2", f"{name}/conv2", 16, 16)
        found[f"{name}/conv2/se/matmul1/w"] = layer(f"{path}.se.w1", 4, 16).T.copy()
        found[f"{name}/conv2/se/add1/w"] = layer(f"{path}.se.b1", 4)
        found[f"{name}/conv2/se/matmul2/w"] = layer(f"{path}.se.w2", 32, 4).T.copy()
        found[f"{name}/conv2/se/add2/w"] = layer(f"{path}.se.b2", 32)
    conv("policy1", "/policy/conv1", 16, 16)
    conv("policy", "/policy/conv2", 80, 16)
    conv("value", "/value/conv", 6, 16, 1)
    for number, (outputs, inputs) in enumerate([(128, 384), (1, 128)], start=1):
        found[f"/value/dense{number}/matmul/w"] = layer(f"ip{number}_val_w", outputs, inputs).T.copy()
        found[f"/value/dense{number}/add/w"] = layer(f"ip{number}_val_b", outputs)
    found["/const/mapping_table"] = CONVOLUTION_GATHER.astype(np.int32)
    found["/const/se_reshape"] = np.array([-1, 32, 1, 1], np.int64)
    return found


def nodes() -> list[tuple[str, str, str]]:
    """Operator, inputs and outputs, as lc0 names them; several are separated by blanks."""
    made = [("Conv", "/input/planes {0}/w/kernel {0}/w/bias", "{0}"), ("Relu", "{0}", "{0}/relu")]
    made = [tuple(text.format("/inputconv") for text in node) for node in made]
    body = "/inputconv/relu"
    for index in range(2):
        b, c = f"/block{index}/conv1", f"/block{index}/conv2"
        s = f"{c}/se"
        made += [
            ("Conv", f"{body} {b}/w/kernel {b}/w/bias", b),
            ("Relu", b, f"{b}/relu"),
            ("Conv", f"{b}/relu {c}/w/kernel {c}/w/bias", c),
            ("ReduceMean", c, f"{s}/reduce_mean"),
            ("MatMul", f"{s}/reduce_mean {s}/matmul1/w", f"{s}/matmul1"),
            ("Add", f"{s}/matmul1 {s}/add1/w", f"{s}/add1"),
            ("Relu", f"{s}/add1", f"{s}/relu"),
            ("MatMul", f"{s}/relu {s}/matmul2/w", f"{s}/matmul2"),
            ("Add", f"{s}/matmul2 {s}/add2/w", f"{s}/add2"),
            ("Reshape", f"{s}/add2 /const/se_reshape", f"{s}/reshape"),
            ("Split", f"{s}/reshape", f"{s}/split/out1 {s}/split/out2"),
            ("Sigmoid", f"{s}/split/out1", f"{s}/sigmoid"),
            ("Mul", f"{s}/sigmoid {c}", f"{s}/mul"),
            ("Add", f"{s}/mul {s}/split/out2", f"{s}/add3"),
            ("Add", f"{s}/add3 {body}", f"{c}/mixin"),
            ("Relu", f"{c}/mixin", f"{c}/relu"),
        ]
        body = f"{c}/relu"
    p, v = "/policy", "/value"
    return [
        *made,
        ("Conv", f"{body} {p}/conv1/w/kernel {p}/conv1/w/bias", f"{p}/conv1"),
        ("Relu", f"{p}/conv1", f"{p}/conv1/relu"),
        ("Conv", f"{p}/conv1/relu {p}/conv2/w/kernel {p}/conv2/w/bias", f"{p}/conv2"),
        ("Reshape", f"{p}/conv2 /const/policy_shape", f"{p}/flatten"),
        ("Gather", f"{p}/flatten /const/mapping_table", "/output/policy"),
        ("Conv", f"{body} {v}/conv/w/kernel {v}/conv/w/bias", f"{v}/conv"),
        ("Relu", f"{v}/conv", f"{v}/conv/relu"),
        ("Reshape", f"{v}/conv/relu /const/value_shape", f"{v}/reshape"),
        ("MatMul", f"{v}/reshape {v}/dense1/matmul/w", f"{v}/dense1/matmul"),
        ("Add", f"{v}/dense1/matmul {v}/dense1/add/w", f"{v}/dense1/add"),
        ("Relu", f"{v}/dense1/add", f"{v}/dense1/relu"),
        ("MatMul", f"{v}/dense1/relu {v}/dense2/matmul/w", f"{v}/dense2/matmul"),
        ("Add", f"{v}/dense2/matmul {v}/dense2/add/w", f"{v}/dense2/add"),
        ("Tanh", f"{v}/dense2/add", "/output/value"),
    ]


def model(
    named: dict[str, np.ndarray] | None = None, graph: list[tuple[str, str, str]] | None = None
) -> bytes:
    """The bytes of a model with these tensors and nodes, or those of `network`."""
    named = tensors(network()) if named is None else named
    content = b""
    for operator, inputs, outputs in nodes() if graph is None else graph:
        parts = [chunk(1, item) for item in inputs.split()] + [chunk(2, item) for item in outputs.split()]
        content += chunk(1, b"".join(parts) + chunk(3, outputs.split()[0]) + chunk(4, operator))
    content += b"".join(chunk(5, tensor(name, values)) for name, values in named.items())
    return b"\x08\x08" + chunk(2, "Lc0") + chunk(3, "0.32.1") + chunk(7, content) + chunk(8, b"\x10\x11")
