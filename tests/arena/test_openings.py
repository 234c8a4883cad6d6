"""Opening books of every format against python-chess, and the book that the base makes itself."""

import gzip
from collections import Counter

import chess
import numpy as np
import pytest
import torch

from searchless_rl.arena import book
from searchless_rl.arena.book import make_book
from searchless_rl.arena.openings import (
    Opening,
    OpeningError,
    draw_openings,
    read_openings,
    write_openings,
)
from searchless_rl.arena.players import sample_moves
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.arena.stage import sample_openings
from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.evaluation.policy import log_probabilities
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator

FEN_A = "r1b1k1nr/pppp1p2/2nb1q1p/4p1p1/2BPP3/2P2N2/P4PPP/RNBQ1R1K w kq - 0 9"
FEN_B = "r1bq1rk1/pp1pn1bp/2n3p1/2p1pp2/4PP2/2PP2PN/PP4BP/RNBQ1RK1 b - - 1 9"
MATED = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
DEAD = "8/8/4k3/8/8/3K4/8/8 w - - 0 1"
NOT_CHESS = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQ1BNR w kq - 0 1"

PGN = f"""\
[Event "one"]
[Result "*"]

1. e4 e5 2. Nf3 {{a comment with
[brackets] at the start of a line}} Nc6 (2... d6) *

[Event "the same by another way"]

1. Nf3 Nc6 2. e4 e5 *

[Event "from a position"]
[FEN "{FEN_B}"]
[SetUp "1"]

9... d6 *

[Event "an illegal move"]

1. e4 Ke7 *

[Event "fool's mate"]

1. f3 e5 2. g4 Qh4# 0-1

[Event "no moves"]

*

[Event "a variant"]
[Variant "Atomic"]

1. e4 *
"""


