"""The puzzle reader: every header variant, every container, every reason to refuse a row, and noise."""

from __future__ import annotations

import gzip
import os
import random
import re
import tracemalloc
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
import zstandard

from searchless_rl.board import encode_game
from searchless_rl.suites.puzzles import (
    Puzzle,
    _SeenIds,
    iter_puzzles,
    made_id,
    position_keys,
    read_puzzles,
    solver_positions,
)
from searchless_rl.suites.rows import (
    EXAMPLES_PER_REASON,
    MAX_LINE_BYTES,
    PuzzleFileError,
    ReadReport,
    RejectReason,
)

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "data" / "lichess" / "torre_6605_2026.csv"
SHARED = Path(os.environ.get("SEARCHLESS_SHARED", ROOT.parent / "shared"))

HEADER = "PuzzleId,FEN,Moves,Rating,Themes,GameUrl"
FEN = "r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24"
MOVES = "f2g3 e6e7 b2b1 b3c1 b1c1 h6c1"
URL = "https://lichess.org/787zsVup/black#48"
NINE = f"00008,{FEN},{MOVES},1811,76,95,18768,hangingPiece long,{URL}"
PUZZLE = Puzzle("00008", FEN, tuple(MOVES.split()), 1811, ("hangingPiece", "long"), URL)


def row(puzzle_id: str = "00008", **changes: str) -> str:
    fields = {"fen": FEN, "moves": MOVES, "rating": "1811", "themes": "hangingPiece long", "url": URL}
    fields |= changes
    return ",".join([puzzle_id, *fields.values()])


def write(path: Path, lines: Sequence[str | bytes], end: bytes = b"\n") -> Path:
    path.write_bytes(b"".join((line.encode() if isinstance(line, str) else line) + end for line in lines))
    return path


