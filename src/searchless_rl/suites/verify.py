"""Whether a file on disk is the one pinned, and whether it is a web page in disguise."""

from __future__ import annotations

from pathlib import Path

from searchless_rl.files import sha256_of
from searchless_rl.suites.sources import RemoteFile


def looks_like_html(head: bytes) -> bool:
    """Whether the first bytes of a file are those of an HTML or XML page, as servers send with an error."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--"))


def mismatch(path: Path, entry: RemoteFile) -> str | None:
    """None if the file is exactly the pinned one, else in what it differs."""
    size = path.stat().st_size
    if size != entry.size:
        difference = f"it has {size:,} bytes, expected {entry.size:,}"
    elif (digest := sha256_of(path)) != entry.sha256:
        difference = f"its sha256 is {digest}, expected {entry.sha256}"
    else:
        return None
    with path.open("rb") as handle:
        page = looks_like_html(handle.read(512))
    return f"it is a web page (HTML), not {entry.file_name}: {difference}" if page else difference
