"""ONNX graphs that lc0 wrote of convolutional networks become networks, and no other graphs do."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch

from searchless_rl.lc0 import NetworkFileError, describe, load_network, save_network
from searchless_rl.lc0.wire import Message, MessageType, encode

TENSOR = MessageType(
    "TensorProto", {2: ("data_type", "uint"), 8: ("name", "bytes"), 9: ("raw_data", "bytes")}
)
NODE = MessageType("NodeProto", {4: ("op_type", "bytes")})
GRAPH = MessageType("GraphProto", {1: ("node", [NODE]), 5: ("initializer", [TENSOR])})
MODEL = MessageType(
    "ModelProto", {1: ("ir_version", "uint"), 2: ("producer_name", "bytes"), 7: ("graph", GRAPH)}
)
FILTERS, HIDDEN, SE, CHANNELS = 16, 24, 4, 6


def tensors(seed=0, blocks=2):
    """Name -> values, as lc0 names and lays them out."""
    draw = np.random.default_rng(seed)

    def random(*shape):
        return (draw.standard_normal(shape) / 8).astype(np.float32)

    def conv(name, outputs, inputs, size):
        return {f"{name}/kernel": random(outputs, inputs, size, size), f"{name}/bias": random(outputs)}

    found = conv("/inputconv/w", FILTERS, 112, 3)
    for number in range(blocks):
        for part in ("conv1", "conv2"):
            found |= conv(f"/block{number}/{part}/w", FILTERS, FILTERS, 3)
        se = f"/block{number}/conv2/se"
        found |= {f"{se}/matmul1/w": random(FILTERS, SE), f"{se}/add1/w": random(SE)}
        found |= {f"{se}/matmul2/w": random(SE, 2 * FILTERS), f"{se}/add2/w": random(2 * FILTERS)}
    found |= conv("/policy/conv1/w", FILTERS, FILTERS, 3) | conv("/policy/conv2/w", 80, FILTERS, 3)
    found |= conv("/value/conv/w", CHANNELS, FILTERS, 1)
    found |= {"/value/dense1/matmul/w": random(CHANNELS * 64, HIDDEN), "/value/dense1/add/w": random(HIDDEN)}
    return found | {"/value/dense2/matmul/w": random(HIDDEN, 1), "/value/dense2/add/w": random(1)}


def operators(blocks):
    """What lc0 0.32.1 writes, in its order."""
    dense = ["MatMul", "Add"]
    excitation = [*dense, "Relu", *dense, "Reshape", "Split", "Sigmoid", "Mul", "Add"]
    block = ["Conv", "Relu", "Conv", "ReduceMean", *excitation, "Add", "Relu"]
    policy = ["Conv", "Relu", "Conv", "Reshape", "Gather"]
    value = ["Conv", "Relu", "Reshape", *dense, "Relu", *dense, "Tanh"]
    return ["Conv", "Relu", *block * blocks, *policy, *value]


def write(path, values, producer=b"Lc0", nodes=None):
    if nodes is None:
        nodes = operators(sum(name.endswith("/conv1/w/kernel") for name in values) - 1)  # the policy's is one
    stored = [
        Message(TENSOR, data_type=1, name=name.encode(), raw_data=value.tobytes())
        for name, value in values.items()
    ]
    stored.append(Message(TENSOR, data_type=6, name=b"/const/mapping_table", raw_data=bytes(8)))
    graph = Message(GRAPH, initializer=stored, node=[Message(NODE, op_type=name.encode()) for name in nodes])
    model = Message(MODEL, ir_version=8, producer_name=producer, graph=graph)
    path.write_bytes(gzip.compress(b"".join(bytes(part) for part in encode(model))))
    return path


def reference(values, planes):
    """The network by its definition, in float64 (lc0's squeeze-and-excitation, ReLU)."""
    t = {name: torch.from_numpy(value).double() for name, value in values.items()}
    conv = torch.nn.functional.conv2d

    def convolve(x, name):
        return conv(x, t[f"{name}/kernel"], t[f"{name}/bias"], padding=t[f"{name}/kernel"].shape[-1] // 2)

    x = convolve(planes.double(), "/inputconv/w").relu()
    number = 0
    while f"/block{number}/conv1/w/kernel" in t:
        y = convolve(convolve(x, f"/block{number}/conv1/w").relu(), f"/block{number}/conv2/w")
        se = f"/block{number}/conv2/se"
        squeezed = (y.mean((2, 3)) @ t[f"{se}/matmul1/w"] + t[f"{se}/add1/w"]).relu()
        scale, shift = (squeezed @ t[f"{se}/matmul2/w"] + t[f"{se}/add2/w"]).chunk(2, 1)
        x = (x + scale.sigmoid()[..., None, None] * y + shift[..., None, None]).relu()
        number += 1
    policy = convolve(convolve(x, "/policy/conv1/w").relu(), "/policy/conv2/w").flatten(1)
    value = convolve(x, "/value/conv/w").relu().flatten(1)
    value = (value @ t["/value/dense1/matmul/w"] + t["/value/dense1/add/w"]).relu()
    return policy, torch.tanh(value @ t["/value/dense2/matmul/w"] + t["/value/dense2/add/w"])[:, 0]


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_graph_is_the_network_it_was_made_of(tmp_path, blocks):
    values = tensors(blocks=blocks)
    network = load_network(write(tmp_path / "net.onnx.bin", values))
    planes = torch.rand(5, 112, 8, 8)
    policy, value = reference(values, planes)
    with torch.no_grad():
        out = network(planes)
    expected = policy[:, network.policy.gather]
    torch.testing.assert_close(out.policy.double(), expected, rtol=0, atol=2e-5)
    torch.testing.assert_close((out.wdl[:, 0] - out.wdl[:, 2]).double(), value, rtol=0, atol=5e-6)


def test_what_is_saved_of_it_is_a_network_file(tmp_path):
    path = write(tmp_path / "net.onnx.bin", tensors())
    save_network(load_network(path), tmp_path / "net.pb.gz")
    found, told = describe(tmp_path / "net.pb.gz"), describe(path)
    assert found["sizes"] == told["sizes"]
    assert told["value_lift"]
    assert told["unsupported"] is None
    planes = torch.rand(4, 112, 8, 8)
    with torch.no_grad():
        before, after = load_network(path)(planes), load_network(tmp_path / "net.pb.gz")(planes)
    torch.testing.assert_close(after.policy, before.policy, rtol=0, atol=2e-3)  # 16-bit codes


def without(name):
    values = tensors()
    del values[name]
    return values


def with_value(name, value):
    return tensors() | {name: np.asarray(value, np.float32)}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (without("/inputconv/w/bias"), "/inputconv/w/bias: missing; this is no convolutional network"),
        (without("/value/dense2/matmul/w"), "/value/dense2/matmul/w: missing"),
        (without("/block1/conv2/w/kernel"), "/block1/conv2/w/kernel: missing"),
        (with_value("/policy/conv2/w/bias", np.zeros(73)), r"bias: 80 values expected \(80\), 73 found"),
        (with_value("/value/dense2/add/w", [np.nan]), "/value/dense2/add/w: has values that are not finite"),
    ],
)
def test_another_graph_is_refused_by_name(tmp_path, values, words):
    with pytest.raises(NetworkFileError, match=rf"net\.onnx\.bin: .*{words}"):
        load_network(write(tmp_path / "net.onnx.bin", values))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda nodes: ["Mish" if name == "Relu" else name for name in nodes],
            r"\[1\]: Mish found, Relu exp",
        ),
        (lambda nodes: [*nodes[:-1], "Softmax"], r"\[47\]: Softmax found, Tanh expected; of lc0's graphs"),
        (lambda nodes: nodes[:-1], r"\[47\]: None found, Tanh"),
        (lambda nodes: [*nodes, "Add"], r"\[48\]: Add found, None"),
        (lambda nodes: [], r"\[0\]: None found, Conv"),
    ],
    ids=["mish", "softmax", "short", "long", "empty"],
)
def test_a_graph_that_computes_something_else_of_the_same_tensors_is_refused(tmp_path, change, words):
    path = write(tmp_path / "net.onnx.bin", tensors(), nodes=change(operators(2)))
    with pytest.raises(NetworkFileError, match=rf"net\.onnx\.bin: graph\.node{words}"):
        load_network(path)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = write(tmp_path / "net.onnx.bin", tensors())
    whole = path.read_bytes()
    for content, words in (
        (whole[: len(whole) // 2], "truncated"),
        (b"", "empty"),
        (b"<html>", "does not begin|HTML"),
        (gzip.compress(bytes(70_000_000)), "does not begin"),
        (gzip.compress(b"\x08" + bytes(70_000_000)), "decompresses to more than"),
    ):
        path.write_bytes(content)
        with pytest.raises(NetworkFileError, match=words):
            load_network(path)
    with pytest.raises(NetworkFileError, match="only those that lc0 wrote"):
        load_network(write(path, tensors(), producer=b"pytorch"))


def test_badgyal_is_its_exact_conversion(shared):
    """Held to a conversion with lc0's own protobuf: every tensor within half a step of its 16-bit codes."""
    graph = load_network(shared / "lc0" / "badgyal-3.onnx.bin")
    file = load_network(shared / "lc0" / "badgyal-3-wdl.pb.gz")
    for (name, ours), (_, theirs) in zip(graph.named_parameters(), file.named_parameters(), strict=True):
        mine, other = ours.detach(), theirs.detach()
        step = float(other.max() - other.min()) / 65535
        assert float((mine - other).abs().max()) <= 0.51 * step + 1e-7, name
