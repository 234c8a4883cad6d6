"""One process per cell."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class Busy(RuntimeError):
    """Another process works on the same cell."""


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process; the lock ends with the process, however it ends.

    Raises:
        Busy: another process holds it (its PID named), also one whose parent was killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            handle.seek(0)
            owner = handle.read().strip() or "unknown"
            raise Busy(
                f"{folder}: process {owner} is working here; wait for it or stop it (kill {owner})"
            ) from None
        handle.truncate(0)
        handle.write(f"{os.getpid()}\n")
        handle.flush()
        yield
