"""Networks published as the ONNX graph that lc0 made of them are read as the network file again."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx_graphs
import pytest
import random_networks
import torch

from searchless_rl.lc0 import NetworkFileError, copy_network, describe, load_network
from searchless_rl.suites.fetch_stage import fetch_base


def planes() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).random((8, 112, 8, 8), np.float32))


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def test_the_graph_of_a_network_is_that_network(tmp_path):
    graph = write(tmp_path / "net.onnx.bin", onnx_graphs.model())
    original = random_networks.write(onnx_graphs.network(), tmp_path / "net.pb.gz")
    with torch.no_grad():
        ours, theirs = load_network(graph)(planes()), load_network(original)(planes())
    assert theirs.policy.std() > 0.1
    # Tensors that were of 16 bits are again, so nothing but float32 rounding of their bounds is lost.
    np.testing.assert_allclose(ours.policy.numpy(), theirs.policy.numpy(), rtol=0, atol=2e-6)
    np.testing.assert_allclose(ours.wdl.numpy(), theirs.wdl.numpy(), rtol=0, atol=2e-6)
    found = describe(graph)
    assert (found["unsupported"], found["format"]["value"]) == (None, "CLASSICAL")
    assert found["sizes"] == describe(original)["sizes"]


def test_an_unpacked_graph_is_read_too(tmp_path):
    path = tmp_path / "net.onnx.bin"
    path.write_bytes(onnx_graphs.model())
    assert describe(path)["unsupported"] is None


def test_as_a_base_it_becomes_a_network_file(tmp_path):
    graph = write(tmp_path / "net.onnx.bin", onnx_graphs.model())
    fetch_base(str(graph), tmp_path / "data")
    base = tmp_path / "data" / "fetched" / "base.pb.gz"
    assert gzip.decompress(base.read_bytes())[:5].hex() == "0dc0010000"
    with torch.no_grad():
        assert torch.equal(load_network(base)(planes()).policy, load_network(graph)(planes()).policy)


def test_a_network_file_is_copied_as_it_is(tmp_path):
    source = random_networks.write(onnx_graphs.network(), tmp_path / "a.pb.gz")
    copy_network(source, tmp_path / "b.pb.gz")
    assert (tmp_path / "b.pb.gz").read_bytes() == source.read_bytes()


def other_tensors(change):
    named = onnx_graphs.tensors(onnx_graphs.network())
    change(named)
    return onnx_graphs.model(named)


def reshaped(name, *shape):
    return other_tensors(lambda named: named.update({name: named[name].reshape(shape)}))


def other_nodes(change):
    graph = onnx_graphs.nodes()
    change(graph)
    return onnx_graphs.model(graph=graph)


SE = "/block1/conv2/se"
WRONG = {
    "missing": (other_tensors(lambda named: named.pop(f"{SE}/add2/w")), f"{SE}/add2/w: missing among"),
    "integer": (
        other_tensors(lambda named: named.update({"/inputconv/w/bias": np.zeros(16, np.int32)})),
        "/inputconv/w/bias: data type 6, expected 1",
    ),
    "size": (
        onnx_graphs.model().replace(b"\x08\x10\x08\x70\x08\x03\x08\x03", b"\x08\x10\x08\x71\x08\x03\x08\x03"),
        r"/inputconv/w/kernel: 65088 bytes expected \(16 x 113 x 3 x 3\), 64512 found",
    ),
    "NaN": (
        other_tensors(lambda named: named.update({"/policy/conv2/w/bias": np.full(80, np.nan, np.float32)})),
        "/policy/conv2/w/bias: cannot store NaN",
    ),
    "transposed": (
        reshaped(f"{SE}/matmul1/w", 4, 16),
        rf"{SE}/matmul1/w: shape \(4, 16\) with \(4,\) biases",
    ),
    "flat kernel": (reshaped("/inputconv/w/kernel", 16, 1008), "/inputconv/w/kernel: shape"),
    "order of moves": (
        other_tensors(
            lambda named: named.update({"/const/mapping_table": named["/const/mapping_table"][::-1].copy()})
        ),
        "/const/mapping_table: not the order",
    ),
    "other operator": (
        other_nodes(lambda graph: graph.__setitem__(1, ("Mish", *graph[1][1:]))),
        r"graph.node\[1\]: Mish\(/inputconv\) -> /inputconv/relu found, Relu",
    ),
    "other wiring": (
        other_nodes(lambda graph: graph.__setitem__(16, ("Add", f"{SE}/add3 /input/planes", graph[16][2]))),
        r"graph.node\[16\]: Add",
    ),
    "win, draw, loss": (
        other_nodes(lambda graph: graph.__setitem__(-1, ("Softmax", "/value/dense2/add", "/output/wdl"))),
        r"Softmax\(.*expected; of lc0's ONNX graphs, those of networks .* scalar value are read",
    ),
    "cut graph": (other_nodes(lambda graph: graph.pop()), "graph.node: 48 nodes expected, 47 found"),
    "no graph": (onnx_graphs.model()[:7], "graph: missing; the ONNX model holds no network"),
    "no nodes": (onnx_graphs.model(graph=[]), "graph.node: 16 nodes expected, 0 found"),
    "another program's": (
        b"\x08\x08\x12\x07pytorch",
        "is an ONNX model of another program than lc0, or another protobuf",
    ),
    "cut": (onnx_graphs.model()[:-100], "bytes announced at byte"),
}


@pytest.mark.parametrize("name", WRONG)
def test_other_graphs_are_refused_by_name(tmp_path, name):
    content, message = WRONG[name]
    path = write(tmp_path / "net.onnx.bin", content)
    with pytest.raises(NetworkFileError, match=message) as caught:
        load_network(path)
    assert str(path) in str(caught.value)
    with pytest.raises(NetworkFileError, match=message):
        fetch_base(str(path), tmp_path / "data")
    assert not (tmp_path / "data" / "fetched").exists()


def test_truncated_and_exploding_files_are_refused(tmp_path):
    path = write(tmp_path / "net.onnx.bin", onnx_graphs.model())
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(NetworkFileError, match="the gzip stream is truncated"):
        load_network(path)
    write(path, onnx_graphs.model()[:7] + bytes(80 << 20))
    with pytest.raises(NetworkFileError, match=r"decompresses to more than \d+ bytes"):
        load_network(path)


def test_mutated_bytes_raise_nothing_else(tmp_path):
    rng, content, path = np.random.default_rng(0), onnx_graphs.model(), tmp_path / "net.onnx.bin"
    refused = 0
    for position in rng.integers(0, 3500, 150):  # names and operators come first
        changed = bytearray(content)
        changed[position] ^= int(rng.integers(1, 256))
        path.write_bytes(changed)
        try:
            load_network(path)
        except NetworkFileError:
            refused += 1
    assert refused > 75


def test_badgyal_is_its_conversion(shared):
    """The conversion was made apart from this reader, with a draw logit of -12 in its WDL head."""
    graph, converted = (shared / "lc0" / f"badgyal-3{end}" for end in (".onnx.bin", "-wdl.pb.gz"))
    if not graph.exists():
        pytest.skip(f"{graph} is not there")
    ours, theirs = load_network(graph), load_network(converted)
    other = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        if name.startswith("value.output"):  # the conversion stores these in 16 bits once more
            step = (other[name].max() - other[name].min()).item() / 65535
            assert (parameter - other[name]).abs().max() <= step / 2 * 1.001, name
        else:
            assert torch.equal(parameter, other[name]), name
    with torch.no_grad():
        one, two = ours(planes()), theirs(planes())
    assert torch.equal(one.policy, two.policy)
    np.testing.assert_allclose(one.wdl.numpy(), two.wdl.numpy(), rtol=0, atol=1e-4)


@pytest.mark.oracle
def test_the_real_lc0_makes_such_graphs(shared, tmp_path):
    """Of a real network: lc0 0.32.1 crashes on the small random ones."""
    program, net = Path(sys.executable).with_name("lc0"), shared / "lc0" / "goodgyal-5.pb"
    if not program.exists() or not net.exists():
        pytest.skip("the program lc0 or the network goodgyal-5.pb is not there")
    graph = tmp_path / "net.onnx"
    command = [program, "leela2onnx", f"--input={net}", f"--output={graph}"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    ours, theirs = load_network(graph), dict(load_network(net).named_parameters())
    for name, parameter in ours.named_parameters():
        # Batch norms are folded, and then each tensor is rounded to 16 bits again.
        other = theirs[name]
        step = (other.max() - other.min()).item() / 65535
        assert (parameter - other).abs().max() <= step / 2 * 1.01 + 1e-6 * other.abs().max(), name
