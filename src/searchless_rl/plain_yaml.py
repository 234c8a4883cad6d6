"""YAML as a parameter file needs it: mappings, sequences and plain values, and nothing that refers.

Anchors and aliases, with which a small file can stand for gigabytes or for itself, are refused, and a value
that YAML cannot read is named by its key.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from searchless_rl.text import cut, quoted

DEPTH = 20
"""Levels of nesting; params.yaml has four."""


class PlainYamlError(ValueError):
    """Text that is not plain YAML; the message names the key or the line, never the file."""


def read_plain_yaml(text: str) -> dict[Any, Any]:
    """Keys and values of a YAML mapping; sequences as tuples.

    Raises:
        PlainYamlError: not YAML, no mapping, an alias, a key given twice, nesting deeper than `DEPTH`, or a
            value that is not what its form or tag says (2001-99-99, !!bool x).
    """
    reader = YAML(typ="safe", pure=True)
    try:
        node = reader.compose(text)
    except YAMLError as error:
        raise PlainYamlError(f"not readable as YAML: {cut(str(error), 500)}") from error
    except RecursionError as error:
        raise PlainYamlError("not readable as YAML: nested too deeply") from error
    if not isinstance(node, MappingNode):
        found = "nothing" if node is None else _tag(node)
        raise PlainYamlError(f"expected keys and values, found {found}")
    return dict(_Reader(reader).mapping(node, ""))


def _tag(node: Node) -> str:
    """What a node says it is, in YAML's words: "bool", "timestamp", "map"."""
    return str(node.tag).removeprefix("tag:yaml.org,2002:")


class _Reader:
    """Turns nodes into values, each node once."""

    def __init__(self, reader: YAML) -> None:
        self._constructor = reader.constructor
        self._seen: set[int] = set()

    def value(self, node: Node, key: str) -> Any:
        if id(node) in self._seen:
            raise PlainYamlError(f"{key}: an alias (*{node.anchor}) is not allowed; write the value out")
        self._seen.add(id(node))
        if key.count(".") + key.count("[") > DEPTH:
            raise PlainYamlError(f"{cut(key)}: nested too deeply")
        if not isinstance(node, ScalarNode) and _tag(node) not in ("map", "seq"):
            raise PlainYamlError(f"{key}: the tag {quoted(_tag(node))} is not allowed; remove it")
        if isinstance(node, MappingNode):
            return self.mapping(node, key)
        if isinstance(node, SequenceNode):
            return tuple(self.value(item, f"{key}[{place}]") for place, item in enumerate(node.value))
        return self._scalar(node, key)

    def mapping(self, node: MappingNode, key: str) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for name_node, value_node in node.value:
            if not isinstance(name_node, ScalarNode):
                raise PlainYamlError(f"{key or 'top level'}: a key must be a plain word")
            name = self._scalar(name_node, key or "top level")
            inner = f"{key}.{name}" if key else str(name)
            if name in values:
                raise PlainYamlError(f"{cut(inner)}: Duplicate key; keep one of them")
            values[name] = self.value(value_node, inner)
        return values

    def _scalar(self, node: Node, key: str) -> Any:
        try:
            return self._constructor.construct_object(node, deep=True)
        except (YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:
            shown = (cut(key), quoted(node.value), cut(_tag(node)))
            raise PlainYamlError("{}: {} is not a valid {}".format(*shown)) from error
