"""The wire reader and writer, checked against Google's implementation."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import random_networks

from searchless_rl.lc0 import NetworkFileError
from searchless_rl.lc0.schema import LAYER, NET
from searchless_rl.lc0.wire import MAX_FIELDS, Message, MessageType, encode, find, parse

KINDS = {"uint": "TYPE_UINT32", "float": "TYPE_FLOAT", "fixed32": "TYPE_FIXED32", "bytes": "TYPE_BYTES"}


def google_class(root: MessageType) -> Any:
    """Google's class for a message type and those inside it."""
    descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="lc0_test.proto", package="lc0_test", syntax="proto2")
    done: set[str] = set()

    def add(message_type: MessageType) -> None:
        if message_type.name in done:
            return
        done.add(message_type.name)
        message = file.message_type.add(name=message_type.name)
        for field in message_type.by_number.values():
            label = "LABEL_REPEATED" if field.repeated else "LABEL_OPTIONAL"
            entry = message.field.add(name=field.name, number=field.number)
            entry.label = descriptor_pb2.FieldDescriptorProto.Label.Value(label)
            if field.message_type is None:
                entry.type = descriptor_pb2.FieldDescriptorProto.Type.Value(KINDS[field.kind])
            else:
                entry.type = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
                entry.type_name = f".lc0_test.{field.message_type.name}"
                add(field.message_type)

    add(root)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"lc0_test.{root.name}"))


def assert_same(ours: Message, theirs: Any) -> None:
    present = {descriptor.name: value for descriptor, value in theirs.ListFields()}
    assert ours.values.keys() == present.keys()
    for name, value in ours.values.items():
        if isinstance(value, Message):
            assert_same(value, present[name])
        elif isinstance(value, list):
            assert len(value) == len(present[name])
            for one, other in zip(value, present[name], strict=True):
                assert_same(one, other)
        else:
            assert value == present[name], name


def joined(message: Message) -> bytes:
    return b"".join(encode(message))


@pytest.mark.parametrize("make", [random_networks.attention_network, random_networks.conv_network])
def test_google_reads_what_is_written_and_writes_what_is_read(make):
    net = make()
    data = joined(net)
    theirs = google_class(NET)()
    theirs.ParseFromString(data)
    assert_same(net, theirs)
    serialized = theirs.SerializeToString(deterministic=True)
    assert serialized == data
    assert parse(memoryview(serialized), NET) == net


def test_google_agrees_on_a_network_file(golden):
    data = gzip.decompress(golden("micro_bt4").network.read_bytes())
    theirs = google_class(NET)()
    theirs.ParseFromString(data)
    assert_same(parse(memoryview(data), NET), theirs)


def test_random_headers_agree_with_google():
    rng = np.random.default_rng(5)
    google = google_class(NET)
    for _ in range(50):
        theirs = google(magic=int(rng.integers(2**32)), license=rng.bytes(int(rng.integers(300))))
        for name in NET.by_name["format"].message_type.by_name["network_format"].message_type.by_name:
            if rng.random() < 0.7:
                setattr(theirs.format.network_format, name, int(2 ** rng.uniform(0, 32)) - 1)
        theirs.training_params.accuracy = float(np.float32(rng.normal()))
        theirs.weights.headcount = int(rng.integers(2**32))
        for _ in range(int(rng.integers(4))):
            theirs.weights.residual.add().conv1.weights.params = rng.bytes(int(rng.integers(400)))
        data = theirs.SerializeToString(deterministic=True)
        ours = parse(memoryview(data), NET)
        assert_same(ours, theirs)
        assert joined(ours) == data


def test_bytes_are_views_of_the_input():
    data = joined(random_networks.conv_network())
    params = find(parse(memoryview(data), NET), "weights.input.weights.params")
    assert isinstance(params, memoryview)
    assert params.obj is data


def test_unknown_fields_come_back_after_the_known_ones():
    unknown = b"\x98\x06\x96\x01" + b"\xa1\x06" + bytes(8) + b"\xad\x06" + bytes(4) + b"\xb2\x06\x01x"
    message = parse(memoryview(unknown[:4] + b"\x15\x00\x00\x80\x3f" + unknown[4:]), LAYER)
    assert message.values == {"max_val": 1.0}
    assert joined(message) == b"\x15\x00\x00\x80\x3f" + unknown


def test_a_second_occurrence_merges_into_the_first():
    one = joined(Message(NET, weights=Message(NET.by_name["weights"].message_type, headcount=3)))
    two = joined(Message(NET, weights=Message(NET.by_name["weights"].message_type, pol_headcount=4)))
    assert parse(memoryview(one + two), NET).get("weights").values == {"headcount": 3, "pol_headcount": 4}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x52\x05\x0a", r"weights: 5 bytes announced at byte 2, 1 are left"),
        (b"\x52\x04\x0a\x02\x0a\x01", r"weights\.input\.weights: 1 bytes announced at byte 6, 0 are left"),
        (b"\x52" + b"\xff" * 9 + b"\x01", "weights: 18446744073709551615 bytes announced"),
        (b"\x52" + b"\xff" * 9 + b"\x7f", "weights: a number of more than 64 bits"),
        (b"\x52" + b"\xff" * 11, "weights: a number of more than 64 bits"),
        (b"\x52\x80", "weights: the message ends inside a number"),
        (b"\x0d\xc0\x01", "magic: 4 bytes announced at byte 1, 2 are left"),
        (b"\x55\x00\x00\x00\x00", "weights: wire type 5 found, 2 expected"),
        (b"\x0b", r"magic: wire type 3 found, 5 expected"),
        (b"\xab\x06", "Net: unknown field 101: wire type 3 is not supported"),
        (b"\x00\x00", "Net: bad field number 0 at byte 0"),
        (
            b"\x22\x06\x08" + b"\xff" * 4 + b"\x1f",
            r"format\.weights_encoding: 8589934591 does not fit in 32 bits",
        ),
    ],
)
def test_malformed_messages_are_refused_with_their_path(data, message):
    with pytest.raises(NetworkFileError, match=message):
        parse(memoryview(data), NET)


def test_the_number_of_fields_is_bounded():
    data = b"\x52\x80\x80\x10" + b"\x12\x00" * (128 * 1024)
    with pytest.raises(NetworkFileError, match=f"weights: more than {MAX_FIELDS} fields"):
        parse(memoryview(data), NET)


def test_no_protobuf_dependency_in_the_package():
    source = Path(random_networks.schema.__file__).parent
    assert not [path for path in source.glob("*.py") if "google" in path.read_text()]
