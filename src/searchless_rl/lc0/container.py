"""The file around the protobuf: one gzip stream (or none), read under a size cap, written atomically."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from searchless_rl.files import atomic_writer
from searchless_rl.lc0.errors import NetworkFileError

MAGIC_PREFIX = bytes.fromhex("0dc0010000")
"""Field 1 (magic, fixed32) with the value 0x1c0: how every network file begins."""
MAX_BYTES = 2 * 1024**3
_CHUNK = 1 << 20
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_LEVEL = 6

_KNOWN_STRANGERS = {
    b"<": "an HTML or XML page (a failed download?)",
    b"1\n": "the old text format of Leela Chess networks",
    b"2\n": "the old text format of Leela Chess networks",
    b"version https://git-lfs": "a Git LFS pointer, not the file it stands for",
}


def decompressed_limit(compressed_size: int) -> int:
    """The most bytes that a file of this size may decompress to: 64 MiB + 8 times it, at most 2 GiB.

    Reading needs an eighth more than the content at most, the reserve of the growing buffer.
    """
    return min(64 * 1024**2 + 8 * compressed_size, MAX_BYTES)


def read_protobuf(path: Path) -> memoryview:
    """The protobuf bytes of a ``.pb.gz`` or ``.pb`` file, read-only (see `read_packed`)."""
    return read_packed(path, MAGIC_PREFIX)


def read_packed(path: Path, prefix: bytes) -> memoryview:
    """The bytes of a file that begins with ``prefix``, packed with gzip or not, read-only.

    Raises NetworkFileError (without the path) for anything that is not such a file, and where the content is
    above ``decompressed_limit``.
    """
    try:
        if path.is_dir():
            raise NetworkFileError("is a folder, not a network file")
        if not path.exists():
            raise NetworkFileError("no such file")
        if not path.is_file():
            raise NetworkFileError("is not a regular file")
        with path.open("rb") as file:
            size = path.stat().st_size
            if size == 0:
                raise NetworkFileError("the file is empty")
            compressed = file.read(2) == _GZIP_MAGIC
            file.seek(0)
            content = _inflate(file, size, prefix) if compressed else _read_plain(file, size, prefix)
    except OSError as error:
        raise NetworkFileError(f"cannot be read: {error.strerror}") from error
    _check_magic(content, prefix)
    return memoryview(content).toreadonly()


def _check_magic(content: bytes | bytearray, prefix: bytes) -> None:
    if content.startswith(prefix):
        return
    for start, description in _KNOWN_STRANGERS.items():
        if content.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(start):
            raise NetworkFileError(f"is {description}")
    raise NetworkFileError(
        f"does not begin like an Lc0 network (found {bytes(content[:5]).hex(' ') or 'nothing'}, "
        f"expected {prefix.hex(' ')})"
    )


def _read_plain(file: BinaryIO, size: int, prefix: bytes) -> bytes:
    _check_magic(file.read(64), prefix)
    if size > MAX_BYTES:
        raise NetworkFileError(f"has {size} bytes, at most {MAX_BYTES} are read")
    file.seek(0)
    return file.read(size)


def _inflate(file: BinaryIO, size: int, prefix: bytes) -> bytearray:
    limit = decompressed_limit(size)
    stream = zlib.decompressobj(wbits=31)  # 31: a gzip header and trailer, checked
    content = bytearray()
    try:
        while not stream.eof:
            pending = stream.unconsumed_tail or file.read(_CHUNK)
            if not pending:
                raise NetworkFileError("the gzip stream is truncated")
            begins = len(content) < len(prefix)
            content += stream.decompress(pending, _CHUNK)
            if begins and len(content) >= len(prefix):
                _check_magic(content, prefix)
            if len(content) > limit:
                raise NetworkFileError(f"decompresses to more than {limit} bytes, the limit for its size")
    except zlib.error as error:
        raise NetworkFileError(f"damaged gzip stream ({error})") from error
    if stream.unused_data or file.read(1):
        raise NetworkFileError("has bytes after the end of the gzip stream")
    return content


def write_protobuf(chunks: Iterable[bytes | memoryview], path: Path) -> None:
    """Write a ``.pb.gz``; whoever reads ``path`` sees the old file or the whole new one.

    Equal content gives equal bytes: no time and no name in the gzip header.
    """
    with atomic_writer(path) as file, gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as stream:
        for chunk in chunks:
            stream.write(chunk)
