"""Game moves before a puzzle: which lead to it, and how they travel through suite files."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest

from searchless_rl.board import encode_game
from searchless_rl.suites.build import build_suites
from searchless_rl.suites.files import SUITE_COLUMNS, SuiteItem, read_game_moves, read_suite, write_suite
from searchless_rl.suites.game_moves import read_history
from searchless_rl.suites.puzzles import Puzzle, read_puzzles, solver_positions
from searchless_rl.suites.rows import PuzzleFileError
from searchless_rl.suites.split import SuiteSizes
from searchless_rl.suites.winning import winning_sets

BUNDLED = Path(__file__).resolve().parents[2] / "data" / "lichess" / "torre_6605_2026.csv"

# Puzzle 00K8j of Lichess and its game (CC0), in the layout of Ruoss et al.
PGN = (
    "1. d4 d5 2. c4 e6 3. Nc3 h6 4. Bf4 Nf6 5. e3 c5 6. cxd5 exd5 7. dxc5 Bxc5 8. Qb3 Nc6 9. Nxd5 Nxd5 "
    "10. O-O-O Be6 11. Qxb7 Na5 12. Qb5+ Kf8 13. Qxc5+ Kg8"
)
UCI = (
    "d2d4 d7d5 c2c4 e7e6 b1c3 h7h6 c1f4 g8f6 e2e3 c7c5 c4d5 e6d5 d4c5 f8c5 d1b3 b8c6 c3d5 f6d5 e1c1 c8e6 "
    "b3b7 c6a5 b7b5 e8f8 b5c5 f8g8"
)
FEN = "r2q2kr/p4pp1/4b2p/n1Qn4/5B2/4P3/PP3PPP/2KR1BNR w - - 1 14"
MOVES = "f4c7 d8c7 c5c7 d5c7"
SOLUTION = "Bc7 Qxc7 Qxc7 Nxc7"
RUOSS_HEADER = "PuzzleId,Rating,PGN,Solution,FEN,Moves"
RUOSS_ROW = f"00K8j,1428,{PGN},{SOLUTION},{FEN},{MOVES}"
PUZZLE = Puzzle("00K8j", FEN, tuple(MOVES.split()), 1428, (), "", tuple(UCI.split()))

START = chess.STARTING_FEN


def after(moves: str) -> str:
    board = chess.Board()
    for word in moves.split():
        board.push_san(word)
    return board.fen()


# ------------------------------------------------------------------------------------- reading moves


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PGN, id="numbered SAN"),
        pytest.param(UCI, id="UCI"),
        pytest.param(PGN.replace(". ", "."), id="numbers attached"),
        pytest.param(" ".join(word for word in PGN.split() if not word.endswith(".")), id="bare SAN"),
        pytest.param(PGN + " 14. Bc7 Qxc7 15. Qxc7 0-1", id="the game goes on"),
        pytest.param(PGN + " 14. nonsense", id="nonsense behind the position"),
        pytest.param(PGN.replace("d4 d5", "d4! { [%eval 0.2] main 1. e4 } 1... d5?! $6"), id="annotated"),
        pytest.param(UCI.replace("d2d4", "d4"), id="mixed"),
    ],
)
def test_moves_that_reach_the_position(text: str) -> None:
    assert read_history(text, FEN) == ("reached", tuple(UCI.split()))


@pytest.mark.parametrize(
    ("outcome", "text", "fen"),
    [
        pytest.param("missed", PGN.rsplit(" ", 1)[0], FEN, id="one ply short"),
        pytest.param("missed", "e4 e5 Nf3", after("e4 e5 Nc3"), id="another move"),
        pytest.param("missed", PGN, FEN.replace(" 1 14", " 0 14"), id="another clock"),
        pytest.param("missed", PGN, FEN.replace(" 1 14", " 1 15"), id="another move number"),
        pytest.param("missed", PGN, FEN.replace(" w ", " b "), id="another side"),
        pytest.param("missed", "Nf3 Nf6 Rg1 Ng8 Rh1", after("Nf3 Nf6 Nc3 Nc6 Nb1"), id="placement"),
        pytest.param(
            "missed",
            "Nf3 Nf6 Rg1 Ng8 Rh1 Nf6 Ng1 Ng8",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 8 5",
            id="castling right lost",
        ),
        pytest.param(
            "missed",
            "e4 a6 e5 d5",
            after("e4 a6 e5 d5").replace("d6", "-"),
            id="en passant is legal but not in the FEN",
        ),
        pytest.param("illegal", PGN.replace("Qb3", "Qb4"), FEN, id="illegal SAN"),
        pytest.param("illegal", UCI.replace("d1b3", "d1b4"), FEN, id="illegal UCI"),
        pytest.param("illegal", UCI.replace("e1c1", "e1a1"), FEN, id="castling spelt otherwise"),
        pytest.param("illegal", UCI.replace("d1b3", "0000"), FEN, id="null move"),
        pytest.param("illegal", PGN.replace("Qb3", "--"), FEN, id="null move in SAN"),
        pytest.param(
            "illegal",
            "Nf3 --",
            "rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 2 2",
            id="null move that would reach the position",
        ),
        pytest.param("illegal", "d4 d5 Nf3 Nf6 Nd2", after("d4 d5 Nf3 Nf6 Nbd2"), id="ambiguous"),
        pytest.param("illegal", "nonsense", FEN, id="nonsense"),
        pytest.param("illegal", "1. d4 (1. e4) d5", FEN, id="variation"),
        pytest.param("absent", "", FEN, id="nothing"),
        pytest.param("absent", " 1. * ", FEN, id="no moves"),
    ],
)
def test_moves_that_do_not(outcome: str, text: str, fen: str) -> None:
    assert read_history(text, fen) == (outcome, ())


def test_en_passant_counts_only_where_it_is_legal() -> None:
    fen = after("e4")
    pushed = fen.replace(" - ", " e3 ")
    assert pushed != fen
    assert read_history("e2e4", fen)[0] == "reached"
    assert read_history("e2e4", pushed)[0] == "reached"


def test_the_119_histories_at_hand_reach_their_puzzles(shared: Path) -> None:
    path = shared / "data" / "history" / "puzzles_ruoss_format_119.csv"
    puzzles, report = read_puzzles(path, max_reject_share=0.0)
    assert report.histories == {"reached": 119}
    rows = {row["PuzzleId"]: row for row in csv.DictReader(path.read_text().splitlines())}
    for puzzle in puzzles:
        board = chess.Board()
        for uci in puzzle.history:
            board.push_uci(uci)
        assert board.fen() == puzzle.fen
        solution = []
        for uci in puzzle.moves:
            solution.append(board.san(chess.Move.from_uci(uci)))
            board.push_uci(uci)
        assert " ".join(solution) == rows[puzzle.id]["Solution"]


# ------------------------------------------------------------------------------------- puzzle rows


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([RUOSS_HEADER, RUOSS_ROW], id="PGN"),
        pytest.param(
            ["PuzzleId,FEN,Moves,Rating,GameMoves", f"00K8j,{FEN},{MOVES},1428,{UCI}"], id="GameMoves"
        ),
        pytest.param(
            [f"{RUOSS_HEADER},GameMoves", RUOSS_ROW.replace(PGN, "e4") + f",{UCI}"], id="GameMoves before PGN"
        ),
        pytest.param([f"{RUOSS_HEADER},GameMoves", RUOSS_ROW + ", "], id="PGN where GameMoves is blank"),
    ],
)
def test_columns_of_game_moves(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "p.csv"
    path.write_text("\n".join(lines) + "\n")
    puzzles, report = read_puzzles(path, max_reject_share=0.0)
    assert puzzles == [PUZZLE]
    assert report.histories == {"reached": 1}


def test_moves_of_no_use_are_counted_and_the_puzzle_is_kept(tmp_path: Path) -> None:
    texts = [PGN, "1. e4 e5", "1. e4 e4", "", *["1. d4"] * 4]
    rows = [f"0000{n},1,{text},x,{FEN},{MOVES}" for n, text in enumerate(texts)]
    path = tmp_path / "p.csv"
    path.write_text("\n".join([RUOSS_HEADER, *rows, "AAAAA,x,1. d4,x,x,x"]) + "\n")
    puzzles, report = read_puzzles(path, max_reject_share=0.5)
    assert [bool(puzzle.history) for puzzle in puzzles] == [True] + [False] * 7
    assert report.histories == {"reached": 1, "missed": 5, "illegal": 1, "absent": 1}
    assert report.lost_histories == {"missed": ["00001", "00004", "00005"], "illegal": ["00002"]}
    assert report.rejected == {"bad_rating": 1}


def test_game_moves_given_by_id_replace_those_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("\n".join([RUOSS_HEADER, RUOSS_ROW, RUOSS_ROW.replace("00K8j", "00K8k")]) + "\n")
    puzzles, report = read_puzzles(path, game_moves={"00K8k": UCI, "other": "e4"})
    assert [puzzle.history for puzzle in puzzles] == [(), PUZZLE.history]
    assert report.histories == {"absent": 1, "reached": 1}


def test_files_without_game_moves_report_nothing_of_them() -> None:
    puzzles, report = read_puzzles(BUNDLED)
    assert report.histories == {}
    assert not any(puzzle.history for puzzle in puzzles)


def test_the_game_as_the_encoder_takes_it() -> None:
    bare = replace(PUZZLE, history=())
    assert bare.game(0) == (FEN, ())
    assert bare.game(1) == (FEN, ("f4c7",))
    assert PUZZLE.game(0) == (None, tuple(UCI.split()))
    assert PUZZLE.game(3) == (None, (*UCI.split(), "f4c7", "d8c7", "c5c7"))
    for turn, (board, _) in enumerate(solver_positions(PUZZLE)):
        planes = {}
        for puzzle in (PUZZLE, bare):
            fen, moves = puzzle.game(2 * turn + 1)
            replayed = chess.Board() if fen is None else chess.Board(fen)
            for uci in moves:
                replayed.push_uci(uci)
            assert replayed.fen() == board.fen()
            planes[puzzle] = encode_game(fen, list(moves))
        assert np.array_equal(planes[PUZZLE][:12], planes[bare][:12])  # the present position
        assert np.array_equal(planes[PUZZLE][104:], planes[bare][104:])  # castling, side, clock
        assert not np.array_equal(planes[PUZZLE][13:104], planes[bare][13:104])  # what led there


# ------------------------------------------------------------------------------------- suite files

OTHER = replace(PUZZLE, id="00K8k", history=())


def items(*puzzles: Puzzle) -> list[SuiteItem]:
    return [SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in puzzles]


def test_histories_travel_through_suite_files(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    suite = items(OTHER, PUZZLE)
    write_suite(path, suite)
    assert read_suite(path) == suite
    header, bare, line = path.read_text().splitlines()
    assert header == ",".join((*SUITE_COLUMNS, "History"))
    assert bare.endswith(",")
    assert line.endswith(f",{UCI}")
    write_suite(path, iter(suite))
    assert read_suite(path) == suite


def test_a_puzzle_file_that_names_no_games_makes_readable_suites(tmp_path: Path) -> None:
    source = tmp_path / "p.csv"
    source.write_text(f"{RUOSS_HEADER}\n{RUOSS_ROW}\n")
    build_suites(source, tmp_path / "out", SuiteSizes(selection=1, main=0, hard=0), seed=1)
    assert read_suite(tmp_path / "out" / "selection.csv") == items(PUZZLE)


def test_a_suite_without_histories_has_no_column_for_them(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    write_suite(path, items(OTHER))
    assert path.read_text() == (
        f"PuzzleId,FEN,Moves,Rating,Themes,GameUrl,Winning\n00K8k,{FEN},{MOVES},1428,,,d8c7 d5c7\n"
    )


@pytest.mark.parametrize(
    "history", ["e2e4", UCI.replace("d1b3", "d1b4"), UCI + " f4c7", UCI.replace("d2d4", "d4"), UCI + " "]
)
def test_a_history_in_a_suite_must_be_exact(tmp_path: Path, history: str) -> None:
    path = tmp_path / "s.csv"
    write_suite(path, items(PUZZLE))
    path.write_text(path.read_text().replace(UCI, history))
    with pytest.raises(PuzzleFileError, match=r"bad_history: 1 \(line 2: 00K8j: the history does not end"):
        read_suite(path)


#: Of the suites below before puzzles could have a history: they must keep their bytes.
DIGESTS = {
    "control.csv": "6578c7ce7e48571a",
    "hard.csv": "ad97cdc4e945afe2",
    "main.csv": "b2fa286372acf35b",
    "mate1.csv": "68ff0e1a18b7d19e",
    "mate2.csv": "9ea3e88577fed645",
    "mate3.csv": "472fa71646cbd54b",
    "mate4.csv": "e49d20b118324251",
    "mate5.csv": "a33083ea91bcac42",
    "report.json": "be8653016f3da81f",
    "selection.csv": "733cab90dca6d2dd",
}


def test_suites_without_histories_keep_their_bytes(tmp_path: Path) -> None:
    lines = BUNDLED.read_text().splitlines()
    source = tmp_path / "some.csv"
    source.write_text("\n".join([lines[0], *lines[1::8], "AAAAA,x,e2e4 e7e5,1,x,x", lines[1]]) + "\n")
    build_suites(source, tmp_path / "out", SuiteSizes(selection=120, main=150, hard=40), seed=7)
    built = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in (tmp_path / "out").iterdir()
    }
    assert built == DIGESTS
    for name in DIGESTS.keys() - {"report.json"}:
        write_suite(tmp_path / "again.csv", read_suite(tmp_path / "out" / name))
        assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_a_file_of_game_moves_goes_into_the_suites(tmp_path: Path) -> None:
    source = tmp_path / "p.csv"
    bundled = BUNDLED.read_text().splitlines()
    source.write_text(
        "\n".join([bundled[0], bundled[2], f"00K8j,{FEN},{MOVES},1428,,https://lichess.org/787zsVup"]) + "\n"
    )
    given = tmp_path / "h.csv"
    given.write_text(f"PuzzleId,GameMoves\n00K8j,{UCI}\n0008Q,e2e4\n")
    sizes = SuiteSizes(selection=0, main=0, hard=0)
    report = build_suites(source, tmp_path / "out", sizes, seed=1, game_moves=given)
    assert report["histories"] == {"reached": 1, "missed": 1, "illegal": 0, "absent": 0}
    assert report["lost_histories"] == {"missed": ["0008Q"]}
    histories = {item.puzzle.id: item.puzzle.history for item in read_suite(tmp_path / "out" / "control.csv")}
    assert histories == {"00K8j": PUZZLE.history, "0008Q": ()}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("PuzzleId,Moves\n", "the first line is not PuzzleId,GameMoves"),
        ("PuzzleId,GameMoves\nAAAAA,e2e4\nAAAAA,e2e4\n", "line 3 repeats an id"),
        ("PuzzleId,GameMoves\nAAAAA\n", "line 2 repeats an id or has not two columns"),
        ("PuzzleId,GameMoves\nAAAAA,e2e4,e7e5\n", "line 2 repeats an id or has not two columns"),
    ],
)
def test_a_bad_file_of_game_moves_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "h.csv"
    path.write_text(content)
    with pytest.raises(PuzzleFileError, match=message):
        read_game_moves(path)
    with pytest.raises(PuzzleFileError, match="cannot be read"):
        read_game_moves(tmp_path / "absent.csv")
