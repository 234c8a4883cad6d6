"""The book that the base makes itself, held to its rule with python-chess and the network alone."""

from collections import Counter

import chess
import numpy as np
import pytest
import torch

from searchless_rl.arena import book
from searchless_rl.arena.book import make_book
from searchless_rl.arena.openings import OpeningError, read_openings
from searchless_rl.arena.players import sample_moves
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.evaluation.policy import log_probabilities
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator


def _position(opening):
    board = chess.Board()
    for uci in opening.moves:
        board.push_uci(uci)
    return board


@pytest.fixture(scope="module")
def micro(pytestconfig):
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


def test_the_own_book(tmp_path, micro, monkeypatch):
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
    make_book(micro, tmp_path / "large.csv", count=15, seed=2, batch_size=16, on_openings=seen.append)
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