# ---------------------------------------------------------------------------------------------- layouts


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([NINE], id="2020: nine columns, no header"),
        pytest.param([NINE + ",Queens_Pawn,Queens_Pawn_Other"], id="2022: eleven columns, no header"),
        pytest.param([NINE + ",Queens_Pawn"], id="2023: ten columns, no header"),
        pytest.param(
            [
                "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags",
                NINE + ",",
            ],
            id="2023: ten columns",
        ),
        pytest.param(
            [
                "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags,DailyDate",
                NINE + ",Queens_Pawn,2026-08-02",
            ],
            id="2026: eleven columns",
        ),
        pytest.param([HEADER, row()], id="bundled: six columns"),
        pytest.param(
            ["GameUrl,Rating,PuzzleId,Themes,Moves,FEN", f"{URL},1811,00008,hangingPiece long,{MOVES},{FEN}"],
            id="any order",
        ),
        pytest.param(["\ufeff" + HEADER, row()], id="byte order mark"),
        pytest.param([HEADER, row(), "", ""], id="blank lines at the end"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_every_layout_gives_the_same_puzzle(tmp_path: Path, lines: list[str], end: bytes) -> None:
    puzzles, report = read_puzzles(write(tmp_path / "p.csv", lines, end), max_reject_share=0.0)
    assert puzzles == [PUZZLE]
    assert (report.rows, report.accepted, report.rejected_total) == (1, 1, 0)


def test_columns_of_the_chessbench_puzzles_suffice(tmp_path: Path) -> None:
    lines = ["PuzzleId,Rating,PGN,Solution,FEN,Moves", f"00008,1811,1. e4 e5,Bxg3 Rxe7,{FEN},{MOVES}"]
    puzzles, _ = read_puzzles(write(tmp_path / "p.csv", lines), max_reject_share=0.0)
    assert puzzles == [Puzzle("00008", FEN, PUZZLE.moves, 1811, (), "")]


def test_last_line_may_lack_its_end(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"{HEADER}\n{row()}")
    assert read_puzzles(path)[0] == [PUZZLE]


def test_castling_is_written_as_the_king_moves(tmp_path: Path) -> None:
    fen = "4k3/8/8/8/8/8/7r/R3K3 b Q - 0 1"
    lines = [HEADER, row("castl", fen=fen, moves="h2h8 e1c1"), row("rook1", fen=fen, moves="h2h8 e1a1")]
    puzzles, report = read_puzzles(write(tmp_path / "p.csv", lines), max_reject_share=0.5)
    assert [puzzle.id for puzzle in puzzles] == ["castl"]
    assert report.rejected == {"illegal_move": 1}


def test_solver_positions_are_those_after_the_opponents_moves() -> None:
    seen = [(board.fen(), marked.uci()) for board, marked in solver_positions(PUZZLE)]
    assert [marked for _, marked in seen] == ["e6e7", "b3c1", "h6c1"]
    assert seen[0][0] == "r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2b1/PqP3PP/7K w - - 0 25"
    assert PUZZLE.solver_move_count == 3


def test_a_file_without_ids_gets_ids_that_follow_from_its_rows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = "6k1/5ppp/8/8/8/8/5PPP/R5K1 b - - 0 1,h7h6 a1a8"
    lines = ["FEN,Moves,Rating", f"{FEN},{MOVES},1811", f"{other},900", f"{FEN},{MOVES},1811"]
    path = write(tmp_path / "p.csv", lines)
    puzzles, report = read_puzzles(path, max_reject_share=0.5)
    assert [puzzle.moves for puzzle in puzzles] == [PUZZLE.moves, ("h7h6", "a1a8")]
    assert report.rejected == {"duplicate_id": 1}
    assert caplog.text.count(f"{path} has no column PuzzleId") == 1
    ids = [puzzle.id for puzzle in puzzles]
    assert ids == [made_id(FEN, MOVES), made_id(*other.split(","))]
    again = read_puzzles(write(tmp_path / "q.csv", [lines[0], lines[2], lines[1]]))[0]
    assert [puzzle.id for puzzle in again] == ids[::-1]
    assert (
        read_puzzles(write(tmp_path / "r.csv", [HEADER, row(ids[0])]), max_reject_share=0.0)[0][0].id
        == ids[0]
    )


def test_made_ids_of_many_rows_are_distinct() -> None:
    assert len({made_id(str(number), "e2e4 e7e5") for number in range(20_000)}) == 20_000


@pytest.mark.parametrize("length", [5, 10])
def test_a_repeated_id_is_noticed_in_a_long_file(length: int) -> None:
    """Also where the first was met long before."""
    seen = _SeenIds()
    ids = [made_id(str(number), "")[:length] for number in range(100_000)]
    distinct = list(dict.fromkeys(ids))
    assert all(seen.add(puzzle_id) for puzzle_id in distinct)
    assert not any(seen.add(puzzle_id) for puzzle_id in distinct[::997])


def test_positions_no_game_can_start_from_are_refused_with_line_and_id(tmp_path: Path) -> None:
    """What `suites` accepts, every later stage can play; where the two disagree, the row is refused."""
    rook = "8/8/8/8/8/5k2/8/4R2K w - - {} {}"
    counters = [("103", "152"), ("150", "200"), ("151", "200"), ("9999", "1"), ("0", "65535"), ("0", "70000")]
    lines = [
        row(f"rook{number}", fen=rook.format(*pair), moves="e1f1 f3g3")
        for number, pair in enumerate(counters)
    ]
    puzzles, report = read_puzzles(write(tmp_path / "p.csv", [HEADER, *lines]), max_reject_share=1.0)
    for puzzle in puzzles:
        encode_game(puzzle.fen, list(puzzle.moves))
        assert position_keys(puzzle) == ("8/8/8/8/8/5k2/8/5R1K b - -",)
    assert set(report.rejected) <= {"bad_fen"}
    assert report.rejected_total + len(puzzles) == len(counters)
    assert "rook4" in [puzzle.id for puzzle in puzzles]
    for rejected in report.examples.get(RejectReason.BAD_FEN, []):
        assert re.match(rf"rook{rejected.line - 2}: no game can start from '8/8", rejected.detail)


# ------------------------------------------------------------------------------------------- containers


def skippable_frame(content: bytes) -> bytes:
    return b"\x50\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


def pzstd_like(blocks: Sequence[bytes], write_checksum: bool = False) -> bytes:
    """Several frames, each behind a skippable one, as the monthly export has them."""
    compressor = zstandard.ZstdCompressor(write_checksum=write_checksum)
    return b"".join(skippable_frame(b"size") + compressor.compress(block) for block in blocks)


def four_rows() -> list[bytes]:
    lines = BUNDLED.read_bytes().splitlines(keepends=True)
    return [lines[0] + lines[1], lines[2][:40], lines[2][40:] + lines[3], lines[4]]


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


# ------------------------------------------------------------------------------------------ rejected rows


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        ("bad_encoding", row().encode().replace(b"long", b"l\xf6ng")),
        ("bad_encoding", b"\xff\xfe\x00\x01"),
        ("line_too_long", row(themes="x" * MAX_LINE_BYTES)),
        ("line_too_long", row(themes="x" * (3 * MAX_LINE_BYTES))),
        ("quoted_field", row(themes='"hangingPiece,long"')),
        ("quoted_field", row(themes='"hangingPiece"')),
        ("missing_field", "00008"),
        ("missing_field", row().rsplit(",", 1)[0]),
        ("missing_field", row("")),
        ("missing_field", row(fen="")),
        ("missing_field", row(rating=" ")),
        ("missing_field", row(url="")),
        ("extra_field", row() + ",more"),
        ("extra_field", row(themes="hangingPiece,long")),
        ("bad_id", row("0008")),
        ("bad_id", row("000080")),
        ("bad_id", row("0000_")),
        ("bad_id", row(" 0008")),
        ("bad_id", row("0000é")),
        ("bad_rating", row(rating="1811.0")),
        ("bad_rating", row(rating="-1811")),
        ("bad_rating", row(rating="0")),
        ("bad_rating", row(rating="4001")),
        ("bad_rating", row(rating="١٨١١")),
        ("bad_rating", row(rating="high")),
        ("bad_game_url", row(url="https://lichess.org/g/black#82")),
        ("bad_game_url", row(url="787zsVup")),
        ("bad_game_url", row(url="https://lichess.org/787zsVupXX#48")),
        ("bad_fen", row(fen="nonsense")),
        ("bad_fen", row(fen=FEN.replace("7K", "8"))),
        ("bad_fen", row(fen=FEN.replace("7K", "6K"))),
        ("bad_fen", row(fen=FEN.rsplit(" ", 2)[0])),
        ("bad_fen", row(fen=FEN.replace("- - 0", "KQkq - 0"))),
        ("bad_fen", row(fen=FEN.replace(" 24", " 0"))),
        ("bad_fen", row(fen=FEN.replace(" 24", " 2_4"))),
        ("bad_fen", row(fen=FEN + " 1")),
        ("bad_fen", row(fen="4k3/8/8/8/8/8/8/4K2R w H - 0 1")),
        ("empty_moves", row(moves="")),
        ("empty_moves", row(moves="  ")),
        ("odd_move_count", row(moves="f2g3")),
        ("odd_move_count", row(moves=MOVES + " h8g7")),
        ("illegal_move", row(moves="f2g3 e6e8")),
        ("illegal_move", row(moves="f2g3 Rxe7")),
        ("illegal_move", row(moves="f2g3 0000")),
        ("illegal_move", row(moves="f2g3 e6e7q")),
        ("illegal_move", row(moves="e6e7 f2g3")),
        ("illegal_move", row(moves=MOVES + " h8g7 h6h6")),
    ],
)
def test_each_reason(tmp_path: Path, reason: str, line: str | bytes) -> None:
    path = write(tmp_path / "p.csv", [HEADER, row("AAAAA"), line, row("BBBBB")])
    puzzles, report = read_puzzles(path, max_reject_share=0.5)
    assert [puzzle.id for puzzle in puzzles] == ["AAAAA", "BBBBB"]
    assert report.rejected == {reason: 1}
    assert [example.line for example in next(iter(report.examples.values()))] == [3]
    assert report.rows == 3


