"""A stage's JSON file, whose parts are checked as they are read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

Suites = dict[str, dict[str, float]]
"""Suite -> figure of `evaluation.tactics.summarize` -> value; null (a rate of no puzzles) is left out."""


class MalformedFile(ValueError):
    """A file that does not say what it should; the message names it, and the line."""


class Document:
    """A JSON object.

    Args:
        path: the file.
        root: messages name the file relative to it; None: as given.

    Raises:
        MalformedFile: the file cannot be read, is no JSON, or holds something else than an object.
    """

    def __init__(self, path: Path, root: Path | None = None) -> None:
        self._where = str(path) if root is None else path.relative_to(root).as_posix()
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise MalformedFile(f"{self._where}: {error}") from error
        self._values = parse_object(content, self._where)

    def refuse(self, problem: str) -> NoReturn:
        """Raise MalformedFile about this file."""
        raise MalformedFile(f"{self._where}: {problem}")

    def keys(self) -> tuple[str, ...]:
        """Names of its parts, in order."""
        return tuple(self._values)

    def text(self, key: str) -> str:
        """A string."""
        value = self._values.get(key)
        if not isinstance(value, str):
            self.refuse(f"{key}: expected a string, found {value!r}")
        return value

    def whole(self, key: str) -> int:
        """An integer."""
        value = self._values.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            self.refuse(f"{key}: expected an integer, found {value!r}")
        return value

    def mapping(self, key: str) -> dict[str, Any]:
        """An object, its parts unchecked."""
        return self._object(self._values.get(key), key)

    def mappings(self, key: str) -> dict[str, dict[str, Any]]:
        """An object of objects."""
        return {name: self._object(part, f"{key}.{name}") for name, part in self.mapping(key).items()}

    def numbers(self, key: str) -> dict[str, float]:
        """An object of finite numbers."""
        return self._numbers(self.mapping(key), key)

    def suites(self) -> Suites:
        """Its part "suites", figures by suite."""
        known = {
            suite: {name: value for name, value in figures.items() if value is not None}
            for suite, figures in self.mappings("suites").items()
        }
        return {suite: self._numbers(figures, f"suites.{suite}") for suite, figures in known.items()}

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.refuse(f"{where}: expected an object, found {value!r}")
        return value

    def _numbers(self, values: Mapping[str, Any], where: str) -> dict[str, float]:
        return {
            name: finite_number(value, f"{self._where}: {where}.{name}") for name, value in values.items()
        }


def parse_object(content: str, where: str) -> dict[str, Any]:
    """A JSON object from text; `where` names it in messages.

    Raises:
        MalformedFile: something else.
    """
    try:
        value = json.loads(content)
    except json.JSONDecodeError as error:
        line = f" line {error.lineno}" if " line " not in where else ""
        raise MalformedFile(f"{where}{line}: not JSON, or cut off: {error.msg}") from error
    if not isinstance(value, dict):
        raise MalformedFile(f"{where}: expected an object, found {type(value).__name__}")
    return value


def finite_number(value: object, where: str) -> float:
    """The number as it is, whole ones as int.

    Raises:
        MalformedFile: no number, or not a finite one; `where` names it.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise MalformedFile(f"{where}: {value!r} is not a finite number")
    return value


def read_suites(path: Path, root: Path | None = None) -> Suites:
    """The part "suites" of a summary.json; empty where the file is missing.

    Raises:
        MalformedFile: not such a file (named, relative to `root` if given).
    """
    return Document(path, root).suites() if path.exists() else {}
