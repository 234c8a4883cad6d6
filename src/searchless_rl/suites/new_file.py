"""Files of unfinished downloads, written where they are named and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, cast


def open_new(path: Path, *, append: bool = False) -> BinaryIO:
    """Open a file for writing, anew or at its end; a symbolic link of that name is replaced, not followed.

    In a folder that others may write to, a link could lead to any file of the user.

    Raises:
        OSError: the file cannot be opened.
    """
    if path.is_symlink():
        path.unlink()
    return cast(BinaryIO, open(path, "ab" if append else "wb", opener=_no_follow))


def _no_follow(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)
