"""Winning sets against an independent move generator, hand-made positions, and published shares."""

from __future__ import annotations

import os
from pathlib import Path

import chess
import pytest

from searchless_rl.suites.puzzles import Puzzle, mate_depth, read_puzzles, solver_positions
from searchless_rl.suites.winning import winning_sets

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "data" / "lichess" / "torre_6605_2026.csv"
SHARED = Path(os.environ.get("SEARCHLESS_SHARED", ROOT.parent / "shared"))


def shared_puzzles(name: str) -> list[Puzzle]:
    path = SHARED / "data" / name
    if not path.is_file():
        pytest.skip(f"outside data absent: {path} (set SEARCHLESS_SHARED)")
    puzzles, report = read_puzzles(path, max_reject_share=0.0)
    assert report.accepted == len(puzzles) > 0
    return puzzles


def mates_by_another_generator(board: chess.Board) -> set[str]:
    """Every mate in one by python-chess, which shares no code with the generator that finds the sets."""
    mates = set()
    for move in list(board.legal_moves):
        board.push(move)
        if board.is_checkmate():
            mates.add(move.uci())
        board.pop()
    return mates


def require_agreement(puzzles: list[Puzzle]) -> int:
    """Check every winning set of the puzzles; returns how many hold more than the marked move."""
    several = 0
    for puzzle in puzzles:
        sets = winning_sets(puzzle)
        assert len(sets) == puzzle.solver_move_count
        for group, (board, marked) in zip(sets, solver_positions(puzzle), strict=True):
            assert group[0] == marked.uci(), puzzle.id
            assert list(group[1:]) == sorted(group[1:]), puzzle.id
            assert len(set(group)) == len(group), puzzle.id
            assert set(group) == mates_by_another_generator(board) | {marked.uci()}, puzzle.id
            several += len(group) > 1
    return several


def test_bundled_puzzles_agree_with_an_independent_generator() -> None:
    puzzles, _ = read_puzzles(BUNDLED)
    mates = [puzzle for puzzle in puzzles[::4] if mate_depth(puzzle) is not None]
    others = [puzzle for puzzle in puzzles[::4] if mate_depth(puzzle) is None]
    assert require_agreement(mates[:250]) > 5
    assert require_agreement(others[:120]) == 0


@pytest.mark.parametrize(
    ("fen", "marked", "expected"),
    [
        pytest.param(
            "5k2/R7/8/1B6/2B5/8/8/4K2R w K - 0 1", "e1g1", ("e1g1", "h1f1", "h1h8"), id="castling mates"
        ),
        pytest.param(
            "5k2/R7/8/1B6/2B5/8/8/4K2R w K - 0 1", "h1h8", ("h1h8", "e1g1", "h1f1"), id="marked first"
        ),
        pytest.param("7k/5K2/6pp/8/8/8/8/R7 w - - 0 1", "f7f8", ("f7f8",), id="marked move is no mate"),
        pytest.param("6k1/P4ppp/8/8/8/8/8/K7 w - - 0 1", "a7a8q", ("a7a8q", "a7a8r"), id="promotions"),
        pytest.param("8/8/8/8/8/k7/7r/K7 b - - 0 1", "h2h1", ("h2h1",), id="black to move"),
    ],
)
def test_hand_made_positions(fen: str, marked: str, expected: tuple[str, ...]) -> None:
    assert winning_sets(with_last_position(fen, marked)) == (expected,)


def with_last_position(fen: str, marked: str) -> Puzzle:
    """A puzzle whose only solver position is the one given: the opponent's move before it is made up."""
    after = chess.Board(fen)
    for start in chess.SquareSet(after.occupied_co[not after.turn]):
        for target in chess.SQUARES:
            before = after.copy()
            piece = before.remove_piece_at(start)
            if before.piece_at(target) or (piece.piece_type == chess.PAWN and target // 8 in (0, 7)):
                continue
            before.set_piece_at(target, piece)
            before.turn = not after.turn
            move = chess.Move(target, start)
            if before.is_valid() and before.is_legal(move):
                before.push(move)
                if before.epd() == after.epd():
                    before.pop()
                    return Puzzle("AAAAA", before.fen(), (move.uci(), marked), 900, (), "")
    raise AssertionError(fen)


def last_winning_set(puzzle: Puzzle) -> tuple[str, ...]:
    return winning_sets(puzzle)[-1]


#: Share in percent of puzzles with several mates at the last position, measured for the study over every row
#: of theme mateInN at hand; only these two files hold all of those rows.
@pytest.mark.parametrize(
    ("name", "rows", "percent"), [("mateIn4_1416", 1416, "8.3"), ("mateIn5_exact_123", 123, "9.8")]
)
def test_share_of_several_mates_in_the_complete_files(name: str, rows: int, percent: str) -> None:
    puzzles = shared_puzzles(f"mates/{name}.csv")
    assert len(puzzles) == rows
    several = sum(len(last_winning_set(puzzle)) > 1 for puzzle in puzzles)
    assert f"{100 * several / rows:.1f}" == percent


#: The same share over the complete rows for N = 1..3, of which these files are random samples of 2,000.
@pytest.mark.parametrize(("depth", "share"), [(1, 0.027), (2, 0.049), (3, 0.050)])
def test_share_of_several_mates_in_the_sampled_files(depth: int, share: float) -> None:
    puzzles = shared_puzzles(f"mates/mateIn{depth}_2000.csv")
    several = sum(len(last_winning_set(puzzle)) > 1 for puzzle in puzzles)
    assert abs(several / len(puzzles) - share) < 3 * (share * (1 - share) / len(puzzles)) ** 0.5


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_mates_at_hand_agree_with_an_independent_generator(depth: int) -> None:
    name = {4: "mateIn4_1416", 5: "mateIn5_exact_123"}.get(depth, f"mateIn{depth}_2000")
    puzzles = shared_puzzles(f"mates/{name}.csv")
    assert {mate_depth(puzzle) for puzzle in puzzles} == {depth}
    require_agreement(puzzles[:: max(1, len(puzzles) // 120)])


@pytest.mark.parametrize(
    "name",
    ["uniform_5000_2022_9col.csv", "sample_1000_2024_10col_oldply.csv"],
)
def test_other_mates_occur_only_at_the_end_of_mate_lines(name: str) -> None:
    """Established over 143,767 real rows: scoring up to the first mismatch agrees
    with scoring every position."""
    for puzzle in shared_puzzles(f"lichess/{name}")[::8]:
        sets = winning_sets(puzzle)
        assert all(len(group) == 1 for group in sets[:-1]), puzzle.id
        assert len(sets[-1]) == 1 or mate_depth(puzzle) is not None, puzzle.id
