"""Training games of the real lc0: version 6 records, as `lc0 selfplay --training=true` writes them.

A file is one game: records of 8,356 bytes, one a position, in one gzip stream (lc0 `trainingdata_v6.h`).
"""

from __future__ import annotations

import zlib
from pathlib import Path

import numpy as np

from searchless_rl.board import POLICY_SIZE, GameBatch
from searchless_rl.pretrain.records import LabelledGame, ShardError

RECORD = np.dtype(
    [
        ("version", "<u4"),
        ("input_format", "<u4"),
        ("probabilities", "<f4", (POLICY_SIZE,)),
        ("planes", "<u8", (104,)),
        ("castling", "u1", (4,)),
        ("side_to_move", "u1"),
        ("rule50", "u1"),
        ("invariance", "u1"),
        ("dummy", "u1"),
        ("root_q", "<f4"),
        ("best_q", "<f4"),
        ("root_d", "<f4"),
        ("best_d", "<f4"),
        ("root_m", "<f4"),
        ("best_m", "<f4"),
        ("plies_left", "<f4"),
        ("result_q", "<f4"),
        ("result_d", "<f4"),
        ("played", "<f4", (3,)),
        ("orig", "<f4", (3,)),
        ("visits", "<u4"),
        ("played_idx", "<u2"),
        ("best_idx", "<u2"),
        ("policy_kld", "<f4"),
        ("q_st", "<f4"),
    ]
)
"""One record; names are lc0's."""
_MAX_RECORDS = 2000
_CLASSICAL = 1


def read_records(path: Path) -> np.ndarray:
    """The records of a file, of dtype `RECORD`.

    Raises:
        ShardError: damaged, not version 6, another input format, or longer than a game can be.
    """
    limit = _MAX_RECORDS * RECORD.itemsize
    try:
        stream = zlib.decompressobj(wbits=31)
        content = stream.decompress(path.read_bytes(), limit + 1)
    except (OSError, zlib.error) as error:
        raise ShardError(f"{path}: not readable as a gzip file ({error})") from error
    if len(content) > limit:
        raise ShardError(f"{path}: more than {_MAX_RECORDS} records; a file is one game")
    if not stream.eof or not content or len(content) % RECORD.itemsize:
        raise ShardError(
            f"{path}: {len(content)} bytes are not a whole number of records of {RECORD.itemsize}"
        )
    records = np.frombuffer(content, RECORD)
    if (records["version"] != 6).any():
        found = ", ".join(map(str, np.unique(records["version"])))
        raise ShardError(f"{path}: records of version {found}; version 6 is read")
    if (records["input_format"] != _CLASSICAL).any():
        found = ", ".join(map(str, np.unique(records["input_format"])))
        raise ShardError(f"{path}: input format {found}; format 1 (classical) is read")
    return records


def read_game(path: Path) -> LabelledGame:
    """The game of a file, its targets the fractions of the visits.

    Raises:
        ShardError: see `read_records`; or the game does not begin at the standard position, a move is not
            legal there, or the planes are not those of its positions.
    """
    records = read_records(path)
    games = GameBatch([None])
    moves, weights, counts = [], [], []
    for ply, record in enumerate(records):
        if not np.array_equal(games.planes()[0, :104], planes_of(record)):
            raise ShardError(f"{path}: record {ply} is not the position that the moves before it lead to")
        fractions = record["probabilities"]
        visited = np.flatnonzero(fractions > 0)
        moves.append(visited)
        weights.append(fractions[visited])
        counts.append(len(visited))
        try:
            games.step(np.array([0]), np.array([record["played_idx"]], np.int64))
        except (ValueError, LookupError) as error:
            raise ShardError(f"{path}: record {ply}: {error}") from error
    last = records[-1]
    white = 1 if len(records) % 2 else -1  # who made the last move
    return LabelledGame(
        None,
        games.moves[0],
        int(np.sign(last["result_q"])) * white,
        np.arange(len(records), dtype=np.uint16),
        np.array(counts, np.uint8),
        np.concatenate(moves).astype(np.uint16),
        np.concatenate(weights).astype(np.float32),
        records["root_q"].astype(np.float32),
    )


def planes_of(record: np.ndarray) -> np.ndarray:
    """float32 [104, 8, 8] history planes of a record; the files of a rank are stored from h to a."""
    octets = record["planes"].astype("<u8").view(np.uint8).reshape(104, 8)
    return np.unpackbits(octets, axis=1).reshape(104, 8, 8).astype(np.float32)
