"""The puzzle reader: every header variant and every reason to refuse a row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from puzzle_files import (
    FEN,
    HEADER,
    MOVES,
    NINE,
    PUZZLE,
    URL,
    row,
    write,
)

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
