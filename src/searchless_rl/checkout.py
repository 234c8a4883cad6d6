"""The checkout a stage runs in, and the main one behind it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def main_checkout(root: Path) -> Path:
    """The folder that owns what outlives a run of the pipeline in `root`: tracking store, unfinished cells.

    It is `SEARCHLESS_MAIN` where that is set. Otherwise it is the project around ``.dvc/tmp/exps``, because
    `dvc exp run --temp` and the queue work in temporary clones there, which Git does not link to the project.
    Otherwise it is, in a Git worktree, the same folder of the main working tree, and in the end `root`.

    Args:
        root: the folder that a stage runs in.
    """
    if named := os.environ.get("SEARCHLESS_MAIN"):
        return Path(named).absolute()
    root = root.absolute()
    for folder in root.parents:
        if folder.parts[-3:] == (".dvc", "tmp", "exps"):
            return folder.parents[2]
    common, top = git(root, "rev-parse", "--git-common-dir"), git(root, "rev-parse", "--show-toplevel")
    if common and top:
        common_folder = (root / common).resolve()
        if common_folder.name == ".git":
            return common_folder.parent / root.resolve().relative_to(Path(top).resolve())
    return root


def revision(root: Path) -> str:
    """The commit of a checkout, 12 digits; "-dirty" where tracked source differs, "no-git" without Git."""
    commit = git(root, "rev-parse", "--verify", "--short=12", "HEAD")
    if not commit:
        return "no-git"
    return f"{commit}-dirty" if git(root, "status", "--porcelain", "--untracked-files=no", "src") else commit


def git(folder: Path, *arguments: str) -> str:
    """What a Git command prints in `folder`; empty where it fails or there is no Git."""
    try:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
