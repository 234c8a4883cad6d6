"""Labelled games on disk: shards of whole games, each a Parquet file.

A game is its moves, so that every position has its true history. At some of its positions a search left a
target: weights over moves (visit counts, or probabilities) and a value. A shard says what made it; one that
was made otherwise, is of another version or is damaged is refused by name.
"""

from __future__ import annotations

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
    metadata = {_KEY: json.dumps({"version": VERSION, "made": made}, sort_keys=True)}
    table = pa.table(columns, schema=_SCHEMA.with_metadata(metadata))
    with atomic_writer(path) as stream:
        pq.write_table(table, stream, compression="zstd", write_page_checksum=True)


def read_made(path: Path) -> dict[str, Any]:
    """What made a shard.

    Raises:
        ShardError: the file is damaged, no shard, or one of another version.
    """
    try:
        metadata = pq.read_schema(path).metadata or {}
        header = json.loads(metadata[_KEY])
        version, made = header["version"], header["made"]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ShardError(_damaged(path, error)) from error
    if version != VERSION:
        raise ShardError(f"{path}: version {version} of the format, this program reads {VERSION}; delete it")
    return dict(made)


def read_shard(path: Path, made: Mapping[str, Any] | None = None) -> list[LabelledGame]:
    """The games of a shard, its checksums verified.

    Args:
        path: of the file.
        made: what must have made it; None accepts anything.

    Raises:
        ShardError: the file is damaged, of another version, or made otherwise (each difference named).
    """
    found = read_made(path)
    if made is not None and found != dict(made):
        keys = sorted(key for key in {*found, *made} if found.get(key) != made.get(key))
        told = "; ".join(f"{key}: {found.get(key)!r} there, {made.get(key)!r} wanted" for key in keys)
        raise ShardError(f"{path} was made otherwise ({told}); delete its folder to make it again")
    try:
        table = pq.read_table(path, schema=_SCHEMA, page_checksum_verification=True, memory_map=False)
        columns = {name: table.column(name).to_pylist() for name in ("fen", "moves", "result")}
        arrays = {
            name: [value.values.to_numpy() for value in table.column(name)] for name in _SCHEMA.names[3:]
        }
    except (OSError, pa.ArrowException, ValueError, KeyError, AttributeError) as error:
        raise ShardError(_damaged(path, error)) from error
    games = []
    for row in range(table.num_rows):
        values = {name: column[row] for name, column in (columns | arrays).items()}
        game = LabelledGame(**values | {"moves": tuple(values["moves"])})
        _check(game, path, row)
        games.append(game)
    return games


def _check(game: LabelledGame, path: Path, row: int) -> None:
    positions, named = len(game.plies), int(game.counts.sum())
    holds = (
        len(game.counts) == len(game.values) == positions
        and len(game.target_moves) == len(game.target_weights) == named
        and (positions == 0 or (int(game.plies.max()) <= len(game.moves) and int(game.counts.min()) > 0))
        and bool(np.isfinite(game.values).all())
        and bool((np.isfinite(game.target_weights) & (game.target_weights > 0)).all())
    )
    if not holds:
        raise ShardError(_damaged(path, f"game {row} is not one game with its targets"))


def _damaged(path: Path, reason: object) -> str:
    return f"{path}: not a whole shard ({reason}); delete it, and the same command makes it again"
