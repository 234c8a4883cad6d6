"""Several processes at a time, all of them stopped when the work is left early."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from searchless_rl.pipeline.lifetime import tied

GRACE = 20.0
"""Seconds that processes have to end by themselves."""


class Runner:
    """Runs processes from several threads and, when it is left early, stops those that are running.

    Each has a session of its own: an interrupt from the keyboard reaches this process alone, which then stops
    them. Where this process is killed, the kernel stops them (`lifetime`).
    """

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()  # held from the look at `_stopping` until a new process is in the set
        self._stopping = False

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            return
        with self._lock:
            self._stopping = True
            groups = [process.pid for process in self._processes]
        try:
            _stop(groups, signal.SIGTERM)
        finally:  # also where the patience of a second interrupt ended the first
            _stop(groups, signal.SIGKILL)

    def run(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> int | None:
        """Run a command, its output added to a log; its exit status, None where all is being stopped."""
        with log.open("ab") as stream:
            with self._lock:
                if self._stopping:
                    return None
                process = subprocess.Popen(
                    tied(command),
                    stdout=stream,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
                self._processes.add(process)
            try:
                return process.wait()
            finally:
                with self._lock:
                    self._processes.discard(process)


def _stop(groups: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to process groups and wait, at most `GRACE`, until they are gone."""
    for group in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)
    deadline = time.monotonic() + GRACE
    while any(_exists(group) for group in groups) and time.monotonic() < deadline:
        time.sleep(0.05)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
