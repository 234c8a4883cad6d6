"""A scalar value head as a win/draw/loss head, exactly.

Networks up to the 2019 runs give v = tanh(z) for one number z. Win/draw/loss logits (z, d, -z) with d far
below have win - loss = tanh(z) and no draws: the same evaluation, and a head that the method can train. What
such a head knows of draws is nothing; `base_value: calibrated` is for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from searchless_rl.lc0.header import OutputFormat, ValueFormat
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.rows import Parameters, Row, TensorRow, linear_rows
from searchless_rl.lc0.schema import FORMAT, NETWORK_FORMAT
from searchless_rl.lc0.wire import Message

DRAW_LOGIT = -12.0
"""d: a draw has a probability below 3.1e-6, and stays finite in every logarithm."""
NOTE = f"scalar value z read as win/draw/loss logits (z, {DRAW_LOGIT:g}, -z)"


@dataclass(frozen=True)
class LiftedRow:
    """The last layer of a scalar value head, [1, hidden] in the file, as that of a WDL head, [3, hidden]."""

    parameter: str
    weight: TensorRow
    bias: TensorRow
    stored: tuple[TensorRow, ...]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Parameter names and shapes."""
        return {name: shape for row in self.stored for name, shape in row.shapes().items()}

    def check(self, net: Message) -> None:
        """Raise NetworkFileError, naming the field, where a layer is missing or of another size."""
        self.weight.check(net)
        self.bias.check(net)

    def read(self, net: Message) -> Parameters:
        """The parameters, float32, from a checked file."""
        (weight,), (bias,) = self.weight.read(net).values(), self.bias.read(net).values()
        sign = np.array([1, 0, -1], np.float32)
        draw = np.array([0, DRAW_LOGIT, 0], np.float32)
        return {
            f"{self.parameter}.weight": sign[:, None] * weight,
            f"{self.parameter}.bias": sign * bias + draw,
        }

    def store(self, net: Message, values: Mapping[str, np.ndarray]) -> None:
        """Put all three outputs into the file; NetworkFileError where a value is not finite."""
        for row in self.stored:
            row.store(net, values)


def is_scalar(file: NetworkFile) -> bool:
    """Whether the file's value head gives one number."""
    return file.format.value is ValueFormat.CLASSICAL


def value_output_rows(file: NetworkFile, parameter: str, weights: str, biases: str, hidden: int) -> list[Row]:
    """The last layer of a value head, of a file that has three outputs or one."""
    stored = linear_rows(parameter, weights, biases, 3, hidden)
    if not is_scalar(file):
        return [*stored]
    weight, bias = linear_rows(parameter, weights, biases, 1, hidden)
    return [LiftedRow(parameter, weight, bias, tuple(stored))]


def write_wdl_header(net: Message, file: NetworkFile) -> None:
    """Give a copy of `file` the header of a network with a WDL head; other fields as corrected."""
    fields = {name: int(value) for name, value in vars(file.format).items()}
    fields |= {"value": int(ValueFormat.WDL), "output": int(OutputFormat.WDL)}
    container = net.values.setdefault("format", Message(FORMAT))
    stored = container.values.setdefault("network_format", Message(NETWORK_FORMAT))
    # A field that is 0 and not in the file stays out of it, as in files of lc0's own.
    stored.values.update({name: value for name, value in fields.items() if value or name in stored.values})
