import chess
import numpy as np
import pytest

from searchless_rl.board.moves import move_index, uci_index
from searchless_rl.board.policy_map import ATTENTION_GATHER, CONVOLUTION_GATHER, MOVES, POLICY_SIZE


def test_known_indices():
    known = dict(a1b1=0, a1h8=22, e1a1=97, e1h1=103, g1f3=159, e2e4=322, a7a8=1401, h8g8=1791)
    known |= dict(a7a8q=1792, a7a8r=1793, b7a8q=1798, h7h8b=1857)
    assert {move: MOVES.index(move) for move in known} == known
    assert len(set(MOVES)) == POLICY_SIZE


@pytest.mark.parametrize(("gather", "size"), [(ATTENTION_GATHER, 4096 + 192), (CONVOLUTION_GATHER, 73 * 64)])
def test_gathers_are_injective(gather, size):
    assert len(np.unique(gather)) == POLICY_SIZE
    assert gather.min() >= 0
    assert gather.max() < size


def test_four_promotions_are_four_indices_for_both_colours():
    for fen, start in (("8/1P5k/8/8/8/8/7K/8 w - - 0 1", "b7b8"), ("8/7k/8/8/8/8/1p5K/8 b - - 0 1", "b2b1")):
        board = chess.Board(fen)
        indices = {piece: move_index(board, chess.Move.from_uci(start + piece)) for piece in "qrbn"}
        assert len(set(indices.values())) == 4
        assert MOVES[indices["n"]] == "b7b8"
        assert MOVES[indices["q"]] == "b7b8q"


@pytest.mark.parametrize("uci", ["", "e2", "e2e9", "e7e8k", "0000", "e2e4e5", "a1b4"])
def test_nonsense_is_refused(uci):
    with pytest.raises(ValueError, match="UCI|no piece"):
        uci_index(uci, True, np.zeros(12, np.uint64))


def test_null_move_is_refused():
    with pytest.raises(ValueError, match="not a move"):
        move_index(chess.Board(), chess.Move.null())
