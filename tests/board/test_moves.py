"""Every move of many positions, made in a batch, leads where python-chess says."""

import chess
import numpy as np
import pytest
from position_files import FENS
from reference import reference_planes

from searchless_rl.board import GameBatch, move_index


@pytest.mark.parametrize("mirrored", [False, True], ids=["as written", "colours exchanged"])
@pytest.mark.parametrize("fen", FENS)
def test_every_move_and_every_reply_leads_where_python_chess_says(fen, mirrored):
    """Pieces, rights to castle, clock and history after a move and each reply, all in one batch."""
    root = chess.Board(fen)
    root = root.mirror() if mirrored else root
    lines = []
    for move in root.legal_moves:
        board = root.copy()
        board.push(move)
        replies = list(board.legal_moves)
        lines += [[move, reply] for reply in replies] or [[move]]
    boards = []
    for line in lines:
        boards.append(root.copy())
        for move in line:
            boards[-1].push(move)

    games = GameBatch([root.fen(en_passant="fen")] * len(lines))
    games.play([[move.uci() for move in line] for line in lines])

    planes = games.planes()
    for row, board in enumerate(boards):
        assert games.board_fen(row).split()[:3] == board.fen().split()[:3]
        assert planes[row, 109, 0, 0] == board.halfmove_clock
        assert games.is_white[row] == board.turn
    for row in range(0, len(lines), max(1, len(lines) // 100)):
        np.testing.assert_array_equal(planes[row], reference_planes(boards[row]), boards[row].fen())


def test_copies_go_their_own_ways():
    games = GameBatch([None, None])
    games.play([["g1f3", "g8f6", "f3g1"], ["e2e4"]])
    copy = games.select(np.array([0, 0, 1]))
    before = games.planes()
    copy.play([["f6g8"], ["d7d5"], ["e7e5"]])
    copy.restart(np.array([2]))
    np.testing.assert_array_equal(games.planes(), before)
    assert games.plies.tolist() == [3, 1]
    assert copy.plies.tolist() == [4, 4, 0]
    assert copy.planes()[0, 12].all()  # the start position again
    assert not copy.planes()[1, 12].any()
    games.play([["f6g8", "g1f3", "g8f6", "f3g1", "f6g8"], []])
    assert games.over.tolist() == [True, False]
    assert not copy.over.any()


def test_a_restart_that_cannot_be_leaves_every_game_as_it_was():
    games = GameBatch([None, None])
    games.play([["e2e4"], ["d2d4"]])
    before = games.planes()
    with pytest.raises(ValueError, match="not a FEN"):
        games.restart(np.array([0, 1]), [None, "rubbish"])
    np.testing.assert_array_equal(games.planes(), before)
    assert games.fens == [None, None]
    assert games.moves == [(move_index(chess.Board(), chess.Move.from_uci(uci)),) for uci in ("e2e4", "d2d4")]


def test_no_games_are_stepped_without_complaint():
    games = GameBatch([])
    none = np.zeros(0, np.int64)
    games.step(none, none)
    games.restart(none)
    games.play([])
    assert games.planes().shape == (0, 112, 8, 8)
    assert len(games.legal().index) == 0
    assert len(GameBatch([None]).select(none)) == 0
