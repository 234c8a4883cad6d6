"""Openings held to the rules over their whole line, the counters of FEN and EPD, and the file of openings."""

import chess
import numpy as np
import pytest

from searchless_rl.arena.openings import (
    Opening,
    OpeningError,
    complete_fen,
    final_position,
    read_openings,
    write_openings,
)

FEN_A = "r1b1k1nr/pppp1p2/2nb1q1p/4p1p1/2BPP3/2P2N2/P4PPP/RNBQ1R1K w kq - 0 9"
FEN_B = "r1bq1rk1/pp1pn1bp/2n3p1/2p1pp2/4PP2/2PP2PN/PP4BP/RNBQ1RK1 b - - 1 9"
MATED = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
START = chess.STARTING_FEN
CASTLES = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
CLOCK_99 = "7k/8/8/8/8/8/6R1/7K w - - 99 80"
KNIGHTS = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq -"


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "line",
    [
        "2 3",
        "hmvc 2; fmvn 3;",
        "fmvn 3; hmvc 2",
        '2 3; c0 "x";',
        '2 3 c0 "x";',
        'c0 "fmvn 9; hmvc 8;"; hmvc 2;  fmvn  3;',
        'bm Nf3 Nc3; hmvc 2; id "a b"; fmvn 3;',
        "2 3; hmvc 2; fmvn 3;",
        "; hmvc 2;; fmvn 3;",
    ],
)
def test_counters_are_read_wherever_they_stand(line):
    assert complete_fen(f"{KNIGHTS} {line}") == f"{KNIGHTS} 2 3"
    assert Opening("x", complete_fen(f"{KNIGHTS} {line}")).plies == 4


def test_counters_are_those_of_python_chess():
    rng = np.random.default_rng(3)
    operations = ["hmvc {};", "fmvn {};", 'id "no. {}";', "ce {};", 'c0 "; {} ;";', "noop;"]
    for _ in range(300):
        chosen = rng.permutation(operations)[: rng.integers(len(operations) + 1)]
        line = " ".join([KNIGHTS, *(text.format(rng.integers(1, 90)) for text in chosen)])
        board = chess.Board()
        board.set_epd(line)
        assert complete_fen(line) == board.fen(), line


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2", "'2' is neither both counters nor an operation"),
        ("2 3 4", "'4' is neither both counters"),
        ("hmvc; fmvn 3;", "hmvc takes one number"),
        ("hmvc two;", "hmvc takes one number"),
        ("hmvc -2;", "hmvc takes one number"),
        ("hmvc 2 fmvn 3", "hmvc takes one number and ends with a semicolon"),
        ("fmvn 3; fmvn 3;", "fmvn takes one number"),
        ("2 3; fmvn 4;", "fmvn 4 contradicts the counter 3"),
    ],
)
def test_counters_that_cannot_be_read_are_refused(line, message):
    with pytest.raises(OpeningError, match=message):
        complete_fen(f"{KNIGHTS} {line}")


def test_the_standard_start_position_needs_no_fen():
    for text in (START, START.removesuffix(" 0 1"), f" {START.removesuffix('0 1')} hmvc 0; fmvn 1;"):
        assert complete_fen(text) is None
    assert complete_fen(START.replace("0 1", "4 3")) is not None


def test_the_bare_start_position_is_no_opening():
    for fen in (None, START.replace("0 1", "0 3")):
        with pytest.raises(OpeningError, match="x: the bare start position"):
            final_position(Opening("x", fen))
    # After the knights went out and back it is a position with a history.
    assert final_position(Opening("x", None, ("g1f3", "g8f6", "f3g1", "f6g8"))) == chess.Board().epd()


def test_a_line_that_goes_on_after_a_draw_is_over():
    out_and_back = ("g1f3", "g8f6", "f3g1", "f6g8")
    for line in (out_and_back * 2, (*out_and_back * 2, "e2e4", "e7e5")):
        assert final_position(Opening("x", None, line)) is None
    assert final_position(Opening("x", None, (*out_and_back, "e2e4"))) is not None


def test_openings_are_written_and_read_back(tmp_path):
    openings = [
        Opening("book, with comma:1", None, ("e2e4", "e7e5")),
        Opening("b:2", FEN_A),
        Opening("b:3", FEN_B, ("d7d6",)),
    ]
    write_openings(tmp_path / "a.csv", openings)
    assert read_openings(tmp_path / "a.csv") == openings
    write_openings(tmp_path / "b.csv", read_openings(tmp_path / "a.csv"))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("x:1,,e2e4 e7e5 e4e5", r"line 2: opening x:1: illegal move"),
        (f"x:1,{MATED},", r"line 2: opening x:1 is over"),
        (f"x:1,{FEN_A},\nx:2,{FEN_A},", r"line 3: opening x:2 was on an earlier line"),
        (f"x:1,{FEN_A},\nx:1,{FEN_B},", r"line 3: opening x:1 was on an earlier line"),
        ("x:1,rubbish,", r"line 2: opening x:1: neither FEN nor EPD: 'rubbish'"),
        ("x:1,,", r"line 2: opening x:1: the bare start position"),
        (f"x:1,{START},", r"line 2: opening x:1: the bare start position"),
        ("x:1,,e2e4n", r"line 2: opening x:1: 'e2e4n' promotes"),
        (f"x:1,{CASTLES},e1h1", r"line 2: opening x:1: move e1h1 must be written e1g1"),
        (f"x:1,,{'g1f3 g8f6 f3g1 f6g8 ' * 2}e2e4", r"line 2: opening x:1 is over"),
        (f"x:1,{CLOCK_99},h1h2 h8h7 g2g7", r"line 2: opening x:1 is over"),
        ("x:1,", r"line 2: 2 fields"),
        (",,e2e4", r"line 2: the id '' is empty or not printable"),
        ('"x\n1",,e2e4', r"line 3: the id 'x.n1' is empty"),
    ],
)
def test_a_damaged_file_of_openings_is_named_with_its_line(tmp_path, rows, message):
    path = write(tmp_path, "o.csv", f"id,fen,moves\n{rows}\n")
    with pytest.raises(OpeningError, match=r"o\.csv, " + message):
        read_openings(path)


def test_another_file_is_not_a_file_of_openings(tmp_path):
    with pytest.raises(OpeningError, match="the first line must be id,fen,moves"):
        read_openings(write(tmp_path, "o.csv", FEN_A))
    with pytest.raises(OpeningError, match=r"none\.csv"):
        read_openings(tmp_path / "none.csv")
