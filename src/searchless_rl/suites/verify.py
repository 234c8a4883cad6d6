"""Whether a file on disk is the one pinned, and whether it is a web page in disguise."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

from searchless_rl.files import sha256_of
from searchless_rl.suites.sources import KNOWN_BY_HASH, RemoteFile

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 20


def looks_like_html(head: bytes) -> bool:
    """Whether the first bytes of a file are those of an HTML or XML page, as servers send with an error."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--"))


class _UnpackError(ValueError):
    """The file is no whole gzip stream of a sane size."""


def _digest(path: Path, entry: RemoteFile) -> str:
    return sha256_of(path) if entry.sha256 else _sha256_unpacked(path)


def _sha256_unpacked(path: Path) -> str:
    """SHA-256 of what a gzip file unpacks to, or of the file itself where it is not packed.

    Memory is constant, and the content at most 64 MiB + 8 times the file, as for network files.
    """
    limit = (64 << 20) + 8 * path.stat().st_size
    digest, unpacked = hashlib.sha256(), 0
    with path.open("rb") as file:
        if file.read(2) != _GZIP_MAGIC:
            return sha256_of(path)
        file.seek(0)
        stream = zlib.decompressobj(wbits=31)  # 31: a gzip header and trailer, checked
        while not stream.eof:
            pending = stream.unconsumed_tail or file.read(_CHUNK)
            if not pending:
                raise _UnpackError("the gzip stream is truncated")
            try:
                content = stream.decompress(pending, _CHUNK)
            except zlib.error as error:
                raise _UnpackError(f"damaged gzip stream ({error})") from error
            unpacked += len(content)
            if unpacked > limit:
                raise _UnpackError(f"more than {limit:,} bytes, the limit for its size")
            digest.update(content)
        if stream.unused_data or file.read(1):
            raise _UnpackError("bytes after the end of the gzip stream")
    return digest.hexdigest()


def mismatch(path: Path, entry: RemoteFile) -> str | None:
    """None if the file is exactly the pinned one, else in what it differs."""
    size = path.stat().st_size
    try:
        if entry.size is not None and size != entry.size:
            difference = f"it has {size:,} bytes, expected {entry.size:,}"
        elif (digest := _digest(path, entry)) != entry.pinned_hash:
            difference = f"{entry.hash_name} is {digest}, expected {entry.pinned_hash}"
        else:
            return None
    except _UnpackError as error:
        difference = f"it cannot be unpacked: {error}"
    if (other := KNOWN_BY_HASH.get(sha256_of(path))) is not None:
        return f"it is {other}, not {entry.name}: {difference}"
    with path.open("rb") as handle:
        page = looks_like_html(handle.read(512))
    return f"it is a web page (HTML), not {entry.file_name}: {difference}" if page else difference
