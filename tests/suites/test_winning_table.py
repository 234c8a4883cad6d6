"""Tables of winning sets: the bundled one against exhaustive search, strict reading, and how one is made."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import chess
import cozy_chess
import pytest
from engine_programs import FakeEngine

from searchless_rl.suites.build import build_suites
from searchless_rl.suites.files import read_suite
from searchless_rl.suites.puzzles import Puzzle, mate_depth, read_puzzles, solver_positions
from searchless_rl.suites.rows import PuzzleFileError
from searchless_rl.suites.split import SuiteSizes
from searchless_rl.suites.uci_engine import EngineSettings, UciEngine
from searchless_rl.suites.winning import WinningTable, read_winning_table, winning_sets
from searchless_rl.suites.winning_search import make_winning_sets

LICHESS = Path(__file__).resolve().parents[2] / "data" / "lichess"
SOURCE = LICHESS / "torre_6605_2026.csv"
TABLE = LICHESS / "torre_6605_winning.csv"


@pytest.fixture(scope="module")
def mates() -> list[Puzzle]:
    return [puzzle for puzzle in read_puzzles(SOURCE)[0] if mate_depth(puzzle) is not None]


@pytest.fixture(scope="module")
def table() -> WinningTable:
    return read_winning_table(TABLE)


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    return json.loads(TABLE.with_suffix(".json").read_text())


# ------------------------------------------------------------------------------------- exhaustive search


def _after(position: cozy_chess.Board, move: cozy_chess.Move) -> cozy_chess.Board:
    board = copy.copy(position)
    board.play(move)
    return board


def _escapes(position: cozy_chess.Board, moves: int) -> bool:
    """Whether the side to move is not mated within `moves` - 1 further moves of the other side."""
    replies = position.generate_moves()
    if not replies:
        return len(position.checkers()) == 0
    return moves == 1 or any(not _mates_within(_after(position, reply), moves - 1) for reply in replies)


def _mates_within(position: cozy_chess.Board, moves: int) -> bool:
    tries = [_after(position, move) for move in position.generate_moves()]
    tries.sort(key=lambda board: len(board.checkers()) == 0)  # checks first
    return any(not _escapes(board, moves) for board in tries)


def forces_mate(board: chess.Board, uci: str, moves: int) -> bool:
    """Whether a move mates in at most `moves`, by trying everything, with an independent generator."""
    position = cozy_chess.Board.from_fen(board.fen())
    for move in position.generate_moves():
        if board.parse_uci(str(move)).uci() == uci:  # that generator castles "king takes rook"
            return not _escapes(_after(position, move), moves)
    raise AssertionError(f"{uci} is illegal in {board.fen()}")


def mating_moves(board: chess.Board, moves: int) -> set[str]:
    legal = [move.uci() for move in board.legal_moves]
    return {uci for uci in legal if forces_mate(board, uci, moves)}


def positions_to_go(puzzles: list[Puzzle], moves: int) -> Iterator[tuple[Puzzle, int, chess.Board]]:
    for puzzle in puzzles:
        for turn, (board, _) in enumerate(solver_positions(puzzle)):
            if puzzle.solver_move_count - turn == moves:
                yield puzzle, turn, board


@pytest.mark.parametrize(
    ("moves", "step"),
    [
        (1, 10),
        (2, 10),
        (3, 150),
        pytest.param(2, 1, marks=pytest.mark.slow),
        pytest.param(3, 10, marks=pytest.mark.slow),
    ],
)
def test_optimal_sets_are_those_of_an_exhaustive_search(
    mates: list[Puzzle], table: WinningTable, moves: int, step: int
) -> None:
    checked = 0
    for puzzle, turn, board in islice(positions_to_go(mates, moves), 0, None, step):
        assert set(table.row(puzzle).optimal[turn]) == mating_moves(board, moves), puzzle.id
        checked += 1
    assert checked >= 5


def test_longer_mates_are_mates(mates: list[Puzzle], table: WinningTable) -> None:
    """Of the moves with a longer mate, those that mate in three at most are seen to."""
    confirmed = extra = 0
    for puzzle in mates:
        optimal, any_mate = table.rows[puzzle.id]
        if optimal == any_mate:
            continue
        row = table.row(puzzle)
        for turn, (board, _) in enumerate(solver_positions(puzzle)):
            more = set(row.any_mate[turn]) - set(row.optimal[turn])
            extra += len(more)
            if more and puzzle.solver_move_count - turn <= 2:
                confirmed += sum(forces_mate(board, uci, 3) for uci in more)
    assert extra >= 34
    assert confirmed >= 5


# ------------------------------------------------------------------------------------- the bundled table


def test_the_bundled_table_is_of_the_bundled_puzzles(
    mates: list[Puzzle], table: WinningTable, facts: dict[str, Any]
) -> None:
    assert facts["source"]["name"] == SOURCE.name
    assert facts["source"]["sha256"] == hashlib.sha256(SOURCE.read_bytes()).hexdigest()
    assert facts["table_sha256"] == hashlib.sha256(TABLE.read_bytes()).hexdigest()
    assert (facts["engine"], facts["nodes"]) == ("Stockfish 15.1", 50_000)
    assert list(table.rows) == [puzzle.id for puzzle in mates]
    assert (facts["puzzles"], facts["puzzles_left_out"]) == (len(mates), [])


def test_every_bundled_row_fits_its_puzzle_and_holds_what_the_rules_give(
    mates: list[Puzzle], table: WinningTable, facts: dict[str, Any]
) -> None:
    several = 0
    for puzzle in mates[::4]:
        row = table.row(puzzle)
        for group, by_rule in zip(row.optimal, winning_sets(puzzle), strict=True):
            assert set(by_rule) <= set(group), puzzle.id
        several += len(row.optimal[-1]) > 1
    share = facts["by_moves_to_mate"]["1"]["several_optimal"] / len(mates)
    assert 0.03 < share < 0.10
    assert abs(several / len(mates[::4]) - share) < 0.03


# ------------------------------------------------------------------------------------- looking up

PUZZLE = Puzzle(
    "00P6j",
    "r2n2k1/1bRq1rpp/1p6/3P4/p3Q3/B3P3/PP3PPP/3R2K1 b - - 0 20",
    ("d7c7", "e4e8", "f7f8", "e8f8"),
    1325,
    ("mateIn2",),
    "https://lichess.org/vBpR18cI/black#40",
)


def table_of(tmp_path: Path, *rows: str) -> WinningTable:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["PuzzleId,Optimal,AnyMate", *rows]) + "\n")
    return read_winning_table(path)


def test_sets_come_from_the_table_where_it_has_the_puzzle(tmp_path: Path) -> None:
    table = table_of(tmp_path, "00P6j,e4e8|e4h7 e8f8,e4e8|d5d6|e4h7 e8f8|d5d6")
    assert winning_sets(PUZZLE, table) == (("e4e8", "e4h7"), ("e8f8",))
    assert winning_sets(PUZZLE, table, any_forced_mate=True) == (
        ("e4e8", "d5d6", "e4h7"),
        ("e8f8", "d5d6"),
    )
    by_rule = (("e4e8",), ("e8f8",))
    assert winning_sets(PUZZLE) == by_rule
    assert winning_sets(PUZZLE, any_forced_mate=True) == by_rule
    assert winning_sets(replace(PUZZLE, id="other"), table) == by_rule
    assert "00P6j" in table
    assert "other" not in table


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("e4e8,e4e8 e8f8", "1 winning groups for 2 solver positions"),
        ("e4e8 e8f8,e4e8", "1 winning groups for 2 solver positions"),
        ("e4e8 e8f8 e8f8,e4e8 e8f8", "3 winning groups for 2 solver positions"),
        ("e4h7 e8f8,e4e8|e4h7 e8f8", "'e4h7' must begin with the marked e4e8"),
        ("e4e8|e4h8 e8f8,e4e8 e8f8", "repeats a move or holds an illegal one"),
        ("e4e8|nonsense e8f8,e4e8 e8f8", "repeats a move or holds an illegal one"),
        ("e4e8|e4e8 e8f8,e4e8 e8f8", "repeats a move or holds an illegal one"),
        ("e4e8 e8f8,e4e8|e4h8 e8f8", "repeats a move or holds an illegal one"),
        ("e4e8|e4h7 e8f8,e4e8 e8f8", "AnyMate lacks a move of Optimal"),
    ],
)
@pytest.mark.parametrize("any_forced_mate", [False, True])
def test_a_row_that_does_not_fit_the_puzzle_is_an_error(
    tmp_path: Path, row: str, message: str, any_forced_mate: bool
) -> None:
    table = table_of(tmp_path, f"00P6j,{row}")
    with pytest.raises(PuzzleFileError, match=rf"t\.csv: 00P6j: .*{message}"):
        winning_sets(PUZZLE, table, any_forced_mate=any_forced_mate)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the first line is not PuzzleId,Optimal,AnyMate"),
        ("PuzzleId,Optimal\n", "the first line is not"),
        ("PuzzleId,Optimal,AnyMate\nAAAAA,a1a2\n", "line 2 has not three columns"),
        ("PuzzleId,Optimal,AnyMate\nAAAAA,a1a2,a1a2\nAAAAA,a1a2,a1a2\n", "line 3 repeats an id"),
        ("PuzzleId,Optimal,AnyMate\nAAAAA,a1a2,a1a2\n\n", "line 3 has not three columns"),
    ],
)
def test_a_file_that_is_no_table_is_an_error(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(PuzzleFileError, match=message):
        read_winning_table(path)
    with pytest.raises(PuzzleFileError, match="cannot be read"):
        read_winning_table(tmp_path / "absent.csv")


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """The puzzle above, a mate in one and a puzzle without a mate."""
    lines = SOURCE.read_text().splitlines()
    wanted = ("00P6j", "01eLb", "0008Q")
    path = tmp_path / "few.csv"
    path.write_text("\n".join([lines[0], *(line for line in lines if line.startswith(wanted))]) + "\n")
    return path


def test_suites_take_their_sets_from_a_table_and_count_the_mates_without(few: Path, tmp_path: Path) -> None:
    table = table_of(tmp_path, "00P6j,e4e8|e4h7 e8f8,e4e8|d5d6|e4h7 e8f8")
    sizes = SuiteSizes(selection=0, main=0, hard=0)

    def build(**options: Any) -> tuple[dict[str, Any], Any]:
        report = build_suites(few, tmp_path / "out", sizes, seed=1, **options)
        (item,) = read_suite(tmp_path / "out" / "mate2.csv")
        return report, item.winning

    report, winning = build(winning=table.path)
    assert winning == (("e4e8", "e4h7"), ("e8f8",))
    assert report["winning_table"] == {
        "name": "t.csv",
        "sha256": hashlib.sha256(table.path.read_bytes()).hexdigest(),
        "any_forced_mate": False,
        "mates_not_in_it": 1,
    }
    report, winning = build(winning=table.path, any_forced_mate=True)
    assert winning == (("e4e8", "d5d6", "e4h7"), ("e8f8",))
    assert report["winning_table"]["any_forced_mate"] is True
    report, winning = build()
    assert winning == (("e4e8",), ("e8f8",))
    assert "winning_table" not in report
    with pytest.raises(ValueError, match="any_forced_mate needs a table"):
        build(any_forced_mate=True)


# ------------------------------------------------------------------------------------- making one


@cache
def fens_of(puzzle: Puzzle) -> list[str]:
    return [board.fen() for board, _ in solver_positions(puzzle)]


def test_which_mates_get_into_which_set(few: Path, tmp_path: Path, fake: FakeEngine) -> None:
    first, last = fens_of(PUZZLE)
    fake.follow(
        mates={
            # The marked move, another of its length, a longer one, a move that only the engine calls a mate
            # in one, and two by which the other side mates.
            first: {"e4e8": 2, "e4h7": 2, "d5d6": 7, "a3b4": 1, "h2h3": -1, "g2g3": -3},
            last: {"e8f8": 1, "d5d6": 1, "g1f1": 4},
        }
    )
    out = tmp_path / "new" / "t.csv"
    report = make_winning_sets(few, out, engine=fake.program, nodes=99, workers=2)
    assert out.read_text().splitlines() == [
        "PuzzleId,Optimal,AnyMate",
        "00P6j,e4e8|e4h7 e8f8,e4e8|a3b4|d5d6|e4h7 e8f8|d5d6|g1f1",
        "01eLb,h7e7,h7e7",
    ]
    assert json.loads(out.with_suffix(".json").read_text()) == report
    assert {path.name for path in out.parent.iterdir()} == {"t.csv", "t.json"}
    assert report["source"] == {"name": "few.csv", "sha256": hashlib.sha256(few.read_bytes()).hexdigest()}
    assert (report["engine"], report["nodes"]) == ("Fake 1.0", 99)
    assert (report["puzzles"], report["puzzles_left_out"], report["positions"]) == (2, [], 3)
    assert report["by_moves_to_mate"] == {
        "1": {
            "positions": 2,
            "several_optimal": 0,
            "longer_mates": 1,
            "shorter_mate": 0,
            "marked_unconfirmed": 1,
        },
        "2": {
            "positions": 1,
            "several_optimal": 1,
            "longer_mates": 1,
            "shorter_mate": 0,
            "marked_unconfirmed": 0,
        },
    }


def test_more_lines_are_asked_for_until_one_is_no_mate(few: Path, tmp_path: Path, fake: FakeEngine) -> None:
    board = chess.Board(fens_of(PUZZLE)[0])
    moves = sorted(move.uci() for move in board.legal_moves)
    for count, asked in ((3, [4]), (4, [4, 8]), (8, [4, 8, 16]), (len(moves), [4, 8, 16, 32, len(moves)])):
        fake.follow(mates={board.fen(): dict.fromkeys(moves[:count], 9)})
        before = len(fake.commands) if fake.starts else 0
        make_winning_sets(few, tmp_path / "t.csv", engine=fake.program, nodes=99, workers=1)
        commands = fake.commands[before:]
        tried = [
            int(commands[place - 2].split()[-1])
            for place, command in enumerate(commands)
            if command == f"position fen {board.fen()}"
        ]
        assert tried == asked
    assert 32 < len(moves) < 64


def test_a_mate_once_seen_is_not_lost_when_more_lines_see_less(
    few: Path, tmp_path: Path, fake: FakeEngine
) -> None:
    first = fens_of(PUZZLE)[0]
    fake.follow(
        mates={
            f"{first} in 4 lines": {"e4e8": 2, "e4h7": 2, "d5d6": 7, "a3b4": 3},
            f"{first} in 8 lines": {"e4e8": 4, "e4h7": 5, "g2g3": 2},
        }
    )
    make_winning_sets(few, tmp_path / "t.csv", engine=fake.program, nodes=99, workers=1)
    row = read_winning_table(tmp_path / "t.csv").row(PUZZLE)
    assert row.optimal[0] == ("e4e8", "e4h7", "g2g3")
    assert row.any_mate[0] == ("e4e8", "a3b4", "d5d6", "e4h7", "g2g3")


def test_a_position_without_an_answer_leaves_its_puzzle_out(
    few: Path, tmp_path: Path, fake: FakeEngine
) -> None:
    out = tmp_path / "t.csv"
    fake.follow(fens={fens_of(PUZZLE)[1]: "crash"})
    report = make_winning_sets(few, out, engine=fake.program, nodes=99, workers=1)
    assert out.read_text().splitlines()[1:] == ["01eLb,h7e7,h7e7"]
    assert (report["puzzles_left_out"], report["positions_without_answer"]) == (["00P6j"], 1)
    kept = out.with_name("t.csv.part.jsonl")
    assert len(kept.read_text().splitlines()) == 2
    asked = len(fake.commands)
    fake.follow()
    report = make_winning_sets(few, out, engine=fake.program, nodes=99, workers=1)
    assert report["puzzles_left_out"] == []
    assert sum(command.startswith("go") for command in fake.commands[asked:]) == 1
    assert not kept.exists()


def test_an_absent_engine_is_an_error_and_the_old_table_stays(few: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.csv"
    out.write_text("old")
    with pytest.raises(RuntimeError, match=r"no position of .*few\.csv could be searched: .*no-such-engine"):
        make_winning_sets(few, out, engine=tmp_path / "no-such-engine", nodes=99, workers=1)
    assert out.read_text() == "old"


# ------------------------------------------------------------------------------------- the real Stockfish


@pytest.mark.parametrize("step", [200, pytest.param(12, marks=pytest.mark.slow)])
def test_stockfish_makes_the_bundled_rows_again(
    stockfish: Path, facts: dict[str, Any], mates: list[Puzzle], tmp_path: Path, step: int
) -> None:
    probe = UciEngine(EngineSettings(stockfish, nodes=1))
    probe.close()
    if probe.version != facts["engine"]:
        pytest.skip(f"the table is of {facts['engine']}, here is {probe.version}")
    ids = {puzzle.id for puzzle in mates[::step]}
    lines = SOURCE.read_text().splitlines()
    source = tmp_path / "some.csv"
    source.write_text("\n".join([lines[0], *(line for line in lines if line[:5] in ids)]) + "\n")
    out = tmp_path / "t.csv"
    make_winning_sets(source, out, engine=stockfish, nodes=facts["nodes"], workers=1)
    bundled = TABLE.read_text().splitlines()
    assert out.read_text().splitlines() == [bundled[0], *(line for line in bundled if line[:5] in ids)]


#: Share of rows with several mates at the last position (python-chess, all rows at hand of each length).
SEVERAL = {1: 0.027, 2: 0.049, 3: 0.050, 4: 0.083, 5: 0.098}


@pytest.mark.slow
@pytest.mark.parametrize("depth", SEVERAL)
def test_sets_of_other_mates_hold_every_marked_line(
    stockfish: Path, shared: Path, tmp_path: Path, depth: int
) -> None:
    (path,) = (shared / "data" / "mates").glob(f"mateIn{depth}_[0-9e]*[0-9].csv")
    lines = path.read_text().splitlines()
    source = tmp_path / "some.csv"
    source.write_text("\n".join([lines[0], *lines[1 :: max(1, len(lines) // 60)]]) + "\n")
    out = tmp_path / "t.csv"
    report = make_winning_sets(source, out, engine=stockfish, nodes=50_000, workers=1)
    table = read_winning_table(out)
    puzzles, _ = read_puzzles(source, max_reject_share=0.0)
    assert report["puzzles"] == len(puzzles) >= 60
    several = 0
    for puzzle in puzzles:
        sets = winning_sets(puzzle, table)  # raises unless the marked move comes first
        assert all(set(rule) <= set(group) for rule, group in zip(winning_sets(puzzle), sets, strict=True))
        several += len(sets[-1]) > 1
    share = SEVERAL[depth]
    assert abs(several / len(puzzles) - share) < 4 * (share * (1 - share) / len(puzzles)) ** 0.5
