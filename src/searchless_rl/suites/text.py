"""Foreign text in messages."""

from __future__ import annotations


def shorten(text: str, limit: int = 100) -> str:
    """Text quoted, with control characters escaped, cut after `limit` characters: safe to print."""
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")


def printable(text: object, limit: int = 300) -> str:
    """The same without quotes: for words of servers and programs inside a sentence."""
    return shorten(str(text), limit)[1:-1]
