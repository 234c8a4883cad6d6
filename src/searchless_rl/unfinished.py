"""Unfinished work in a scratch folder: its lock, its manifest, what may be continued, what is cleaned up.

A folder holds one piece of work, under these names:

* `LOCK`: held by the process at work (`exclusive`)
* `MANIFEST`: the inputs and the code that the work was begun with (`continues`, `begin`)
* the work's own files, such as a checkpoint
* `FINISHED`: the results, from the moment they are whole (`keep_results`) until whoever started the work has
  stored them (`drop_results`), so that a run which ends in between is not repeated (`restore_results`)
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from searchless_rl.files import atomic_writer, flatten, remove_partial_files, sha256_of, write_json

LOCK, MANIFEST, FINISHED = "lock", "inputs.json", "finished"


class Busy(RuntimeError):
    """Another process works in the same folder."""


class CannotContinue(ValueError):
    """What lies in a scratch folder cannot be continued; the message names the file and the remedy."""

    @classmethod
    def from_file(cls, path: Path, reason: object) -> CannotContinue:
        """The error of a file that is damaged or lost."""
        return cls(f"{path}: {reason}; delete {path.parent} to start again")


# --- the lock --------------------------------------------------------------------------------------


def try_lock(handle: IO[Any]) -> bool:
    """Lock an open file for this process alone, until it is closed or the process ends, however it ends.

    False where another process holds it.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def waiting_lock(path: Path, wait: Callable[[], None]) -> Iterator[None]:
    """Hold a lock file, made if absent and never removed (that would race with the next process).

    Args:
        path: of the file; its folder is made too.
        wait: called again and again while another process holds the lock; it sleeps, or raises to give up.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        while not try_lock(handle):
            wait()
        yield


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold `folder` for this process; the lock ends with the process, however it ends.

    Raises:
        Busy: another process holds it (its PID named), also one whose parent was killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("a+", encoding="utf-8") as handle:
        if not try_lock(handle):
            handle.seek(0)
            owner = handle.read().strip() or "unknown"
            raise Busy(f"{folder}: process {owner} is working here; wait for it or stop it (kill {owner})")
        handle.truncate(0)
        handle.write(f"{os.getpid()}\n")
        handle.flush()
        yield


# --- the manifest ----------------------------------------------------------------------------------


def continues(folder: Path, inputs: Mapping[str, Any], code: str) -> bool:
    """Whether the unfinished work in `folder` is the one that `inputs` and `code` describe.

    Args:
        folder: held by this process (`exclusive`).
        inputs: everything that decides the result, as JSON values.
        code: fingerprint of the code that computes it.

    Returns:
        False, after a warning, where the work was begun by other code: then it has to start again.

    Raises:
        CannotContinue: the work has other inputs (each difference named), or the manifest is lost or damaged.
    """
    path = folder / MANIFEST
    try:
        begun = json.loads(path.read_text(encoding="utf-8"))
        before, code_before = flatten(begun["inputs"]), begun["code_sha256"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CannotContinue.from_file(path, f"not readable ({error})") from error
    if code_before != code:
        warnings.warn(f"{folder}: begun with other code, so it starts again", stacklevel=2)
        return False
    changed = _differences(before, flatten(_as_json(inputs)))
    if changed:
        raise CannotContinue(
            f"{folder} holds unfinished work with other inputs ({'; '.join(changed)}); "
            "restore them to continue it, or delete the folder to start again"
        )
    return True


def begin(folder: Path, inputs: Mapping[str, Any], code: str) -> None:
    """Write the manifest of new work."""
    write_json(folder / MANIFEST, {"inputs": inputs, "code_sha256": code})


def claim(folder: Path, inputs: Mapping[str, Any], code: str, work: Sequence[str]) -> bool:
    """Begin work in `folder`, or go on with what lies there.

    Files of writes that a kill cut off are removed either way.

    Args:
        folder: held by this process (`exclusive`).
        inputs: everything that decides the result, as JSON values.
        code: fingerprint of the code that computes it.
        work: names of the work's files; without the first of them there is nothing to continue.

    Returns:
        True where unfinished work is continued.

    Raises:
        CannotContinue: see `continues`.
    """
    remove_partial_files(folder)
    if (folder / work[0]).exists() and continues(folder, inputs, code):
        return True
    for name in work:
        (folder / name).unlink(missing_ok=True)
    begin(folder, inputs, code)
    return False


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        f"{key}: {before.get(key)!r} then, {now.get(key)!r} now"
        for key in sorted({*before, *now})
        if before.get(key) != now.get(key)
    ]


# --- finished results ------------------------------------------------------------------------------


def keep_results(
    folder: Path, inputs: Mapping[str, Any], code: str, out: Path, names: Sequence[str], work: Iterable[str]
) -> None:
    """Keep copies of the results in `out`, then remove the work's files and the manifest.

    A kill at any instant leaves either work that can be continued or whole copies.

    Args:
        folder: held by this process (`exclusive`).
        inputs: everything that decided the results, as JSON values.
        code: fingerprint of the code that computed them.
        out: where the results are.
        names: of the results.
        work: names of the work's files.
    """
    kept = folder / FINISHED
    shutil.rmtree(kept, ignore_errors=True)
    for name in names:
        _copy(out / name, kept / name)
    hashes = {name: sha256_of(kept / name) for name in names}
    write_json(kept / MANIFEST, {"inputs": inputs, "code_sha256": code, "files": hashes})
    _remove_work(folder, work)
    remove_partial_files(out)


def restore_results(
    folder: Path, inputs: Mapping[str, Any], code: str, out: Path, work: Iterable[str]
) -> bool:
    """Put kept results into `out` if they are those of `inputs` and `code`, and undamaged; else drop them.

    Args:
        folder: held by this process (`exclusive`).
        inputs: everything that decides the results, as JSON values.
        code: fingerprint of the code that computes them.
        out: where the results go.
        work: names of the work's files, which a kill may have left beside the results.

    Returns:
        True where they are restored, and a line on stderr says so.
    """
    kept = folder / FINISHED
    if not kept.exists():
        return False
    try:
        found = json.loads((kept / MANIFEST).read_text(encoding="utf-8"))
        same = found["inputs"] == _as_json(inputs) and found["code_sha256"] == code
        same = same and all(sha256_of(kept / name) == known for name, known in found["files"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        same = False
    if not same:
        shutil.rmtree(kept)
        return False
    for name in found["files"]:
        _copy(kept / name, out / name)
    _remove_work(folder, work)
    remove_partial_files(out)
    print(f"{out}: finished before with the same inputs; restored from {kept}", file=sys.stderr)
    return True


def drop_results(root: Path) -> None:
    """Delete the kept results in all folders below `root` where no process is at work.

    For the end of a pipeline, when everything has been stored.
    """
    for kept in sorted(root.rglob(f"{FINISHED}/{MANIFEST}")):
        with contextlib.suppress(Busy), exclusive(kept.parent.parent):
            shutil.rmtree(kept.parent)


def _remove_work(folder: Path, work: Iterable[str]) -> None:
    for name in (*work, MANIFEST):
        (folder / name).unlink(missing_ok=True)
    remove_partial_files(folder)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as reading, atomic_writer(target) as writing:
        shutil.copyfileobj(reading, writing)
