"""Shards hold what was written, and nothing else is taken for one."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from searchless_rl.pretrain.records import (
    LabelledGame,
    ShardError,
    read_made,
    read_shard,
    shard_path,
    shards,
    write_shard,
)

MADE = {"kind": "visits", "simulations": 100, "network_sha256": "ab" * 32}


def game(seed, fen=None):
    generator = np.random.default_rng(seed)
    plies = np.arange(3, 3 + 2 * seed, 2, dtype=np.uint16)
    counts = generator.integers(1, 6, len(plies)).astype(np.uint8)
    total = int(counts.sum())
    return LabelledGame(
        fen,
        tuple(generator.integers(0, 1858, 12).tolist()),
        seed % 3 - 1,
        plies,
        counts,
        generator.integers(0, 1858, total).astype(np.uint16),
        generator.integers(1, 90, total).astype(np.float32),
        generator.uniform(-1, 1, len(plies)).astype(np.float32),
    )


def same(one, other):
    for name, value in vars(one).items():
        found = getattr(other, name)
        assert (value == found).all() if isinstance(value, np.ndarray) else value == found


@pytest.fixture
def shard(tmp_path):
    path = shard_path(tmp_path, 3)
    write_shard(path, [game(1), game(0), game(4, "8/8/8/8/8/8/8/K1k5 w - - 0 1")], MADE)
    return path


def test_games_come_back_as_they_were_also_one_without_targets(shard):
    found = read_shard(shard, MADE)
    for one, other in zip([game(1), game(0), game(4, "8/8/8/8/8/8/8/K1k5 w - - 0 1")], found, strict=True):
        same(one, other)
        assert other.target_weights.dtype == np.float32
    assert shards(shard.parent) == [shard]
    assert read_made(shard) == MADE


def test_equal_games_are_equal_files(shard, tmp_path):
    again = tmp_path / "again.parquet"
    write_shard(again, read_shard(shard), MADE)
    assert again.read_bytes() == shard.read_bytes()


def test_what_was_made_otherwise_names_every_difference(shard):
    with pytest.raises(ShardError, match=r"simulations: 100 there, 800 wanted.* delete its folder"):
        read_shard(shard, MADE | {"simulations": 800})


@pytest.mark.parametrize("part", [0.0, 0.3, 0.9, 0.999])
def test_a_torn_shard_is_named(shard, part):
    content = shard.read_bytes()
    shard.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(ShardError, match=rf"{shard.name}: not a whole shard .* delete it"):
        read_shard(shard)


def test_no_flipped_bit_gives_other_games(shard):
    """Refused, or, where nothing reads the byte, the same games."""
    content, before = shard.read_bytes(), read_shard(shard)
    generator = np.random.default_rng(0)
    refused = 0
    for place in generator.integers(4, len(content), 300):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(generator.integers(8))
        shard.write_bytes(damaged)
        try:
            found = read_shard(shard, MADE)
        except ShardError:
            refused += 1
            continue
        for one, other in zip(before, found, strict=True):
            same(one, other)
    assert refused > 150


def test_another_version_and_another_file_are_refused(shard, tmp_path):
    table = pq.read_table(shard)
    key = b"searchless_rl.pretrain"
    newer = {key: json.dumps({"version": 2, "made": MADE, "sha256": ""})}
    pq.write_table(table.replace_schema_metadata(newer), shard)
    with pytest.raises(ShardError, match="version 2 of the format, this program reads 1"):
        read_shard(shard)
    pq.write_table(table.replace_schema_metadata({}), shard)
    with pytest.raises(ShardError, match="not a whole shard"):
        read_shard(shard)


@pytest.mark.parametrize(
    "change",
    [
        {"values": np.array([np.nan], np.float32)},
        {"target_weights": np.zeros(1, np.float32)},
        {"plies": np.array([200], np.uint16)},
        {"counts": np.array([0], np.uint8)},
        {"counts": np.array([9], np.uint8)},
    ],
)
def test_a_game_that_is_none_is_refused(tmp_path, change):
    fields = {"counts": np.ones(1, np.uint8), "target_moves": np.ones(1, np.uint16)}
    fields |= {"target_weights": np.ones(1, np.float32)}
    path = shard_path(tmp_path, 0)
    write_shard(path, [replace(game(1), **(fields | change))], MADE)
    with pytest.raises(ShardError, match="its games are not those that were written"):
        read_shard(path)
