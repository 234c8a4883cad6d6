"""Labelled games on disk: shards of whole games, each a Parquet file.

A game is its moves, so that every position has its true history. At some of its positions a search left a
target: weights over moves (visit counts, or probabilities) and a value. A shard says what made it; one that
was made otherwise, is of another version or is damaged is refused by name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from searchless_rl.files import atomic_writer

VERSION = 1
_KEY = b"searchless_rl.pretrain"
_SCHEMA = pa.schema(
    [
        ("fen", pa.string()),
        ("moves", pa.list_(pa.uint16())),
        ("result", pa.int8()),
        ("plies", pa.list_(pa.uint16())),
        ("counts", pa.list_(pa.uint8())),
        ("target_moves", pa.list_(pa.uint16())),
        ("target_weights", pa.list_(pa.float32())),
        ("values", pa.list_(pa.float32())),
    ]
)
_SUFFIX = ".parquet"


class ShardError(ValueError):
    """A shard that cannot be used; the message names the file and says what to do."""


@dataclass(frozen=True)
class LabelledGame:
    """A game and the targets at P of its positions.

    Attributes:
        fen: the first position, None for the standard one.
        moves: policy indices.
        result: 1 White won, 0 draw, -1 Black won.
        plies: uint16 [P], after how many of the moves each target's position stands, ascending.
        counts: uint8 [P], how many moves each target names.
        target_moves: uint16 [M] policy indices, target after target.
        target_weights: float32 [M], > 0: visit counts or probabilities, not normalised.
        values: float32 [P] of the search, -1 to 1, for the side to move.
    """

    fen: str | None
    moves: tuple[int, ...]
    result: int
    plies: np.ndarray
    counts: np.ndarray
    target_moves: np.ndarray
    target_weights: np.ndarray
    values: np.ndarray


def shard_path(folder: Path, number: int) -> Path:
    """Where shard 0, 1, 2, ... is."""
    return folder / f"shard-{number:05d}{_SUFFIX}"


def shards(folder: Path) -> list[Path]:
    """The shards of a folder, in order."""
    return sorted(folder.glob(f"shard-*{_SUFFIX}"))


def write_shard(path: Path, games: Sequence[LabelledGame], made: Mapping[str, Any]) -> None:
    """Write games as one shard, whole or not at all.

    Args:
        path: of the file.
        games: in the order they are kept.
        made: what made them, as JSON values: the same for all shards of one piece of work.
    """
    columns = {
        name: [getattr(game, name) for game in games] if name != "moves" else [[*g.moves] for g in games]
        for name in _SCHEMA.names
    }
    header = {"version": VERSION, "made": made, "sha256": _digest(games)}
    metadata = {_KEY: json.dumps(header, sort_keys=True)}
    table = pa.table(columns, schema=_SCHEMA.with_metadata(metadata))
    with atomic_writer(path) as stream:
        pq.write_table(table, stream, compression="zstd")


def _digest(games: Sequence[LabelledGame]) -> str:
    """SHA-256 of the games themselves: whatever bit of a file is wrong, it shows here."""
    found = hashlib.sha256()
    for game in games:
        found.update(repr((game.fen, game.moves, int(game.result))).encode())
        for part in (game.plies, game.counts, game.target_moves, game.target_weights, game.values):
            found.update(part.tobytes())
    return found.hexdigest()


def read_made(path: Path) -> dict[str, Any]:
    """What made a shard.

    Raises:
        ShardError: the file is damaged, no shard, or one of another version.
    """
    return dict(_header(path)["made"])


def _header(path: Path) -> dict[str, Any]:
    try:
        metadata = pq.read_schema(path).metadata or {}
        header: dict[str, Any] = json.loads(metadata[_KEY])
        version = header["version"]
        dict(header["made"]), str(header["sha256"])
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise ShardError(_damaged(path, error)) from error
    if version != VERSION:
        raise ShardError(f"{path}: version {version} of the format, this program reads {VERSION}; delete it")
    return header


def read_shard(path: Path, made: Mapping[str, Any] | None = None) -> list[LabelledGame]:
    """The games of a shard, held against their hash.

    Args:
        path: of the file.
        made: what must have made it; None accepts anything.

    Raises:
        ShardError: the file is damaged, of another version, or made otherwise (each difference named).
    """
    header = _header(path)
    found = dict(header["made"])
    if made is not None and found != dict(made):
        keys = sorted(key for key in {*found, *made} if found.get(key) != made.get(key))
        told = "; ".join(f"{key}: {found.get(key)!r} there, {made.get(key)!r} wanted" for key in keys)
        raise ShardError(f"{path} was made otherwise ({told}); delete its folder to make it again")
    try:
        games = _games(pq.read_table(path, schema=_SCHEMA, memory_map=False))
        is_whole = all(map(_holds, games)) and _digest(games) == header["sha256"]
    except (OSError, pa.ArrowException, ValueError, TypeError, LookupError, AttributeError) as error:
        raise ShardError(_damaged(path, error)) from error
    if not is_whole:
        raise ShardError(_damaged(path, "its games are not those that were written"))
    return games


def _games(table: pa.Table) -> list[LabelledGame]:
    columns = {name: table.column(name).to_pylist() for name in ("fen", "moves", "result")}
    lists = _SCHEMA.names[3:]
    columns |= {name: [value.values.to_numpy() for value in table.column(name)] for name in lists}
    rows = ({name: column[row] for name, column in columns.items()} for row in range(table.num_rows))
    return [LabelledGame(**row | {"moves": tuple(row["moves"])}) for row in rows]


def _holds(game: LabelledGame) -> bool:
    """Whether a game is one with its targets."""
    positions, named = len(game.plies), int(game.counts.sum())
    return (
        len(game.counts) == len(game.values) == positions
        and len(game.target_moves) == len(game.target_weights) == named
        and (positions == 0 or (int(game.plies.max()) <= len(game.moves) and int(game.counts.min()) > 0))
        and bool(np.isfinite(game.values).all())
        and bool((np.isfinite(game.target_weights) & (game.target_weights > 0)).all())
    )


def _damaged(path: Path, reason: object) -> str:
    return f"{path}: not a whole shard ({reason}); delete it, and the same command makes it again"