def test_the_later_of_two_equal_ids_is_refused(tmp_path: Path) -> None:
    ids = ["00000", "zzzzz", "0000z", "z0000", "00000", "ZZZZZ", "zzzzz"]
    path = write(
        tmp_path / "p.csv", [HEADER, *(row(text, rating=str(100 + i)) for i, text in enumerate(ids))]
    )
    puzzles, report = read_puzzles(path, max_reject_share=0.5)
    assert [(puzzle.id, puzzle.rating) for puzzle in puzzles] == [
        *(("00000", 100), ("zzzzz", 101), ("0000z", 102), ("z0000", 103), ("ZZZZZ", 105))
    ]
    assert report.rejected == {"duplicate_id": 2}
    assert [example.line for example in report.examples[next(iter(report.examples))]] == [6, 8]


def test_rows_of_the_wrong_width_in_a_file_without_header(tmp_path: Path) -> None:
    lines = [NINE, NINE.rsplit(",", 1)[0], NINE + ",a,b,c"]
    puzzles, report = read_puzzles(write(tmp_path / "p.csv", lines), max_reject_share=1.0)
    assert puzzles == [PUZZLE]
    assert report.rejected == {"missing_field": 1, "extra_field": 1}


def test_only_the_first_examples_are_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "p.csv", [HEADER, *[row(rating="x")] * 10])
    report = ReadReport()
    assert list(iter_puzzles(path, report, max_reject_share=1.0)) == []
    (examples,) = report.examples.values()
    assert [example.line for example in examples] == list(range(2, 2 + EXAMPLES_PER_REASON))


def test_too_many_rejects_fail_and_name_file_counts_and_lines(tmp_path: Path) -> None:
    good = [row(f"{i:05}") for i in range(95)]
    bad = [
        row("AAAAA", rating="x"),
        row("AAAAB", moves="a1a2"),
        *[row(f"AAAA{i}", fen="x") for i in range(3)],
    ]
    path = write(tmp_path / "p.csv", [HEADER, *bad, *good])
    assert len(read_puzzles(path)[0]) == 95  # exactly 5 % is allowed
    path = write(tmp_path / "p.csv", [HEADER, *bad, *good[:-1]])
    with pytest.raises(PuzzleFileError) as caught:
        read_puzzles(path)
    message = str(caught.value)
    for part in (
        str(path),
        "5 of 99 rows",
        "5.0%",
        "bad_fen: 3 (line 4:",
        "bad_rating: 1",
        "odd_move_count: 1",
    ):
        assert part in message


# ------------------------------------------------------------------------------------------ real and noise


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
