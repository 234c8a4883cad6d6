"""Byte streams of plain, gzip and Zstandard files; truncation is reported, not taken for an early end."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import BinaryIO, cast

import zstandard

_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGIC = b"\x2a\x4d\x18"  # preceded by one byte 0x50..0x5f (RFC 8878, section 3.1.2)
_FRAME_HEADER_MAX = 18
_RLE_BLOCK = 1


def open_bytes(path: Path) -> BinaryIO:
    """Open a file for reading, decompressing gzip and Zstandard; its first bytes, not its name, decide.

    Memory is constant. All frames of a Zstandard file are read, also behind skippable frames: the monthly
    Lichess export is written by pzstd, which begins with one and writes many.

    Raises:
        OSError: the file cannot be opened.
        EOFError: a Zstandard file ends inside a frame. (Reading a gzip file that ends early raises it later.)
    """
    with path.open("rb") as raw:
        head = raw.read(4)
        zstd = head == _ZSTD_MAGIC or _is_skippable(head)
        if zstd:
            _require_whole_frames(raw)
    if head[:2] == _GZIP_MAGIC:
        return cast(BinaryIO, gzip.open(path, "rb"))
    if zstd:
        reader = zstandard.ZstdDecompressor().stream_reader(path.open("rb"), read_across_frames=True)
        return io.BufferedReader(cast(io.RawIOBase, reader))
    return path.open("rb")


def _is_skippable(magic: bytes) -> bool:
    return len(magic) == 4 and 0x50 <= magic[0] <= 0x5F and magic[1:] == _SKIPPABLE_MAGIC


def _require_whole_frames(raw: BinaryIO) -> None:
    """Walk the frame and block headers to the end of the file, decompressing nothing.

    The stream reader takes a truncated last frame for the end of the data, so a download that broke off would
    pass for a smaller puzzle set. Bytes that are no frame are left for the decompressor to complain about.
    """
    size = raw.seek(0, io.SEEK_END)
    position = 0
    while position < size:
        raw.seek(position)
        head = raw.read(_FRAME_HEADER_MAX)
        if _is_skippable(head[:4]) and len(head) >= 8:
            position += 8 + int.from_bytes(head[4:8], "little")
        elif head[:4] == _ZSTD_MAGIC:
            position = _end_of_frame(raw, position, head)
        elif len(head) >= 4:
            return
        else:
            position = size + 1
    if position > size:
        raise EOFError(f"the Zstandard data ends inside a frame at byte {size}")


def _end_of_frame(raw: BinaryIO, start: int, head: bytes) -> int:
    try:
        position = start + zstandard.frame_header_size(head)
        checksum = 4 if zstandard.get_frame_parameters(head).has_checksum else 0
    except zstandard.ZstdError as error:
        raise EOFError(f"the Zstandard frame at byte {start} has no complete header ({error})") from error
    while True:
        raw.seek(position)
        header = raw.read(3)
        if len(header) < 3:
            raise EOFError(f"the Zstandard data ends inside the frame that starts at byte {start}")
        block = int.from_bytes(header, "little")
        stored = 1 if (block >> 1) & 3 == _RLE_BLOCK else block >> 3
        position += 3 + stored
        if block & 1:
            return position + checksum
