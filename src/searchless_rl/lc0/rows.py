"""Rows of a binding table: how one part of a file becomes parameters, and back.

One table serves reading and writing. A row checks its tensors against the shape it expects, reads them,
and stores changed values; what did not change keeps the bytes of the source file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.layer import check_layer, decode_layer, encode_layer, value_count
from searchless_rl.lc0.wire import Message, find, find_or_create

_BN_EPSILON = 1e-5
_BN_FIELDS = ("bn_means", "bn_stddivs", "bn_gammas", "bn_betas")

Parameters = dict[str, np.ndarray]
"""Parameter name -> float32 array."""


class Row(Protocol):
    """One line of a binding table."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The parameters of this row and their shapes."""

    def check(self, net: Message) -> None:
        """Raise NetworkFileError where a tensor is missing, damaged or of the wrong size."""

    def read(self, net: Message) -> Parameters:
        """The parameters as a checked file has them."""

    def store(self, net: Message, values: Mapping[str, np.ndarray]) -> None:
        """Put values into ``net``, new or changed since they were read."""


def present(net: Message, path: str) -> bool:
    """Whether a layer is in the file; one without values counts as absent, as in Lc0."""
    layer = find(net, path)
    return layer is not None and value_count(layer) > 0


def count(net: Message, path: str) -> int:
    """Number of values of a layer; NetworkFileError where it is missing."""
    if not present(net, path):
        raise NetworkFileError(f"{path}: missing")
    return value_count(find(net, path))


def divided(number: int, divisor: int, what: str) -> int:
    """The quotient; NetworkFileError where it does not divide."""
    if divisor == 0 or number % divisor:
        raise NetworkFileError(f"{what}: {number} is not a multiple of {divisor}")
    return number // divisor


def _check_tensor(net: Message, path: str, shape: tuple[int, ...]) -> None:
    found, expected = count(net, path), math.prod(shape)
    if found != expected:
        size = " x ".join(map(str, shape))
        raise NetworkFileError(f"{path}: {expected} values expected ({size}), {found} found")
    check_layer(find(net, path), path)


def _decode(net: Message, path: str) -> np.ndarray:
    return decode_layer(find(net, path))


@dataclass(frozen=True)
class TensorRow:
    """A parameter that is one layer.

    ``transposed``: the layer holds the transpose of the (two-dimensional) parameter. ``own_path``: where
    a changed value goes when the layer at ``path`` also serves heads that were not loaded.
    """

    parameter: str
    path: str
    shape: tuple[int, ...]
    transposed: bool = False
    own_path: str | None = None

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Parameter names and shapes."""
        return {self.parameter: self.shape}

    def check(self, net: Message) -> None:
        """Raise NetworkFileError, naming the field, where a layer is missing or of another size."""
        _check_tensor(net, self.path, self.shape)

    def read(self, net: Message) -> Parameters:
        """The parameters, float32, from a checked file."""
        values = _decode(net, self.path)
        if self.transposed:
            return {self.parameter: np.ascontiguousarray(values.reshape(self.shape[::-1]).T)}
        return {self.parameter: values.reshape(self.shape)}

    def store(self, net: Message, values: Mapping[str, np.ndarray]) -> None:
        """Put the parameters into the file; NetworkFileError where a value is not finite."""
        value = values[self.parameter]
        _store_layer(net, self.own_path or self.path, value.T if self.transposed else value)


@dataclass(frozen=True)
class ConvRow:
    """Weight and bias of a convolution that is one ConvBlock, batch norm folded in."""

    parameter: str
    path: str
    shape: tuple[int, ...]  # out, in, height, width

    @property
    def _weight(self) -> str:
        return f"{self.parameter}.weight"

    @property
    def _bias(self) -> str:
        return f"{self.parameter}.bias"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Parameter names and shapes."""
        return {self._weight: self.shape, self._bias: self.shape[:1]}

    def _vectors(self, net: Message) -> list[str]:
        """Which of the per-channel layers this block has and uses."""
        if not present(net, f"{self.path}.bn_means"):
            return ["biases"]
        names = ["bn_means", "bn_stddivs"]
        if present(net, f"{self.path}.biases"):
            names.append("biases")
        # Old files have no scale and shift; Lc0 decides by the shift.
        return [*names, "bn_gammas", "bn_betas"] if present(net, f"{self.path}.bn_betas") else names

    def check(self, net: Message) -> None:
        """Raise NetworkFileError, naming the field, where a layer is missing or of another size."""
        _check_tensor(net, f"{self.path}.weights", self.shape)
        for name in self._vectors(net):
            _check_tensor(net, f"{self.path}.{name}", self.shape[:1])
            if name == "bn_stddivs" and (_decode(net, f"{self.path}.{name}") <= -_BN_EPSILON).any():
                raise NetworkFileError(f"{self.path}.{name}: a variance is negative")

    def read(self, net: Message) -> Parameters:
        """The parameters, float32, from a checked file."""
        weight = _decode(net, f"{self.path}.weights").reshape(self.shape)
        vectors = {name: _decode(net, f"{self.path}.{name}") for name in self._vectors(net)}
        bias = vectors.get("biases", np.zeros(self.shape[0], np.float32))
        if "bn_means" in vectors:
            with np.errstate(over="ignore", invalid="ignore"):
                # bn_stddivs holds the variance.
                deviation = np.sqrt(vectors["bn_stddivs"] + np.float32(_BN_EPSILON))
                scale = vectors.get("bn_gammas", np.float32(1)) / deviation
                weight = weight * scale[:, None, None, None]
                bias = vectors.get("bn_betas", np.float32(0)) - scale * (vectors["bn_means"] - bias)
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise NetworkFileError(f"{self.path}: folding the batch norm overflows float32")
        return {self._weight: weight, self._bias: bias}

    def store(self, net: Message, values: Mapping[str, np.ndarray]) -> None:
        """Put the parameters into the file; NetworkFileError where a value is not finite."""
        block = find_or_create(net, self.path)
        for name in _BN_FIELDS:
            block.values.pop(name, None)
        _store_layer(net, f"{self.path}.weights", values[self._weight])
        _store_layer(net, f"{self.path}.biases", values[self._bias])


def _store_layer(net: Message, path: str, values: np.ndarray) -> None:
    find_or_create(net, path).values.update(encode_layer(values, path))


def linear_rows(
    parameter: str, weights: str, biases: str | None, outputs: int, inputs: int
) -> list[TensorRow]:
    """Weight [outputs, inputs] and bias [outputs] of a linear layer."""
    rows = [TensorRow(f"{parameter}.weight", weights, (outputs, inputs))]
    return rows if biases is None else [*rows, TensorRow(f"{parameter}.bias", biases, (outputs,))]


def norm_rows(parameter: str, path: str, width: int) -> list[TensorRow]:
    """Weight and bias of a layer norm stored as ``<path>_gammas`` and ``<path>_betas``."""
    return [
        TensorRow(f"{parameter}.weight", f"{path}_gammas", (width,)),
        TensorRow(f"{parameter}.bias", f"{path}_betas", (width,)),
    ]
