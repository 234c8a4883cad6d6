"""Text from outside in messages."""


def cut(text: str, length: int = 80) -> str:
    """`text` for a message: shortened, with its length, where it is longer than `length` characters."""
    return text if len(text) <= length else f"{text[:length]}... ({len(text)} characters)"
