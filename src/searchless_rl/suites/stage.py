"""The stages `fetch` and `suites`."""

from __future__ import annotations

from pathlib import Path

from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.params import SuiteParams
from searchless_rl.suites.build import build_suites
from searchless_rl.suites.download import fetch, resolve_base
from searchless_rl.suites.histories import fetch_histories
from searchless_rl.suites.sources import remote_file
from searchless_rl.suites.split import SuiteSizes


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
    puzzles = Path(source)
    out = data / "downloads" / f"{puzzles.name.split('.')[0]}_game_moves.csv"
    fetch_histories(puzzles, out)
    return out


def fetch_base(base: str, data: Path) -> None:
    """Put the base network at `data`/base/base.pb.gz, and beside it what it is (base.json).

    Args:
        base: the name of a registered network, or a path to an Lc0 .pb.gz.
        data: the data folder; downloads are kept in `data`/downloads.

    Raises:
        FetchError: no such name or file, or no source gave it.
    """
    source = resolve_base(base, data / "downloads")
    target = data / "base" / "base.pb.gz"
    write_atomically(target, source.read_bytes())
    manifest = {"base": base, "bytes": target.stat().st_size, "sha256": sha256_of(target)}
    write_json(data / "base" / "base.json", manifest)


def make_suites(params: SuiteParams, out: Path) -> None:
    """Build every suite and report.json into `out`."""
    sizes = SuiteSizes(
        selection=params.selection,
        main=params.main,
        hard=params.hard,
        mate_cap=params.mate_cap,
        control_pool=params.control_pool,
    )
    build_suites(
        Path(params.source),
        out,
        sizes,
        params.seed,
        winning=None if params.winning is None else Path(params.winning),
        any_forced_mate=params.any_forced_mate,
        game_moves=None if params.game_moves is None else Path(params.game_moves),
    )
