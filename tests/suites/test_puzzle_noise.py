"""The puzzle reader: real files, and noise made of them."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from puzzle_files import (
    BUNDLED,
    SHARED,
    four_rows,
    pzstd_like,
    write,
)

from searchless_rl.suites.puzzles import (
    read_puzzles,
    solver_positions,
)
from searchless_rl.suites.rows import (
    PuzzleFileError,
)


def test_bundled_file_is_clean() -> None:
    puzzles, report = read_puzzles(BUNDLED, max_reject_share=0.0)
    assert (len(puzzles), report.rows) == (6605, 6605)
    assert (min(p.rating for p in puzzles), max(p.rating for p in puzzles)) == (400, 2798)
    assert sum(p.rating >= 2400 for p in puzzles) == 940


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("data/lichess/uniform_5000_2022_9col.csv", 5000),
        ("data/lichess/sample_1000_2024_10col_oldply.csv", 1000),
        ("data/mates/mateIn5_deeper_19.csv", 19),
        ("data/history/puzzles_ruoss_format_119.csv", 119),
    ],
)
def test_real_files_of_several_years_are_clean(name: str, rows: int) -> None:
    path = SHARED / name
    if not path.is_file():
        pytest.skip(f"outside data absent: {path} (set SEARCHLESS_SHARED)")
    puzzles, report = read_puzzles(path, max_reject_share=0.0)
    assert (len(puzzles), report.rows) == (rows, rows)


def mutate(text: bytes, rng: random.Random) -> bytes:
    data = bytearray(text)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            data[start : start + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            del data[start : start + rng.randint(1, 12)]
        elif kind == 2:
            data[start:start] = rng.choice(
                [b",", b" ", b"\n", b'"', b"\r", b"\x00", b"\xc3", b"9", b"/", b"q"]
            )
        elif kind == 3:
            other = rng.randrange(len(data) + 1)
            data[start:start] = data[other : other + rng.randint(1, 30)]
        else:
            data[start : start + 4] = rng.choice([b"0000", b"e1g1", b"KQkq", b" - -", "é٣²".encode()])
    return bytes(data)


@pytest.mark.parametrize("seed", range(4))
def test_noise_never_raises_anything_undocumented(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    lines = BUNDLED.read_bytes().splitlines()
    noisy = [mutate(rng.choice(lines[1:]), rng) for _ in range(1500)]
    path = write(tmp_path / "p.csv", [lines[0], *noisy])
    puzzles, report = read_puzzles(path, max_reject_share=1.0)
    assert report.accepted == len(puzzles) > 20
    assert report.rejected_total > 500
    assert len(report.rejected) >= 8
    for puzzle in puzzles:
        assert sum(1 for _ in solver_positions(puzzle)) == puzzle.solver_move_count


def test_noise_in_whole_files_never_raises_anything_undocumented(tmp_path: Path) -> None:
    rng = random.Random(5)
    text = b"".join(four_rows())
    containers = [text, gzip.compress(text), pzstd_like(four_rows(), write_checksum=True)]
    outcomes = set()
    for _ in range(400):
        path = tmp_path / "p"
        path.write_bytes(mutate(rng.choice(containers), rng))
        try:
            read_puzzles(path, max_reject_share=1.0)
            outcomes.add("read")
        except PuzzleFileError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}
