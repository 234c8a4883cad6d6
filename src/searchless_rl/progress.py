"""Progress of long work on stderr: a bar on a terminal, a line a minute anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from tqdm import tqdm

FIRST_LINE_S, LINE_EVERY_S = 10.0, 60.0
"""Where no terminal is: seconds until the first line, and between lines. Shorter work stays silent."""


class Progress:
    """A context that is told how much is done; `update` is the progress callback of a stage's functions.

    A terminal that has gone away (a closed window, a lost connection) costs the display and not the work.

    Args:
        label: what is being done, e.g. the id of a cell.
        total: how much there is to do.
        unit: of what, singular.
        initial: how much was done before.
        show: False shows nothing.
        stream: default: stderr.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        label: str,
        total: int,
        unit: str,
        *,
        initial: int = 0,
        show: bool = True,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._initial = self._done = initial
        self._clock = clock
        self._stream: TextIO | None = (stream or sys.stderr) if show else None
        self._bar: tqdm[Any] | None = None
        self._begun = clock()
        self._next_line = self._begun + FIRST_LINE_S
        self._shown: int | None = None
        if self._stream is not None and self._stream.isatty():
            self._draw(self._open_bar)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._draw(self._bar.close)
            self._bar = None
        elif self._clock() - self._begun >= FIRST_LINE_S and self._shown != self._done:
            self._draw(self._print_line)

    def update(self, count: int = 1) -> None:
        """Add `count` units that have just been finished."""
        self._done += count
        if self._bar is not None:
            bar = self._bar
            self._draw(lambda: bar.update(count))
        elif self._clock() >= self._next_line:
            self._next_line = self._clock() + LINE_EVERY_S
            self._draw(self._print_line)

    def _open_bar(self) -> None:
        self._bar = tqdm(
            total=self._total, initial=self._initial, desc=self._label, unit=self._unit, file=self._stream
        )

    def _print_line(self) -> None:
        self._shown = self._done
        seconds = self._clock() - self._begun
        done = self._done - self._initial
        line = f"{self._label}: {self._unit} {self._done} of {self._total}"
        if done and seconds > 0:
            left = (self._total - self._done) * seconds / done
            line += f", {done / seconds:.3g} {self._unit}s/s, {_duration(left)} left"
        print(line, file=self._stream, flush=True)

    def _draw(self, act: Callable[[], Any]) -> None:
        if self._stream is None:
            return
        try:
            act()
        except (OSError, ValueError):  # the terminal is gone, or the stream is closed
            self._stream = self._bar = None


def _duration(seconds: float) -> str:
    """Whole seconds as 1:02:03, 2:03 or 3 s."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{minutes}:{rest:02d}" if minutes else f"{rest} s"
