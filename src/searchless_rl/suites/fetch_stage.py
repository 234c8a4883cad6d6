"""The stage `fetch`, and what else is downloaded by name."""

from __future__ import annotations

from pathlib import Path

from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.suites.download import FetchError, fetch, resolve_base
from searchless_rl.suites.histories import fetch_histories
from searchless_rl.suites.sources import remote_file


def fetch_named(name: str, data: Path) -> Path:
    """Download a registered file into `data`/downloads, once; the path it has there.

    Raises:
        ValueError: an unknown name (the known ones are listed).
        FetchError: no source gave the pinned file (every failure is listed).
    """
    entry = remote_file(name)
    return fetch(entry, data / "downloads" / entry.file_name)


def fetch_game_moves(source: str, data: Path) -> Path:
    """Get the games behind the puzzles of a file in bulk; the CSV that `suites.game_moves` may name.

    Raises:
        FetchError: the server refused or failed; the same call continues.
    """
    puzzles = Path(source).expanduser()
    out = data / "downloads" / f"{puzzles.name.split('.')[0]}_game_moves.csv"
    fetch_histories(puzzles, out)
    return out


def fetch_base(base: str, data: Path) -> None:
    """Put the base network at `data`/fetched/base.pb.gz, and beside it what it is (base.json).

    Args:
        base: the name of a registered network, or a path to an Lc0 .pb.gz.
        data: the data folder; downloads are kept in `data`/downloads.

    Raises:
        FetchError: no such name or file, no source gave it, or the network is not supported; nothing is
            put in place then.
        NetworkFileError: the file is no Lc0 network.
    """
    # With torch, which nothing else here needs.
    from searchless_rl.lc0 import describe, load_network, save_network
    from searchless_rl.lc0.onnx_graph import is_onnx

    source = resolve_base(base, data)
    unsupported = describe(source)["unsupported"]
    if unsupported is not None:
        raise FetchError(f"base {base!r} ({source}) is not a network that can be trained: {unsupported}")
    target = data / "fetched" / "base.pb.gz"
    if is_onnx(source):
        save_network(load_network(source), target)
    else:
        write_atomically(target, source.read_bytes())
    manifest = {"base": base, "bytes": target.stat().st_size, "sha256": sha256_of(target)}
    write_json(target.with_name("base.json"), manifest)
