"""Being told to stop."""

from __future__ import annotations


class Interrupted(Exception):
    """A signal ended some work that continues from where it was when it is run again.

    Attributes:
        signal: which; the process ends with status 128 + its number, as shells report it.
    """

    def __init__(self, message: str, signal: int) -> None:
        super().__init__(message)
        self.signal = signal
