"""``load_network`` and ``save_network``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from searchless_rl.lc0.container import write_protobuf
from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.families import CHESSFORMER, SE_RESNET, family_of_file
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.new_file import blank_file
from searchless_rl.lc0.onnx_graph import is_onnx, load_onnx
from searchless_rl.lc0.rows import Parameters, Row
from searchless_rl.lc0.schema import TRAINING_PARAMS
from searchless_rl.lc0.value_lift import LiftedRow, is_scalar, write_wdl_header
from searchless_rl.lc0.wire import Message, encode
from searchless_rl.nets.chessformer import Chessformer
from searchless_rl.nets.se_resnet import SEResNet


@dataclass(frozen=True)
class Source:
    """Where a module's parameters came from; immutable, shared by copies of the module. As text: the path."""

    file: NetworkFile
    policy_head: str
    value_head: str
    path: Path | None = None

    def __str__(self) -> str:
        return str(self.path or "a network built in Python")

    def __deepcopy__(self, memo: object) -> Source:
        return self


def load_network(
    path: str | os.PathLike[str], policy_head: str = "vanilla", value_head: str = "winner"
) -> Chessformer | SEResNet:
    """Read a ``.pb.gz`` or ``.pb`` network of Lc0, or an ONNX graph of lc0's, into a trainable module.

    Returns a ``nets.Chessformer`` or ``nets.SEResNet`` on the CPU in float32, in training mode as any new
    module (neither family has layers for which that matters). Head names are Lc0's: vanilla, optimistic,
    soft, opponent; winner, q, st. A scalar value head becomes a WDL head with the same evaluation
    (`value_lift`). The module keeps the file's content for ``save_network``.

    Raises NetworkFileError, whose message names the file and the field, for a file that is missing,
    damaged or not supported, and for a head that is not in it.
    """
    path = Path(path).expanduser()
    if is_onnx(path):
        return load_onnx(path)
    try:
        source = Source(NetworkFile.read(path), policy_head, value_head, path)
        return _build(source)
    except NetworkFileError as error:
        raise NetworkFileError(f"{path}: {error}") from error.__cause__


def _build(source: Source) -> Chessformer | SEResNet:
    family = family_of_file(source.file)
    config = family.read_config(source.file, source.policy_head, source.value_head)
    table = family.rows(config, source.file, source.policy_head, source.value_head)
    for row in table:
        row.check(source.file.net)
    with torch.random.fork_rng(devices=[]):  # initial values are drawn, then replaced
        module = family.module(config)
    parameters = dict(module.named_parameters())
    _check_complete(table, parameters)
    with torch.no_grad():
        for row in table:
            for name, value in row.read(source.file.net).items():
                parameters[name].copy_(torch.from_numpy(value))
    module.source = source
    return module


def _check_complete(table: list[Row], parameters: dict[str, nn.Parameter]) -> None:
    """Every parameter is bound once, with the shape that the table says."""
    bound = {name: shape for row in table for name, shape in row.shapes().items()}
    assert bound == {name: tuple(parameter.shape) for name, parameter in parameters.items()}


def save_network(
    module: nn.Module, path: str | os.PathLike[str], *, training_steps: int | None = None
) -> None:
    """Write a module as a ``.pb.gz`` that the real lc0 loads; atomic, and equal content gives equal bytes.

    For a module from ``load_network``: header, licence, training parameters, unknown fields and heads
    that were not loaded stay as in the source file, and so do, to the byte, tensors whose values did not
    change. Changed tensors are encoded anew, to half a quantisation step; a changed convolution is
    written without batch norm. The heads go back to where they were loaded from; a scalar value head is
    written as the WDL head that it was loaded as (`value_lift`). A module built in Python
    gets a header of its own, with the heads vanilla and winner.

    With `training_steps`, the number of optimizer steps that the module has been trained, that number takes
    the place of the source's training parameters (its steps, losses and accuracy are of another network).

    Raises NetworkFileError where a parameter is not finite, TypeError for any other kind of module.
    """
    path = Path(path).expanduser()
    if not isinstance(module, Chessformer | SEResNet):
        raise TypeError(f"{type(module).__name__} is not a network of the Lc0 families")
    try:
        net = network_message(module, training_steps)
    except NetworkFileError as error:
        raise NetworkFileError(f"{path}: {error}") from None
    write_protobuf(encode(net), path)


def network_message(module: Chessformer | SEResNet, training_steps: int | None = None) -> Message:
    """The content of the file that `save_network` writes; NetworkFileError where a value is not finite."""
    family = CHESSFORMER if isinstance(module, Chessformer) else SE_RESNET
    parameters = dict(module.named_parameters())
    if module.source is None:
        source = Source(blank_file(module.config), "vanilla", "winner")
        read = False
    else:
        assert isinstance(module.source, Source)
        source, read = module.source, True
    net = source.file.net.copy()
    if training_steps is not None:
        net.values["training_params"] = Message(TRAINING_PARAMS, training_steps=training_steps)
    for row in family.rows(module.config, source.file, source.policy_head, source.value_head):
        values = {name: _to_numpy(parameters[name]) for name in row.shapes()}
        kept = read and not isinstance(row, LiftedRow) and _equal(row.read(source.file.net), values)
        if not kept:
            row.store(net, values)
    if is_scalar(source.file):
        write_wdl_header(net, source.file)
    return net


def _to_numpy(parameter: nn.Parameter) -> np.ndarray:
    array: np.ndarray = parameter.detach().to("cpu", torch.float32).numpy()
    return array


def _equal(one: Parameters, other: Parameters) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one)
