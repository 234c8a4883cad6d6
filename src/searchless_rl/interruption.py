"""Signals that ask a process to end, noted so that its work stops where it can continue later."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


class Interrupted(Exception):
    """A signal ended some work that continues from where it was when it is run again.

    Attributes:
        signal: which; the process ends with status 128 + its number, as shells report it.
    """

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal


class StopRequest:
    """The signal that has asked for an end, None before one has."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None


@contextlib.contextmanager
def deferred_signals() -> Iterator[StopRequest]:
    """Note SIGTERM and SIGINT instead of ending at once, so that the work can end after a whole step.

    The second signal ends the work at once (KeyboardInterrupt). Outside the main thread, where Python cannot
    handle signals, nothing changes.

    Yields:
        The request, whose `signal` is set when one arrives.
    """
    request = StopRequest()

    def note(number: int, _frame: FrameType | None) -> None:
        if request.signal is not None:
            raise KeyboardInterrupt
        request.signal = signal.Signals(number)

    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
