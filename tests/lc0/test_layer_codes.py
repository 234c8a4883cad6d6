"""LINEAR16: decoding, encoding, and layers that must be refused."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
import random_networks

from searchless_rl.lc0 import NetworkFileError
from searchless_rl.lc0.layer import check_layer, decode_layer, encode_layer
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.schema import LAYER
from searchless_rl.lc0.wire import Message


def layer(low: float, high: float, *codes: int, **extra: int) -> Message:
    return Message(LAYER, min_val=low, max_val=high, params=struct.pack(f"<{len(codes)}H", *codes), **extra)


def layers_of(message: Message) -> list[Message]:
    if message.type is LAYER:
        return [message]
    values = [item for v in message.values.values() for item in (v if isinstance(v, list) else [v])]
    return [found for child in values if isinstance(child, Message) for found in layers_of(child)]


def test_decode_rounds_twice_in_float32():
    codes = np.random.default_rng(0).integers(0, 65536, 1000).astype("<u2")
    low, high = np.float32(-0.73), np.float32(1.1)
    one = [np.float32(np.float32(np.float32(q) / np.float32(65535)) * (high - low)) + low for q in codes]
    decoded = decode_layer(
        Message(LAYER, min_val=float(low), max_val=float(high), params=memoryview(codes.tobytes()))
    )
    assert decoded.dtype == np.float32
    assert (decoded == np.array(one, np.float32)).all()


@pytest.mark.parametrize("name", ["micro_bt4", "tiny_bt4", "maia-1100", "maia-1900"])
def test_every_code_survives_decode_and_encode(golden, name):
    layers = layers_of(NetworkFile.read(golden(name).network).net)
    assert len(layers) > 50
    for source in layers:
        values = decode_layer(source)
        encoded = encode_layer(values, "layer")
        if values.size > 1 and values.min() < values.max():
            assert encoded["params"] == bytes(source.get("params"))
        else:  # constant: any code will do, the values count
            assert (decode_layer(Message(LAYER, **encoded)) == values).all()


def test_encoded_values_are_within_half_a_step():
    values = np.random.default_rng(1).normal(0, 3, (50, 40)).astype(np.float32)
    decoded = decode_layer(random_networks.make_layer(values, "layer")).reshape(values.shape)
    span = float(values.max()) - float(values.min())
    # Three roundings relative to the range at most, one relative to the value.
    rounding = (3 * span + float(np.abs(values).max())) * 2**-24
    assert np.abs(decoded.astype(np.float64) - values).max() <= span / 131070 + rounding


@pytest.mark.parametrize("value", [0.0, -0.3, 1e-30, 7.5])
@pytest.mark.parametrize("size", [1, 5])
def test_constant_tensors_are_exact(value, size):
    values = np.full(size, value, np.float32)
    assert (decode_layer(random_networks.make_layer(values, "layer")) == values).all()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_values_that_are_not_finite_are_not_stored(value):
    with pytest.raises(NetworkFileError, match=r"weights\.x: cannot store NaN or infinite"):
        encode_layer(np.array([1.0, value]), "weights.x")


def test_a_range_above_float32_is_not_stored():
    with pytest.raises(NetworkFileError, match="overflows float32"):
        encode_layer(np.array([-3e38, 3e38]), "weights.x")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (layer(math.nan, 1.0, 0, 1), r"w\.x: min_val nan, max_val 1\.0 are not finite"),
        (layer(0.0, math.inf, 0, 1), "are not finite"),
        (layer(1.0, -1.0, 0, 1), r"w\.x: min_val 1\.0 is above max_val -1\.0"),
        (layer(-3e38, 3e38, 0, 1), "overflows float32"),
        (layer(0.0, 1.0, 0, 1, encoding=2), r"w\.x\.encoding = 2: supported is LINEAR16"),
        (Message(LAYER, min_val=0.0, max_val=1.0, params=b"123"), r"w\.x\.params: 3 bytes"),
    ],
)
def test_bad_layers_are_refused(bad, message):
    with pytest.raises(NetworkFileError, match=message):
        check_layer(bad, "w.x")


def test_a_single_negative_value_as_trainers_write_it():
    single = layer(0.0, -0.25, 65535)
    check_layer(single, "w.x")
    assert decode_layer(single).tolist() == [-0.25]
