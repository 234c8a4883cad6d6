"""Half-move clocks past 100: legal until a draw is claimed, and what lc0 then feeds its networks."""

import json
import re

import chess
import numpy as np
import pytest
from reference import reference_planes

from searchless_rl.board import Ending, GameBatch, PositionError, encode_game

ROOKS = "8/8/8/3k4/8/3K4/8/R6r w - - {} 80"
QUIET = "a1a2 h1h2 a2a1 h2h1 a1b1 h1g1 b1b2 g1g2 b2b1 g2g1".split()


def test_planes_are_the_real_lc0s(pytestconfig):
    """Recorded from lc0 0.32.1: clocks of the FEN up to 70,000, and clocks counted on past 100."""
    path = pytestconfig.rootpath / "tests" / "data" / "positions" / "clocks_lc0.json"
    positions = json.loads(path.read_text())["positions"]
    assert len(positions) == 18
    for position in positions:
        expected = np.zeros((112, 64), np.float32)
        for plane, (bits, value) in enumerate(position["planes"]):
            expected[plane, [square for square in range(64) if int(bits, 16) >> square & 1]] = value
        found = encode_game(position["fen"], position["moves"].split())
        np.testing.assert_array_equal(found.reshape(112, 64), expected, str(position["fen"]))


@pytest.mark.parametrize("games", [1, 40])
def test_the_clock_counts_on_whatever_number_of_games_is_stepped(games):
    batch = GameBatch([ROOKS.format(97)] * games)
    board = chess.Board(ROOKS.format(97))
    for uci in [*QUIET, "b1g1"]:
        batch.play([[uci]] * games)
        board.push_uci(uci)
        planes = reference_planes(board)
        np.testing.assert_array_equal(batch.planes(), np.repeat(planes[None], games, 0))
        assert batch.board_fen(games - 1) == board.fen(en_passant="fen")
        assert (batch.ending == Ending.FIFTY_MOVES).all() == (board.halfmove_clock >= 100)
    assert board.halfmove_clock == 0
    assert batch.select(np.array([0])).planes()[0, 109, 0, 0] == 0


def test_mate_comes_before_the_clock_and_a_capture_sets_it_back():
    mates = GameBatch(["7k/8/6K1/8/8/8/8/R7 w - - 120 120"])
    assert mates.ending[0] == Ending.FIFTY_MOVES
    mates.play([["a1a8"]])
    assert mates.ending[0] == Ending.CHECKMATE
    assert mates.planes()[0, 109, 0, 0] == 121
    pawn = GameBatch(["4k3/8/8/8/8/8/P7/4K3 w - - 149 120"])
    pawn.play([["a2a3"]])
    assert pawn.ending[0] == Ending.ONGOING
    assert pawn.planes()[0, 109, 0, 0] == 0


def test_random_games_go_on_past_the_fifty_moves_as_in_python_chess():
    rng = np.random.default_rng(0)
    fens = ["8/8/2q1k3/8/8/3QK3/8/8 w - - 95 90", "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 149 200", None] * 6
    games, boards = GameBatch(fens), [chess.Board(fen or chess.STARTING_FEN) for fen in fens]
    largest = 0
    for _ in range(40):
        moves = []
        for board in boards:
            legal = [move.uci() for move in board.legal_moves]
            moves.append([legal[rng.integers(len(legal))]] if legal else [])
            if legal:
                board.push_uci(moves[-1][0])
        games.play(moves)
        planes = games.planes()
        for row, board in enumerate(boards):
            np.testing.assert_array_equal(planes[row], reference_planes(board), board.fen())
            largest = max(largest, board.halfmove_clock)
    assert largest > 150


@pytest.mark.parametrize(
    ("fen", "words"),
    [
        (ROOKS.format(2**31), "half-move clock 2147483648 is out of range; allowed: 0 to 2147483647"),
        (ROOKS.format(-1), "not a FEN"),
        (ROOKS.format("x"), "not a FEN"),
        (ROOKS.format(9)[:-2] + "70000", "full-move number 70000 is out of range; allowed: 1 to 65535"),
        (ROOKS.format(9)[:-2] + "9" * 30, "full-move number 9+ is out of range"),
    ],
)
def test_counters_out_of_range_are_named_with_the_fen(fen, words):
    with pytest.raises(PositionError, match=words) as error:
        GameBatch([fen])
    assert repr(fen) in str(error.value)


def test_the_largest_counters_are_taken():
    fen = ROOKS.format(2**31 - 1)[:-2] + "65535"
    games = GameBatch([fen, ROOKS.format(0)[:-2] + "0", ROOKS.format(0)[:-5]])
    games.play([["a1a2"], ["a1a2"], ["a1a2"]])
    assert games.planes()[0, 109, 0, 0] == 2**31
    assert games.ending.tolist() == [Ending.FIFTY_MOVES, Ending.ONGOING, Ending.ONGOING]


def test_a_very_long_text_is_cut_in_the_message():
    with pytest.raises(PositionError, match=re.escape("(10000 characters)")) as error:
        GameBatch(["8" * 10_000])
    assert len(str(error.value)) < 600
