"""Suite CSVs and the stage that builds them: round trip, validation, report, identical bytes, whole files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from searchless_rl.suites.build import build_suites
from searchless_rl.suites.files import SuiteItem, read_suite, write_suite
from searchless_rl.suites.puzzles import Puzzle, mate_depth, read_puzzles
from searchless_rl.suites.rows import PuzzleFileError
from searchless_rl.suites.split import SUITE_NAMES, SplitError, SuiteSizes
from searchless_rl.suites.winning import winning_sets

BUNDLED = Path(__file__).resolve().parents[2] / "data" / "lichess" / "torre_6605_2026.csv"
SMALL = SuiteSizes(selection=120, main=150, hard=40, control_pool=200)

TWO_MATES = Puzzle(
    "AAAAB",
    "7k/p5pp/8/8/8/8/5PPP/RR4K1 b - - 0 1",
    ("a7a6", "a1a6"),
    900,
    ("mate",),
    "https://lichess.org/787zsVup#2",
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One row in eight of the bundled file, and two bad rows."""
    lines = BUNDLED.read_text().splitlines()
    path = tmp_path_factory.mktemp("source") / "some.csv"
    path.write_text("\n".join([lines[0], *lines[1::8], "AAAAA,x,e2e4 e7e5,1,x,x", lines[1]]) + "\n")
    return path