def _book(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path


def _position(opening):
    board = chess.Board(opening.fen) if opening.fen else chess.Board()
    for uci in opening.moves:
        board.push_uci(uci)
    return board


def test_every_spelling_of_a_position(tmp_path):
    lines = [
        "# a comment",
        FEN_A,
        "",
        "r1bq1rk1/pp1pn1bp/2n3p1/2p1pp2/4PP2/2PP2PN/PP4BP/RNBQ1RK1 b - -",
        'rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 hmvc 0; fmvn 2; id "a b";',
        chess.STARTING_FEN,
    ]
    drawn = draw_openings(_book(tmp_path, "mixed.epd", "\r\n".join(lines)), count=4, seed=0)
    assert drawn.entries == 4
    assert not drawn.rejected
    assert {opening.id: opening.fen for opening in drawn.openings} == {
        "mixed:2": FEN_A,
        "mixed:4": FEN_B.replace("- 1 9", "- 0 1"),
        "mixed:5": "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 0 1",
        "mixed:6": None,
    }
    assert all(opening.moves == () for opening in drawn.openings)
    plies = {opening.id: opening.plies for opening in drawn.openings}
    assert plies == {"mixed:2": 16, "mixed:4": 1, "mixed:5": 0, "mixed:6": 0}


def test_games_keep_their_moves_as_history(tmp_path):
    drawn = draw_openings(_book(tmp_path, "lines.pgn", PGN), count=3, seed=1)
    found = {opening.id: opening for opening in drawn.openings}
    assert drawn.entries == 7
    first = [found.pop(name) for name in ("lines:1", "lines:2") if name in found]
    assert len(first) == 1  # two ways to one position: whichever is drawn first
    assert " ".join(first[0].moves) in ("e2e4 e7e5 g1f3 b8c6", "g1f3 b8c6 e2e4 e7e5")
    assert found == {
        "lines:3": Opening("lines:3", FEN_B, ("d7d6",)),
        "lines:6": Opening("lines:6", None, ()),
    }
    assert found["lines:3"].plies == 18


def test_what_cannot_be_played_is_counted_and_named(tmp_path):
    with pytest.raises(OpeningError) as error:
        draw_openings(_book(tmp_path, "lines.pgn", PGN), count=4, seed=1)
    message = str(error.value)
    assert "only 3 of 7 entries" in message
    assert "2 invalid, 1 over, 1 repeated" in message
    assert "Ke7" in message
    assert "Atomic" in message
    twice = FEN_A.replace("0 9", "3 12")
    text = "\n".join([MATED, DEAD, NOT_CHESS, "8/8/8/8 w - - 0 1", "hello", FEN_A, twice])
    with pytest.raises(OpeningError) as error:
        draw_openings(_book(tmp_path, "bad.epd", text), count=2, seed=0)
    assert "only 1 of 7 entries can be used (3 invalid, 2 over, 1 repeated)" in str(error.value)


def test_an_en_passant_square_without_a_capture_makes_no_new_position(tmp_path):
    fens = ["rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"] * 2
    fens[1] = fens[1].replace("e3", "-")
    with pytest.raises(OpeningError, match="1 repeated"):
        draw_openings(_book(tmp_path, "ep.epd", "\n".join(fens)), count=2, seed=0)


def test_files_that_are_no_books(tmp_path):
    with pytest.raises(OSError, match=r"none\.epd"):
        draw_openings(tmp_path / "none.epd", count=1, seed=0)
    packed = tmp_path / "book.epd.zip"
    packed.write_bytes(b"PK\x03\x04rest")
    with pytest.raises(OpeningError, match="unzip it first"):
        draw_openings(packed, count=1, seed=0)
    cut = tmp_path / "book.epd.gz"
    cut.write_bytes(gzip.compress(FEN_A.encode() * 100)[:-20])
    with pytest.raises(OpeningError, match=r"book\.epd\.gz: damaged"):
        draw_openings(cut, count=1, seed=0)
    with pytest.raises(OpeningError, match="0 openings wanted"):
        draw_openings(cut, count=0, seed=0)


def test_a_packed_book_is_the_book(tmp_path):
    plain = _book(tmp_path, "lines_+0.80.pgn", PGN)
    packed = tmp_path / "lines_+0.80.pgn.gz"
    packed.write_bytes(gzip.compress(PGN.encode()))
    one, other = (draw_openings(path, count=3, seed=5).openings for path in (plain, packed))
    assert one == other
    assert one[0].id.startswith("lines_+0.80:")


def test_the_draw_is_seeded_and_uniform(tmp_path):
    boards = []
    for first in chess.Board().legal_moves:
        board = chess.Board()
        board.push(first)
        boards.append(board.fen())
    path = _book(tmp_path, "first.epd", "\n".join(boards))
    ten = draw_openings(path, count=10, seed=7).openings
    sample_openings(path, tmp_path / "ten.csv", count=10, seed=7)
    assert read_openings(tmp_path / "ten.csv") == ten
    assert draw_openings(path, count=4, seed=7).openings == ten[:4]
    seen = Counter(
        opening.id for seed in range(200) for opening in draw_openings(path, count=5, seed=seed).openings
    )
    assert len(seen) == 20
    assert abs(np.array(list(seen.values())) - 50).max() < 4 * np.sqrt(200 * 0.25 * 0.75)


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
        ("x:1,rubbish,", r"line 2: opening x:1: not a FEN"),
        ("x:1,", r"line 2: 2 fields"),
        (",,e2e4", r"line 2: the id '' is empty or not printable"),
        ('"x\n1",,e2e4', r"line 3: the id 'x.n1' is empty"),
    ],
)
def test_a_damaged_file_of_openings_is_named_with_its_line(tmp_path, rows, message):
    path = _book(tmp_path, "o.csv", f"id,fen,moves\n{rows}\n")
    with pytest.raises(OpeningError, match=r"o\.csv, " + message):
        read_openings(path)


def test_another_file_is_not_a_file_of_openings(tmp_path):
    with pytest.raises(OpeningError, match="the first line must be id,fen,moves"):
        read_openings(_book(tmp_path, "o.csv", FEN_A))
    with pytest.raises(OpeningError, match=r"none\.csv"):
        read_openings(tmp_path / "none.csv")


def test_the_published_book(shared):
    """2,000 positions of UHO 4060 v4: White to move at ply 16, all different, drawn by seed."""
    path = shared / "data" / "uho" / "UHO_4060_v4_sample2000.epd"
    lines = path.read_text().split("\n")
    drawn = draw_openings(path, count=500, seed=3)
    assert drawn.entries == 2000
    assert not drawn.rejected
    assert len({opening.fen for opening in drawn.openings}) == 500
    for opening in drawn.openings:
        assert opening.fen == lines[int(opening.id.split(":")[1]) - 1].strip()
        assert opening.plies == 16
        board = chess.Board(opening.fen)
        assert board.is_valid()
        assert board.turn == chess.WHITE
        assert not board.is_game_over(claim_draw=True)


