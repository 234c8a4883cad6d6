"""Signals that end work in a good place: saved, and continued by the next run."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""A kill, Ctrl-C, a closed terminal or a lost connection."""


class Interrupted(Exception):
    """A signal ended some work; the same command continues it.

    Attributes:
        signal: its number; the process ends with status 128 + this, as shells report it.
    """

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal


class StopRequest:
    """The first stopping signal that has arrived.

    Attributes:
        signal: the signal, None before one arrives.
    """

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None


@contextlib.contextmanager
def deferred_signals() -> Iterator[StopRequest]:
    """Record the signals of `STOPPING` instead of ending at once, so that work can be saved first.

    A second signal ends the work at once (KeyboardInterrupt). A hang-up that the caller ignores, as under
    `nohup`, stays ignored. SIGUSR1, which batch systems send ahead of a time limit and whose default is to
    end the process unsaved, is ignored. Outside the main thread, where Python cannot take signals, nothing
    changes.
    """
    request = StopRequest()

    def note(number: int, _frame: FrameType | None) -> None:
        if request.signal is not None:
            raise KeyboardInterrupt
        request.signal = signal.Signals(number)

    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {}
    try:
        for number in STOPPING:
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, note)
        before[signal.SIGUSR1] = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
