"""Files written whole or not at all, and their fingerprints."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import pandas as pd


@contextlib.contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """A binary file that takes the name `path` when the block ends well, and leaves nothing otherwise.

    It is written in the same folder (made if absent) and synced to disk before it is renamed; an older
    file stays as it was until then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException as error:
        Path(partial).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # a full disk does not say where
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def remove_partial_files(folder: Path) -> None:
    """Delete what writes of `atomic_writer` left in `folder` when their process was killed.

    Only for a folder in which no other process writes.
    """
    for path in folder.glob(".*.part"):
        path.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes | str) -> None:
    """Write a whole file; text is UTF-8."""
    with atomic_writer(path) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON; NaN and infinity are refused (ValueError), since JSON has none."""
    write_atomically(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    """Write a data frame as one Parquet file, whole or not at all, without its index."""
    with atomic_writer(path) as stream:
        frame.to_parquet(stream, index=False)


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def flatten(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested mappings as one level with dotted keys; anything else is a leaf."""
    if not isinstance(value, Mapping):
        return {prefix: value}
    parts = [flatten(item, f"{prefix}.{key}" if prefix else str(key)) for key, item in value.items()]
    return {key: item for part in parts for key, item in part.items()}
