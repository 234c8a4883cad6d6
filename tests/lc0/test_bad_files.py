"""Files that are not, or no longer, supported networks: one clear error, quickly, in bounded memory."""

from __future__ import annotations

import contextlib
import gzip
import io
import math
import time
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import random_networks

from searchless_rl.lc0 import NetworkFileError, describe, load_network
from searchless_rl.lc0.container import MAGIC_PREFIX, MAX_BYTES, decompressed_limit, read_protobuf
from searchless_rl.lc0.schema import NET
from searchless_rl.lc0.wire import Message, encode, find, parse


def protobuf(net: Message) -> bytes:
    return b"".join(encode(net))


def zipped(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)


GOOD = zipped(protobuf(random_networks.conv_network()))


def expect(path: Path, message: str, **heads: str) -> None:
    """Loading fails within a second of processor time, with the path and the message."""
    start = time.process_time()
    with pytest.raises(NetworkFileError, match=message) as caught:
        load_network(path, **heads)
    assert time.process_time() - start < 1
    assert str(caught.value).startswith(f"{path}: ")


def flipped(data: bytes, position: int) -> bytes:
    changed = bytearray(data)
    changed[position] ^= 0xFF
    return bytes(changed)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\x1f\x8b", "gzip stream is truncated"),
        (GOOD[: len(GOOD) // 2], "gzip stream is truncated"),
        (GOOD[:-4], "gzip stream is truncated"),
        (flipped(GOOD, -6), "damaged gzip stream .*incorrect data check"),
        (flipped(GOOD, -2), "damaged gzip stream .*incorrect length check"),
        (GOOD + b"x", "bytes after the end of the gzip stream"),
        (GOOD + GOOD, "bytes after the end of the gzip stream"),
        (b"<!DOCTYPE html><html><body>404</body></html>", "is an HTML or XML page"),
        (zipped(b"\n <html>not found</html>"), "is an HTML or XML page"),
        (zipped(b"2\n0.1 0.2 0.3\n"), "is the old text format"),
        (b"1\n0.1 0.2\n", "is the old text format"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "is a Git LFS pointer"),
        (zipped(b"\x0d\xc1\x01\x00\x00more"), r"found 0d c1 01 00 00, expected 0d c0 01 00 00"),
        (b"PK\x03\x04zip", "does not begin like an Lc0 network"),
        (zipped(b""), r"does not begin like an Lc0 network \(found nothing"),
        (MAGIC_PREFIX, "weights: missing"),
        (MAGIC_PREFIX + b"\x52\x00", "format.weights_encoding = None: supported is LINEAR16"),
        (zipped(MAGIC_PREFIX + b"\x52\xff\xff\x03"), "weights: 65535 bytes announced at byte 9, 0 are left"),
    ],
)
def test_contents_that_are_no_network(tmp_path, content, message):
    path = tmp_path / "network.pb.gz"
    path.write_bytes(content)
    expect(path, message)


def test_a_folder_and_a_missing_file(tmp_path):
    expect(tmp_path, "is a folder")
    expect(tmp_path / "absent.pb.gz", "no such file")


def test_an_uncompressed_file_is_read(tmp_path):
    path = tmp_path / "network.pb"
    path.write_bytes(gzip.decompress(GOOD))
    assert (
        load_network(path).config
        == load_network(
            random_networks.write(random_networks.conv_network(), tmp_path / "network.pb.gz")
        ).config
    )