@pytest.fixture(scope="module")
def micro(pytestconfig):
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


def test_the_own_book(tmp_path, micro, monkeypatch):
    """Every line held to the rule, with python-chess and the network alone."""
    low, high = 0.5, 0.6
    monkeypatch.setattr(book, "WHITE_SCORE", (low, high))
    monkeypatch.setattr(book, "CHUNK", 64)
    make_book(micro, tmp_path / "book.csv", count=25, seed=2, batch_size=16)
    openings = read_openings(tmp_path / "book.csv")
    network = load_network(micro)
    assert [opening.id for opening in openings] == [f"book:{n}" for n in range(1, 26)]
    assert {len(opening.moves) for opening in openings} == {12, 14, 16}
    for opening in openings:
        assert opening.fen is None
        board = _position(opening)
        assert board.turn == chess.WHITE
        assert not board.is_game_over(claim_draw=True)
        with torch.no_grad():
            wdl = network(torch.from_numpy(encode_game(None, opening.moves))[None]).wdl[0]
        assert low - 1e-5 <= wdl[0] + wdl[1] / 2 <= high + 1e-5
    assert len({_position(opening).epd() for opening in openings}) == 25


def test_positions_of_the_own_book_differ(tmp_path, micro, monkeypatch):
    """One full move has 400 outcomes, so that lines meet."""
    monkeypatch.setattr(book, "FULL_MOVES", (1, 1))
    monkeypatch.setattr(book, "WHITE_SCORE", (0.0, 1.0))
    monkeypatch.setattr(book, "CHUNK", 100)
    make_book(micro, tmp_path / "book.csv", count=100, seed=0, batch_size=16)
    openings = read_openings(tmp_path / "book.csv")
    assert len({_position(opening).epd() for opening in openings}) == 100


def test_a_smaller_book_begins_the_larger_one(tmp_path, micro, monkeypatch):
    monkeypatch.setattr(book, "WHITE_SCORE", (0.5, 0.6))
    monkeypatch.setattr(book, "CHUNK", 32)
    seen = []
    make_book(micro, tmp_path / "large.csv", count=15, seed=2, batch_size=16, advance=seen.append)
    assert sum(seen) == 15
    monkeypatch.setattr(book, "CHUNK", 7)
    make_book(micro, tmp_path / "small.csv", count=7, seed=2, batch_size=16)
    assert read_openings(tmp_path / "small.csv") == read_openings(tmp_path / "large.csv")[:7]
    make_book(micro, tmp_path / "other.csv", count=7, seed=3, batch_size=16)
    assert read_openings(tmp_path / "other.csv") != read_openings(tmp_path / "small.csv")


def test_lines_are_sampled_from_the_raw_policy(micro, monkeypatch):
    """First moves of many lines against the network's own probabilities at the start position."""
    monkeypatch.setattr(book, "FULL_MOVES", (1, 1))
    network = load_network(micro)
    lines = book._play_lines(Evaluator(network, 64), range(600), seed=0)
    with torch.no_grad():
        logits = network(torch.from_numpy(encode_game(None, []))[None]).policy[0]
    board = chess.Board()
    moves = list(board.legal_moves)
    policy = torch.softmax(logits[[move_index(board, move) for move in moves]].double(), 0).numpy()
    counts = Counter(line[1][0] for line in lines)
    raw = log_probabilities(logits[None].numpy(), GameBatch([None]).legal())
    for number in range(40):
        uniform = game_uniforms(Stream.BOOK, 0, str(number), 1)
        first = sample_moves(raw, GameBatch([None]).legal(), uniform)[0]
        assert move_index(board, chess.Move.from_uci(lines[number][1][0])) == first
    for move, share in zip(moves, policy, strict=True):
        error = np.sqrt(share * (1 - share) / 600)
        assert abs(counts[move.uci()] / 600 - share) < 4 * error + 1e-3, move


def test_a_network_that_never_agrees_makes_no_book(tmp_path, micro, monkeypatch):
    monkeypatch.setattr(book, "WHITE_SCORE", (0.999, 1.0))
    monkeypatch.setattr(book, "TRIES", 10)
    monkeypatch.setattr(book, "CHUNK", 8)
    with pytest.raises(OpeningError, match=r"of 16 lines only 0 .* 1 wanted"):
        make_book(micro, tmp_path / "book.csv", count=1, seed=0, batch_size=8)
    assert not (tmp_path / "book.csv").exists()
