"""Whether a file on disk is the one pinned, and whether it is a web page in disguise."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from searchless_rl.files import sha256_of
from searchless_rl.suites.sources import KNOWN_BY_HASH, MAX_UNKNOWN, RemoteFile

_CHUNK = 1 << 20


def looks_like_html(head: bytes) -> bool:
    """Whether the first bytes of a file are those of an HTML or XML page, as servers send with an error."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--"))


def sha256_unpacked(path: Path) -> str:
    """Hexadecimal SHA-256 of what a gzip file holds, or why there is none (damaged, above `MAX_UNKNOWN`)."""
    digest, size = hashlib.sha256(), 0
    try:
        with gzip.open(path) as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
                if size > MAX_UNKNOWN:
                    return f"not known (more than {MAX_UNKNOWN:,} bytes)"
    except (OSError, EOFError, zlib.error) as error:
        return f"not known (no whole gzip file: {error})"
    return digest.hexdigest()


def mismatch(path: Path, entry: RemoteFile) -> str | None:
    """None if the file is exactly the pinned one, else in what it differs."""
    size = path.stat().st_size
    if entry.size is not None and size != entry.size:
        difference = f"it has {size:,} bytes, expected {entry.size:,}"
    elif entry.sha256 is not None and (digest := sha256_of(path)) != entry.sha256:
        difference = f"its sha256 is {digest}, expected {entry.sha256}"
    elif entry.sha256_unpacked is not None and (unpacked := sha256_unpacked(path)) != entry.sha256_unpacked:
        difference = f"the sha256 of its unpacked content is {unpacked}, expected {entry.sha256_unpacked}"
    else:
        return None
    if (other := KNOWN_BY_HASH.get(sha256_of(path))) is not None:
        return f"it is {other}, not {entry.name}: {difference}"
    with path.open("rb") as handle:
        page = looks_like_html(handle.read(512))
    return f"it is a web page (HTML), not {entry.file_name}: {difference}" if page else difference
