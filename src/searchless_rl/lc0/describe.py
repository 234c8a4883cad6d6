"""A summary of a network file, without building the network."""

from __future__ import annotations

import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.families import family_of_file
from searchless_rl.lc0.layer import value_count
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.lc0.network_io import network_message
from searchless_rl.lc0.onnx_graph import is_onnx, load_onnx
from searchless_rl.lc0.schema import LAYER
from searchless_rl.lc0.value_lift import NOTE, is_scalar
from searchless_rl.lc0.wire import Message, find


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Header, family, sizes, heads and parameter counts of a network file, as plain values.

    Keys: ``file``, ``bytes``, ``licence``, ``min_version``, ``training_steps`` (None where the file does
    not say), ``format`` (enum names, corrected as Lc0 does), ``policy_heads``, ``value_heads``,
    ``values_in_file`` (all tensors, including training extras), and for the network that
    ``load_network`` would build with the first heads of the file ``family``, ``sizes``, ``parameters``.
    These three are None for a network that is not supported; ``unsupported`` then says why. ``value_lift``
    says how a scalar value head is read, and is None for other heads. An ONNX graph of lc0's is described as
    the network file that it becomes.

    Raises NetworkFileError for a file that cannot be read at all.
    """
    path = Path(path).expanduser()
    lift: str | None
    if is_onnx(path):
        file, lift = NetworkFile(network_message(load_onnx(path))), NOTE
    else:
        try:
            file = NetworkFile.read(path)
        except NetworkFileError as error:
            raise NetworkFileError(f"{path}: {error}") from error.__cause__
        lift = NOTE if is_scalar(file) else None
    version = find(file.net, "min_version")
    summary = {
        "file": path.name,
        "bytes": path.stat().st_size,
        "licence": bytes(find(file.net, "license") or b"").decode("utf-8", "replace"),
        "min_version": version
        and ".".join(str(version.get(name, 0)) for name in ("major", "minor", "patch")),
        "training_steps": find(file.net, "training_params.training_steps"),
        "format": {name: value.name for name, value in vars(file.format).items()},
        "policy_heads": file.policy_heads(),
        "value_heads": file.value_heads(),
        "values_in_file": _values(file.net),
    }
    try:
        return summary | _network(file) | {"value_lift": lift, "unsupported": None}
    except NetworkFileError as error:
        nothing = dict.fromkeys(("family", "sizes", "parameters", "value_lift"))
        return summary | nothing | {"unsupported": str(error)}


def _network(file: NetworkFile) -> dict[str, Any]:
    heads = file.policy_heads(), file.value_heads()
    if not all(heads):
        raise NetworkFileError("the file has no policy head, or no value head")
    policy_head, value_head = heads[0][0], heads[1][0]
    family = family_of_file(file)
    config = family.read_config(file, policy_head, value_head)
    table = family.rows(config, file, policy_head, value_head)
    for row in table:
        row.check(file.net)
    return {
        "family": family.name,
        "sizes": asdict(config),
        "parameters": sum(math.prod(shape) for row in table for shape in row.shapes().values()),
    }


def _values(message: Message) -> int:
    if message.type is LAYER:
        return value_count(message)
    children = [
        item for value in message.values.values() for item in (value if isinstance(value, list) else [value])
    ]
    return sum(_values(child) for child in children if isinstance(child, Message))
