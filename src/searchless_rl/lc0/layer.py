"""LINEAR16, the tensor encoding of Lc0 network files: a minimum, a maximum and 16-bit codes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.wire import Message

_STEPS = 65535
_LINEAR16 = 1


def value_count(layer: Message) -> int:
    """How many values a layer holds."""
    return len(layer.get("params", b"")) // 2


def check_layer(layer: Message, path: str) -> None:
    """Raise NetworkFileError, naming the path, for a layer that cannot be decoded to finite numbers."""
    encoding = layer.get("encoding", 0)
    if encoding not in (0, _LINEAR16):  # 0 is the default, as where the field is absent
        raise NetworkFileError(f"{path}.encoding = {encoding}: supported is LINEAR16 (1)")
    size = len(layer.get("params", b""))
    if size % 2:
        raise NetworkFileError(f"{path}.params: {size} bytes are not a whole number of 16-bit codes")
    low, high = layer.get("min_val", 0.0), layer.get("max_val", 0.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise NetworkFileError(f"{path}: min_val {low}, max_val {high} are not finite")
    # Trainers write a single value as min 0 and max = value, also where it is negative.
    if low > high and value_count(layer) > 1:
        raise NetworkFileError(f"{path}: min_val {low} is above max_val {high}")
    if not math.isfinite(_float32_range(low, high)):
        raise NetworkFileError(f"{path}: the range from {low} to {high} overflows float32")


def _float32_range(low: float, high: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(high) - np.float32(low))


def decode_layer(layer: Message) -> np.ndarray:
    """float32 [n]: the values of a checked layer, bit for bit those of lc0 up to 0.32."""
    codes: np.ndarray = np.frombuffer(layer.get("params", b""), "<u2")
    low, high = np.float32(layer.get("min_val", 0.0)), np.float32(layer.get("max_val", 0.0))
    values = codes.astype(np.float32)
    values /= np.float32(_STEPS)
    values *= high - low
    values += low
    return values


def encode_layer(values: np.ndarray, path: str) -> dict[str, Any]:
    """The fields min_val, max_val and params for values of any shape, stored row-major.

    A decoded value differs by at most half a step, (max - min) / 131070, and float32 rounding; constant
    tensors and single values are exact. Raises NetworkFileError where a value is not finite.
    """
    values = np.ascontiguousarray(values, np.float32)
    if not np.isfinite(values).all():
        raise NetworkFileError(f"{path}: cannot store NaN or infinite values")
    low, high = values.min(), values.max()
    if low == high:
        codes: np.ndarray = np.zeros(values.size, "<u2")
    elif not math.isfinite(_float32_range(float(low), float(high))):
        raise NetworkFileError(f"{path}: the range from {low} to {high} overflows float32")
    else:
        scale = _STEPS / (np.float64(high) - np.float64(low))
        codes = np.rint((values.ravel().astype(np.float64) - np.float64(low)) * scale).astype("<u2")
    return {"min_val": float(low), "max_val": float(high), "params": codes.tobytes()}