@pytest.fixture(scope="module")
def built(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("suites") / "new" / "folder"
    return folder, build_suites(source, folder, SMALL, seed=7)


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_all_files_are_written_and_nothing_else(built: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = built
    assert set(digests(folder)) == {*(f"{name}.csv" for name in SUITE_NAMES), "report.json"}


def test_suites_read_back_as_split_with_their_winning_sets(
    built: tuple[Path, dict[str, Any]], source: Path
) -> None:
    folder, report = built
    puzzles = {puzzle.id: puzzle for puzzle in read_puzzles(source)[0]}
    seen = 0
    for name in SUITE_NAMES:
        items = read_suite(folder / f"{name}.csv")
        assert len(items) == report["suites"][name]["puzzles"]
        for item in items:
            assert item.puzzle == puzzles[item.puzzle.id]
        for item in items[::10]:
            groups = tuple((uci,) for uci in item.puzzle.moves[1::2])
            assert item.winning == (groups if name == "control" else winning_sets(item.puzzle))
        seen += len(items)
    unused = len(puzzles) - len(report["overlaps_dropped"]) - seen
    assert 0 < unused < 250  # neither scored nor in the pool: what mates and pool leave


def test_report(built: tuple[Path, dict[str, Any]], source: Path) -> None:
    folder, report = built
    assert json.loads((folder / "report.json").read_text()) == report
    assert report["source"] == {"name": "some.csv", "sha256": hashlib.sha256(source.read_bytes()).hexdigest()}
    assert report["rows"] == {
        "read": 828,
        "accepted": 826,
        "rejected": {"bad_game_url": 1, "duplicate_id": 1},
    }
    assert report["seed"] == 7
    assert report["sizes"]["main"] == 150
    main = report["suites"]["main"]
    ratings = sorted(item.puzzle.rating for item in read_suite(folder / "main.csv"))
    assert (main["rating"]["min"], main["rating"]["max"]) == (ratings[0], ratings[-1])
    assert main["rating"]["median"] == ratings[74]
    assert main["solver_positions"] == sum(len(item.winning) for item in read_suite(folder / "main.csv"))
    assert report["suites"]["hard"]["rated_hard"] == 40
    pool = [item.puzzle for item in read_suite(folder / "control.csv")]
    depths = [mate_depth(puzzle) for puzzle in pool]
    mates = {str(depth): depths.count(depth) for depth in range(1, 6)}
    assert report["control_pool"] == {
        "puzzles": len(pool),
        "positions": sum(puzzle.solver_move_count for puzzle in pool),
        "mean_rating": pytest.approx(sum(puzzle.rating for puzzle in pool) / len(pool), rel=1e-12),
        "mates": mates,
        "mate_share": sum(mates.values()) / len(pool),
    }
    assert 0.3 < report["control_pool"]["mate_share"] < 0.6


def test_a_rebuild_is_identical_byte_for_byte(
    built: tuple[Path, dict[str, Any]], source: Path, tmp_path: Path
) -> None:
    folder, _ = built
    again = tmp_path / "elsewhere"
    build_suites(source, again, SMALL, seed=7)
    assert digests(again) == digests(folder)


def test_row_order_of_the_source_does_not_matter(
    built: tuple[Path, dict[str, Any]], source: Path, tmp_path: Path
) -> None:
    folder, _ = built
    header, *rows = source.read_text().splitlines()
    path = tmp_path / "reversed.csv"
    path.write_text("\n".join([header, *reversed(rows)]) + "\n")
    build_suites(path, tmp_path / "out", SMALL, seed=7)
    ours, theirs = digests(folder), digests(tmp_path / "out")
    assert {name: ours[name] for name in ours if name != "report.json"} == {
        name: theirs[name] for name in theirs if name != "report.json"
    }


def test_an_impossible_split_writes_nothing(source: Path, tmp_path: Path) -> None:
    with pytest.raises(SplitError, match=r"some\.csv: suites\.hard: 999 puzzles are wanted.*suites\.source"):
        build_suites(source, tmp_path / "out", replace(SMALL, hard=999), seed=7)
    assert not (tmp_path / "out").exists()


# --------------------------------------------------------------------------------------- one suite file


def test_winning_column(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    item = SuiteItem(TWO_MATES, (("a1a6", "b1b8"),))
    write_suite(path, [item])
    header, line = path.read_text().splitlines()
    assert header == "PuzzleId,FEN,Moves,Rating,Themes,GameUrl,Winning"
    assert line.endswith(",a1a6|b1b8")
    assert read_suite(path) == [item]


def test_an_empty_suite_is_a_suite(tmp_path: Path) -> None:
    write_suite(tmp_path / "s.csv", [])
    assert read_suite(tmp_path / "s.csv") == []


@pytest.mark.parametrize(
    ("winning", "message"),
    [
        ("", "0 winning groups for 1 solver positions"),
        ("a1a6 b1b8", "2 winning groups for 1 solver positions"),
        ("b1b8", "'b1b8' must begin with the marked a1a6"),
        ("b1b8|a1a6", "must begin with the marked a1a6"),
        ("a1a6|a1a6", "repeats a move or holds an illegal one"),
        ("a1a6|b1b9", "repeats a move or holds an illegal one"),
        ("a1a6|b1a1", "repeats a move or holds an illegal one"),
        ("a1a6|", "repeats a move or holds an illegal one"),
    ],
)
def test_bad_winning_columns_are_refused(tmp_path: Path, winning: str, message: str) -> None:
    path = tmp_path / "s.csv"
    write_suite(path, [SuiteItem(TWO_MATES, (("a1a6", "b1b8"),))])
    path.write_text(path.read_text().replace("a1a6|b1b8", winning))
    with pytest.raises(PuzzleFileError) as caught:
        read_suite(path)
    for part in (str(path), "1 of 1 rows", "bad_winning", "line 2: AAAAB", message):
        assert part in str(caught.value)


def test_bad_puzzles_and_repeated_ids_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    write_suite(path, [SuiteItem(TWO_MATES, (("a1a6", "b1b8"),))] * 2)
    with pytest.raises(PuzzleFileError, match=r"duplicate_id: 1 \(line 3"):
        read_suite(path)
    path.write_text(path.read_text().replace("a7a6 ", "a7a5 ", 1))
    with pytest.raises(PuzzleFileError, match="1 of 2 rows"):
        read_suite(path)


def test_a_plain_puzzle_file_is_no_suite() -> None:
    with pytest.raises(PuzzleFileError, match="no column Winning"):
        read_suite(BUNDLED)


@pytest.mark.parametrize("theme", ["a,b", 'a"b', "a\nb"])
def test_fields_that_would_break_the_format_are_refused(tmp_path: Path, theme: str) -> None:
    path = tmp_path / "s.csv"
    with pytest.raises(ValueError, match="AAAAB: Themes"):
        write_suite(path, [SuiteItem(replace(TWO_MATES, themes=(theme,)), (("a1a6",),))])
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.csv"
    item = SuiteItem(TWO_MATES, (("a1a6", "b1b8"),))
    write_suite(path, [item])

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_suite(path, [])
    assert read_suite(path) == [item]
    assert list(tmp_path.iterdir()) == [path]
