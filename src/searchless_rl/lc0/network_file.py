"""A parsed network file and the heads in it."""

from __future__ import annotations

from pathlib import Path

from searchless_rl.lc0.container import read_protobuf
from searchless_rl.lc0.errors import NetworkFileError
from searchless_rl.lc0.header import NetworkFormat, Structure, read_format
from searchless_rl.lc0.schema import NET
from searchless_rl.lc0.wire import Message, find, parse

POLICY_HEADS = {"vanilla": "vanilla", "optimistic": "optimistic_st", "soft": "soft", "opponent": "opponent"}
"""Lc0's name of a policy head -> its field in ``weights.policy_heads``."""
VALUE_HEADS = {"winner": "winner", "q": "q", "st": "st"}
"""Lc0's name of a value head -> its field in ``weights.value_heads``."""


class NetworkFile:
    """The content of a network file. Never changed once read, so that copies can share it.

    ``net`` is the message ``Net`` whose tensors are views of the file's bytes, ``format`` its corrected
    header.
    """

    def __init__(self, net: Message) -> None:
        self.net = net
        self.format: NetworkFormat = read_format(net)

    @classmethod
    def read(cls, path: Path) -> NetworkFile:
        """Parse a file; NetworkFileError (without the path) where that fails."""
        net = parse(read_protobuf(path), NET)
        if find(net, "format.network_format.network") == Structure.ONNX:
            raise NetworkFileError(
                "format.network_format.network = ONNX (5): an ONNX model wrapped by `lc0 onnx2leela` is not "
                "supported; use the Lc0 network that the model was exported from"
            )
        if find(net, "weights") is None:
            raise NetworkFileError("weights: missing; the file holds no network")
        return cls(net)

    def __deepcopy__(self, memo: object) -> NetworkFile:
        return self

    def policy_heads(self) -> list[str]:
        """Lc0's names of the policy heads in the file."""
        return self._heads("policy_heads", POLICY_HEADS)

    def value_heads(self) -> list[str]:
        """Lc0's names of the value heads in the file."""
        return self._heads("value_heads", VALUE_HEADS)

    def _heads(self, group: str, fields: dict[str, str]) -> list[str]:
        if find(self.net, f"weights.{group}") is None:
            return [next(iter(fields))]  # a file without the group has one head, at top level
        return [
            name for name, field in fields.items() if find(self.net, f"weights.{group}.{field}") is not None
        ]

    def policy_head_path(self, name: str) -> str:
        """Where the tensors of a policy head are; NetworkFileError where the file has no such head."""
        return self._head_path("policy", name, self.policy_heads(), POLICY_HEADS)

    def value_head_path(self, name: str) -> str:
        """Where the tensors of a value head are; NetworkFileError where the file has no such head."""
        return self._head_path("value", name, self.value_heads(), VALUE_HEADS)

    def _head_path(self, kind: str, name: str, available: list[str], fields: dict[str, str]) -> str:
        if name not in available:
            raise NetworkFileError(f"no {kind} head {name!r}; the file has {', '.join(available) or 'none'}")
        grouped = find(self.net, f"weights.{kind}_heads") is not None
        return f"weights.{kind}_heads.{fields[name]}" if grouped else "weights"
