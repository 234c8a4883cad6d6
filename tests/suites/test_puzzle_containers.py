"""The puzzle reader: compressed, cut off and damaged files, and files of another kind."""

from __future__ import annotations

import gzip
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
import zstandard
from puzzle_files import (
    BUNDLED,
    HEADER,
    PUZZLE,
    four_rows,
    pzstd_like,
    row,
    skippable_frame,
)

from searchless_rl.suites.puzzles import (
    iter_puzzles,
    read_puzzles,
)
from searchless_rl.suites.rows import (
    PuzzleFileError,
    ReadReport,
)


@pytest.mark.parametrize("checksum", [False, True])
def test_zstandard_with_skippable_and_many_frames(tmp_path: Path, checksum: bool) -> None:
    path = tmp_path / "p.csv.zst"
    path.write_bytes(pzstd_like(four_rows(), write_checksum=checksum) + skippable_frame(b""))
    puzzles, report = read_puzzles(path)
    assert puzzles == list(islice(iter_puzzles(BUNDLED, ReadReport()), 4))
    assert report.rows == 4


def test_compression_is_told_by_content_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(gzip.compress(b"".join(four_rows())))
    assert len(read_puzzles(path)[0]) == 4


@pytest.mark.parametrize("cut", [1, 3, 5, 9, 40])
@pytest.mark.parametrize("checksum", [False, True])
def test_a_truncated_zstandard_file_is_an_error(tmp_path: Path, cut: int, checksum: bool) -> None:
    whole = pzstd_like(four_rows(), write_checksum=checksum)
    path = tmp_path / "p.csv.zst"
    path.write_bytes(whole[:-cut])
    with pytest.raises(PuzzleFileError, match=r"p\.csv\.zst: cannot be read .*Zstandard data ends inside"):
        read_puzzles(path)


def test_a_zstandard_file_cut_in_its_first_header_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "p.csv.zst"
    path.write_bytes(zstandard.compress(b"".join(four_rows()))[:5])
    with pytest.raises(PuzzleFileError, match="no complete header"):
        read_puzzles(path)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(gzip.compress(b"".join(four_rows()))[:-20], id="gzip cut"),
        pytest.param(gzip.compress(b"".join(four_rows()))[:40] + b"noise" * 40, id="gzip corrupt"),
        pytest.param(pzstd_like(four_rows()) + b"trailing noise", id="zstandard and noise"),
        pytest.param(zstandard.compress(b"".join(four_rows()))[:30] + b"noise" * 200, id="zstandard corrupt"),
    ],
)
def test_a_damaged_container_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "p.csv.x"
    path.write_bytes(content)
    with pytest.raises(PuzzleFileError, match=r"p\.csv\.x: cannot be read"):
        read_puzzles(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no puzzle rows"),
        (HEADER + "\n", "no puzzle rows"),
        (
            "<!DOCTYPE html>\n<html></html>\n",
            "neither a header with FEN and Moves nor a row of 9 to 11 columns",
        ),
        ("PuzzleId,FEN,Moves\n", "lacks Rating"),
        ("PuzzleId,FEN,Moves,Rating,FEN\n", "repeats FEN"),
        (row() + "\n", "neither a header"),
    ],
)
def test_a_file_of_the_wrong_kind_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(content)
    with pytest.raises(PuzzleFileError, match=message) as caught:
        read_puzzles(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_folder_are_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.csv", tmp_path):
        with pytest.raises(PuzzleFileError, match="cannot be read"):
            read_puzzles(path)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    line = row("AAAAA", themes="x" * 2_000, rating="x")
    text = "\n".join([HEADER, row(), *[line] * 10_000]).encode()
    path = tmp_path / "p.csv.zst"
    path.write_bytes(zstandard.compress(text))
    report = ReadReport()
    rows = iter_puzzles(path, report, max_reject_share=1.0)
    assert next(rows) == PUZZLE
    tracemalloc.start()
    try:
        assert list(rows) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert report.rejected == {"bad_rating": 10_000}
    assert peak < len(text) / 20
