"""The stage `inputs`: links to the files that parameters name.

DVC notices an edit to a file only where dvc.yaml names it, and dvc.yaml cannot name a file that may be null.
So each such parameter has a fixed place below data/inputs: a link to the file it names, or a small file that
says that it names none. Stages depend on these places, and DVC looks through the links.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from searchless_rl import layout
from searchless_rl.files import write_atomically
from searchless_rl.params import Params
from searchless_rl.suites.sources import BUNDLED, NETWORK_ENDINGS

NONE = "params.yaml names no file here\n"


def named_files(params: Params) -> dict[str, tuple[str, Path | None]]:
    """Place below data/inputs -> key of params.yaml and the file it names, None where it names none."""
    suites = params.suites
    named = {
        "base": ("base", _base_file(params.base)),
        "source": ("suites.source", suites.source),
        "winning": ("suites.winning", suites.winning),
        "game_moves": ("suites.game_moves", suites.game_moves),
        "book": ("arena.book", params.arena.book),
    }
    return {place: (key, None if name is None else Path(name)) for place, (key, name) in named.items()}


def _base_file(base: str) -> str | Path | None:
    """The file behind `base`, None for one that is downloaded: its hash stands in the registry."""
    if base in BUNDLED:
        return layout.bundled_network(base)
    return base if base.endswith(NETWORK_ENDINGS) else None


def link_inputs(named: Mapping[str, tuple[str, Path | None]], out: Path) -> None:
    """Make the links; files below the current folder are linked relative to it, so that it can be moved.

    Args:
        named: see `named_files`.
        out: the folder of the links.

    Raises:
        ValueError: files that are missing, each with its key. The links of the others are made.
    """
    out.mkdir(parents=True, exist_ok=True)
    missing = []
    for place, (key, file) in named.items():
        link = out / place
        if file is None or not file.is_file():
            if link.is_symlink() or not link.is_file():
                link.unlink(missing_ok=True)  # of a link that leads nowhere DVC says only that it does
                write_atomically(link, NONE)
            if file is not None:
                missing.append(
                    f"params.yaml: {key}: {str(file)!r} is no file; correct the path or restore it"
                )
        elif not _leads_to(link, file):
            link.unlink(missing_ok=True)
            link.symlink_to(_target(file, out))
    if missing:
        raise ValueError("\n".join(missing))


def _leads_to(link: Path, file: Path) -> bool:
    return link.is_symlink() and link.resolve() == file.resolve()


def _target(file: Path, out: Path) -> Path:
    file = Path(os.path.abspath(file))  # noqa: PTH100  # resolve() would follow the user's own links
    root = Path.cwd()
    return Path(os.path.relpath(file, out.absolute())) if file.is_relative_to(root) else file
