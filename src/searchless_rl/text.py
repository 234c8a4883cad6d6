"""Foreign text in messages: cut where it is long, escaped where a terminal would obey it."""

from __future__ import annotations


def cut(text: str, most: int = 100) -> str:
    """`text`, or its first `most` characters and how many there are."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def quoted(value: object, most: int = 100) -> str:
    """A value as Python writes it, so with control characters escaped, and cut."""
    return repr(cut(value, most)) if isinstance(value, str) else cut(repr(value), most)


def printable(text: object, most: int = 300) -> str:
    """`quoted` without the quotes, for words of servers and programs inside a sentence."""
    return quoted(str(text), most)[1:-1]