def bomb(start: bytes, block: bytes, blocks: int) -> bytes:
    """A gzip stream of ``start`` and then ``blocks`` times ``block``; its checksum is wrong."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    one = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + packed + one * blocks


BOMBS = {
    # 3 GiB of zeros
    "zeros": (
        bomb(MAGIC_PREFIX + b"\x12\xff\xff\xff\xff\x0b", bytes(1 << 20), 3072),
        "decompresses to more than",
    ),
    # a million empty messages, 2 MiB
    "fields": (
        zipped(MAGIC_PREFIX + b"\x52\x80\x80\x80\x01" + b"\x12\x00" * (1 << 20)),
        "more than 20000 fields",
    ),
    "not a network": (bomb(b"", bytes(1 << 20), 3072), "does not begin like an Lc0 network"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_in_bounded_time_and_memory(tmp_path, name):
    content, message = BOMBS[name]
    path = tmp_path / "bomb.pb.gz"
    path.write_bytes(content)
    assert len(content) < 4 << 20
    expect(path, message)
    tracemalloc.start()
    try:
        with pytest.raises(NetworkFileError):
            load_network(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < decompressed_limit(len(content)) * 9 / 8 + (4 << 20)


def test_the_limit_on_decompressed_bytes():
    assert decompressed_limit(0) == 64 * 2**20
    assert decompressed_limit(10**6) == 64 * 2**20 + 8 * 10**6
    assert decompressed_limit(10**12) == MAX_BYTES == 2**31


def attention(change: Callable[[Message], object], **options) -> Callable[[], Message]:
    def make() -> Message:
        net = random_networks.attention_network(**options)
        change(net)
        return net

    return make


def conv(change: Callable[[Message], object], **options) -> Callable[[], Message]:
    def make() -> Message:
        net = random_networks.conv_network(**options)
        change(net)
        return net

    return make


def delete(path: str) -> Callable[[Message], object]:
    parent, _, name = path.rpartition(".")
    return lambda net: find(net, parent).values.pop(name)


def assign(path: str, value: object) -> Callable[[Message], object]:
    parent, _, name = path.rpartition(".")
    return lambda net: find(net, parent).values.__setitem__(name, value)


def resize(path: str, size: int) -> Callable[[Message], object]:
    return assign(path, random_networks.make_layer(np.linspace(0, 1, size), path))


FORMAT = "format.network_format"
WRONG = {
    # tensors
    "size": (
        attention(resize("weights.encoder[1].mha.k_w", 575)),
        r"weights\.encoder\[1\]\.mha\.k_w: 576 values expected \(24 x 24\), 575 found",
    ),
    "conv size": (
        conv(resize("weights.residual[1].conv2.weights", 99)),
        r"weights\.residual\[1\]\.conv2\.weights: 2304 values expected \(16 x 16 x 3 x 3\), 99 found",
    ),
    "input size": (
        conv(resize("weights.input.weights", 99)),
        r"weights\.input\.weights: 99 is not a multiple of 1008",
    ),
    "bn size": (
        conv(resize("weights.residual[0].conv1.bn_means", 3)),
        r"conv1\.bn_means: 16 values expected \(16\), 3 found",
    ),
    "missing": (
        attention(delete("weights.encoder[0].ln1_betas")),
        r"weights\.encoder\[0\]\.ln1_betas: missing",
    ),
    "missing embedding": (attention(delete("weights.ip_emb_b")), r"weights\.ip_emb_b: missing"),
    "missing conv": (conv(delete("weights.residual[0].conv2")), r"residual\[0\]\.conv2\.weights: missing"),
    "missing variance": (
        conv(delete("weights.residual[0].conv2.bn_stddivs")),
        r"residual\[0\]\.conv2\.bn_stddivs: missing",
    ),
    "missing policy embedding": (
        attention(delete("weights.policy_heads.ip_pol_b")),
        r"weights\.policy_heads\.vanilla\.ip_pol_b: missing",
    ),
    "empty": (attention(assign("weights.smolgen_w.params", b"")), r"weights\.smolgen_w: missing"),
    "one gate": (
        attention(delete("weights.ip_add_gate")),
        r"ip_add_gate: missing, while weights\.ip_mult_gate",
    ),
    "some smolgen": (
        attention(delete("weights.encoder[1].mha.smolgen")),
        r"encoder\[1\]\.mha\.smolgen: missing",
    ),
    "some se": (conv(delete("weights.residual[1].se")), r"residual\[1\]\.se: missing, while other blocks"),
    "no encoders": (attention(delete("weights.encoder")), r"weights\.encoder: missing"),
    "no blocks": (conv(delete("weights.residual")), "has residual blocks and no encoders"),
    "moves left announced": (
        attention(assign(f"{FORMAT}.moves_left", 1), moves_left=False),
        r"weights\.ip_mov_b: missing",
    ),
    "heads": (attention(assign("weights.headcount", 5)), r"q_b, heads: 24 is not a multiple of 5"),
    "no heads": (attention(delete("weights.headcount")), r"weights\.headcount: missing or 0"),
    "no policy heads": (
        attention(delete("weights.policy_heads.vanilla.pol_headcount"), policy_encoders=1),
        r"vanilla\.pol_headcount: missing or 0",
    ),
    "nan": (
        conv(assign("weights.input.weights.min_val", math.nan)),
        r"weights\.input\.weights: min_val nan, .* not finite",
    ),
    "inf": (
        attention(assign("weights.ip_emb_w.max_val", math.inf)),
        r"weights\.ip_emb_w: .*max_val inf are not finite",
    ),
    "crossed": (
        attention(assign("weights.ip_emb_w.min_val", 1e9)),
        r"ip_emb_w: min_val 1000000000\.0 is above max_val",
    ),
    "half a code": (attention(assign("weights.ip_emb_b.params", bytes(49))), r"ip_emb_b\.params: 49 bytes"),
    "float16": (
        attention(assign("weights.ip_emb_b.encoding", 2)),
        r"ip_emb_b\.encoding = 2: supported is LINEAR16",
    ),
    "variance": (
        conv(
            lambda net: assign(
                "weights.input.bn_stddivs", random_networks.make_layer(np.linspace(-1, 1, 16), "x")
            )(net)
        ),
        r"weights\.input\.bn_stddivs: a variance is negative",
    ),
    "overflow": (
        conv(assign("weights.input.bn_gammas", random_networks.make_layer(np.linspace(0, 3e38, 16), "x"))),
        r"weights\.input: folding the batch norm overflows float32",
    ),
    "relative positions": (
        attention(assign("weights.encoder[0].mha.rpe_k", random_networks.make_layer(np.ones(4), "x"))),
        r"encoder\[0\]\.mha\.rpe_k: relative position encoding is not supported",
    ),
    # header
    "scalar value of three": (
        conv(assign(f"{FORMAT}.value", 1)),
        r"output = WDL \(2\): .* contradicts value = CLASSICAL",
    ),
    "scalar output": (
        conv(assign(f"{FORMAT}.output", 1)),
        r"output = CLASSICAL \(1\): .* contradicts value = WDL",
    ),
    "value": (attention(assign(f"{FORMAT}.value", 3)), r"value = PARAM \(3\): supported is WDL"),
    "input": (
        conv(assign(f"{FORMAT}.input", 4)),
        r"input = WITH_CANONICALIZATION_HECTOPLIES \(4\): supported is CLASSICAL_112_PLANE \(1\)",
    ),
    "architecture": (
        attention(assign(f"{FORMAT}.network", 99)),
        r"network = 99: known values are UNKNOWN \(0\), CLASSICAL \(1\)",
    ),
    "onnx": (
        attention(assign(f"{FORMAT}.network", 5)),
        r"network = ONNX \(5\): an ONNX model wrapped .* use the Lc0 network",
    ),
    "attention policy on convolutions": (
        conv(assign(f"{FORMAT}.policy", 3)),
        r"policy = ATTENTION \(3\): supported is CLASSICAL \(1\) or CONVOLUTION",
    ),
    "convolution policy on attention": (
        attention(assign(f"{FORMAT}.policy", 2)),
        r"policy = CONVOLUTION \(2\): supported is ATTENTION \(3\)",
    ),
    "softmax": (
        attention(lambda net: None, ffn_activation=9),
        r"ffn_activation = SOFTMAX \(9\): supported is",
    ),
    "activation": (
        attention(lambda net: None, ffn_activation=77),
        r"ffn_activation = 77: known values are DEFAULT",
    ),
    "no position encoding": (
        attention(assign(f"{FORMAT}.input_embedding", 0)),
        r"input_embedding = NONE \(0\): supported is PE_MAP",
    ),
    "encoding": (conv(assign("format.weights_encoding", 0)), r"weights_encoding = 0: supported is LINEAR16"),
}


@pytest.mark.parametrize("name", WRONG)
def test_networks_that_are_not_supported(tmp_path, name):
    make, message = WRONG[name]
    expect(random_networks.write(make(), tmp_path / "network.pb.gz"), message)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (2, "WITH_CASTLING_PLANE"),
        (3, "WITH_CANONICALIZATION"),
        (4, "WITH_CANONICALIZATION_HECTOPLIES"),
        (5, "WITH_CANONICALIZATION_V2"),
        (132, "WITH_CANONICALIZATION_HECTOPLIES_ARMAGEDDON"),
        (133, "WITH_CANONICALIZATION_V2_ARMAGEDDON"),
    ],
)
@pytest.mark.parametrize("body", [attention, conv])
def test_other_input_planes_are_refused_by_the_name_lc0_gives_them(tmp_path, body, number, name):
    net = body(assign(f"{FORMAT}.input", number))()
    message = rf"input = \w*{name} \({number}\): supported is CLASSICAL_112_PLANE \(1\); other planes"
    expect(random_networks.write(net, tmp_path / "x.pb.gz"), message)


@pytest.mark.parametrize("stored", [{}, {"network": 4}, {"network": 6, "input_embedding": 0}])
def test_hybrid_bodies_are_refused(tmp_path, stored):
    """By what they are, also where their headers have fields of no other network."""
    net = random_networks.attention_network(dense=False, multihead=False)
    find(net, FORMAT).values.update(stored)
    find(net, "weights").values["residual"] = find(random_networks.conv_network(), "weights.residual")
    expect(random_networks.write(net, tmp_path / "x.pb.gz"), "residual blocks before an attention body")


def test_a_wrapped_onnx_model_is_refused_by_name_whatever_else_is_missing(tmp_path):
    """`lc0 onnx2leela` writes no weights, and files of others no encoding either."""
    net = random_networks.attention_network()
    del net.values["weights"]
    assign(f"{FORMAT}.network", 5)(net)
    assign("format.weights_encoding", 0)(net)
    expect(random_networks.write(net, tmp_path / "x.pb.gz"), r"network = ONNX \(5\): an ONNX model wrapped")


def test_unknown_heads_list_those_in_the_file(golden, tmp_path):
    attention_file = random_networks.write(random_networks.attention_network(), tmp_path / "a.pb.gz")
    expect(attention_file, "no policy head 'soft'; the file has vanilla, optimistic$", policy_head="soft")
    expect(attention_file, "no policy head 'optimistic_st'; the file has", policy_head="optimistic_st")
    expect(attention_file, "no value head 'q'; the file has winner$", value_head="q")
    single = random_networks.write(random_networks.conv_network(), tmp_path / "c.pb.gz")
    expect(single, "no policy head 'optimistic'; the file has vanilla$", policy_head="optimistic")


def small_networks() -> list[bytes]:
    return [
        protobuf(random_networks.conv_network(moves_left=True)),
        protobuf(random_networks.attention_network(policy_encoders=1)),
    ]


def structural_positions(data: bytes) -> list[int]:
    """Where the bytes are that are not tensor codes: tags, lengths, numbers."""
    positions, start = [], 0
    for chunk in encode(parse(memoryview(data), NET)):
        if not isinstance(chunk, memoryview):
            positions += range(start, start + len(chunk))
        start += len(chunk)
    return positions


@pytest.mark.parametrize("which", [0, 1])
def test_mutated_bytes_raise_nothing_else(tmp_path, which):
    data = small_networks()[which]
    positions = structural_positions(data)
    rng = np.random.default_rng(which)
    path = tmp_path / "mutated.pb"
    outcomes = {"refused": 0, "read": 0}
    for _ in range(200):
        mutated = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            position = int(rng.choice(positions))
            kind = rng.integers(4)
            if kind == 0:
                mutated[position:position] = rng.bytes(int(rng.integers(1, 4)))
            elif kind == 1:
                del mutated[position : position + int(rng.integers(1, 4))]
            else:
                mutated[position : position + 1] = rng.bytes(1)
        if rng.random() < 0.1:
            del mutated[int(rng.integers(len(mutated))) :]
        path.write_bytes(mutated)
        try:
            load_network(path)
            outcomes["read"] += 1
        except NetworkFileError:
            outcomes["refused"] += 1
        with contextlib.suppress(NetworkFileError):
            describe(path)
    assert outcomes["refused"] > 100
    assert outcomes["read"] > 0


def test_mutated_gzip_bytes_raise_nothing_else(tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "mutated.pb.gz"
    for _ in range(100):
        mutated = bytearray(GOOD)
        for position in rng.integers(0, len(GOOD), 3):
            mutated[position] = rng.integers(256)
        path.write_bytes(mutated)
        with pytest.raises(NetworkFileError):
            read_protobuf(path)


def test_good_is_good(tmp_path):
    """The damaged variants above differ from a file that loads."""
    path = tmp_path / "good.pb.gz"
    path.write_bytes(GOOD)
    load_network(path)
    assert gzip.GzipFile(fileobj=io.BytesIO(GOOD)).read(5) == MAGIC_PREFIX
