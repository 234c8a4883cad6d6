"""Processes that end with the process that started them, however that ends.

The kernel sends the signal (Linux only). Elsewhere a process whose parent is killed lives on; locks keep a
second from working beside it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Have this process sent SIGTERM when the thread that started it ends; a stage then saves what it has."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:  # it ended meanwhile
        signal.raise_signal(signal.SIGTERM)


def tied(command: Sequence[str]) -> list[str]:
    """A command that runs `command` and ends with the thread that starts it, which has to outlive it."""
    return [sys.executable, "-P", __file__, *command]


if __name__ == "__main__":
    end_with_parent()
    os.execvp(sys.argv[1], sys.argv[1:])
