"""Results of long work kept line by line, so that it goes on where it was killed."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from searchless_rl.text import printable
from searchless_rl.unfinished import try_lock

T = TypeVar("T")


class ResultLog:
    """A file of JSON objects, one a line, each written whole by one call of the system.

    A last line without its end, left by a kill or a full disk, is cut off when the file is opened. Only one
    process at a time has a log open; its threads may append.

    Attributes:
        records: what the file held when it was opened, in order.

    Raises:
        RuntimeError: another process works on it.
        ValueError: a line that is no JSON object.
        OSError: the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = path.open("a+b", buffering=0)
        try:
            self.records = self._take_over()
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> ResultLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()

    def parsed_with(self, parse: Callable[[dict[str, Any]], T]) -> list[T]:
        """Every record as `parse` understands it.

        Raises:
            ValueError: `parse` raised KeyError, TypeError or ValueError; file and line are named.
        """
        parsed = []
        for number, record in enumerate(self.records, start=1):
            try:
                parsed.append(parse(record))
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{self._path}: line {number} is not what is kept here ({printable(repr(error))}); "
                    "delete that line or the file"
                ) from error
        return parsed

    def append(self, record: dict[str, Any]) -> None:
        """Add one record. Raises `OSError` if it cannot be written whole."""
        line = json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._lock:
            written = self._stream.write(line)
        if written != len(line):
            raise OSError(f"{self._path}: only {written} of {len(line)} bytes written; is the disk full?")

    def _take_over(self) -> list[dict[str, Any]]:
        if not try_lock(self._stream):
            raise RuntimeError(f"{self._path}: another process is at this work; wait for it")
        self._stream.seek(0)
        content = self._stream.readall()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.ftruncate(self._stream.fileno(), whole)
        records = []
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):  # brackets in brackets, without end
                record = None
            if not isinstance(record, dict):
                raise ValueError(f"{self._path}: line {number} is no JSON object; delete that line")
            records.append(record)
        return records
