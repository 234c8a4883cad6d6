"""Moves on bitboards against python-chess."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from searchless_rl.board import GameBatch, move_index
from searchless_rl.board.games import FEW
from searchless_rl.board.moving import make_moves

# The positions of the perft tables on the Chess Programming Wiki (castling, pins, promotions, en passant),
# with three that add what they lack: rooks that take rooks at home, en passant at both edges.
FENS = """
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1
r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1
8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1
r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1
rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8
r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10
r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 7 9
8/8/7k/pP6/7K/8/8/8 w - a6 0 2
8/8/k7/6Pp/K7/8/8/8 w - h6 0 2
""".split("\n")[1:-1]


def _bitboards(board: chess.Board) -> list[int]:
    return [
        int(board.pieces(kind, side)) for side in (chess.WHITE, chess.BLACK) for kind in chess.PIECE_TYPES
    ]


def _rights(board: chess.Board) -> list[bool]:
    return [
        has(side)
        for side in (chess.WHITE, chess.BLACK)
        for has in (board.has_kingside_castling_rights, board.has_queenside_castling_rights)
    ]


@pytest.mark.parametrize("mirrored", [False, True], ids=["as written", "colours exchanged"])
@pytest.mark.parametrize("fen", FENS)
def test_every_move_and_every_reply_leads_where_python_chess_says(fen: str, mirrored: bool) -> None:
    root = chess.Board(fen)
    root = root.mirror() if mirrored else root
    boards = [root]
    for move in root.legal_moves:
        boards.append(root.copy(stack=False))
        boards[-1].push(move)
    pairs = [(board, move) for board in boards for move in board.legal_moves]
    after = [board.copy(stack=False) for board, _ in pairs]
    for board, (_, move) in zip(after, pairs, strict=True):
        board.push(move)

    moved = make_moves(
        np.array([_bitboards(board) for board, _ in pairs], np.uint64),
        np.array([_rights(board) for board, _ in pairs]),
        np.array([board.turn for board, _ in pairs]),
        np.array([move_index(board, move) for board, move in pairs]),
    )

    np.testing.assert_array_equal(moved.position, np.array([_bitboards(board) for board in after], np.uint64))
    np.testing.assert_array_equal(moved.castling, [_rights(board) for board in after])

    games = GameBatch([board.fen() for board, _ in pairs])
    games.step(np.arange(len(pairs)), np.array([move_index(board, move) for board, move in pairs]))
    clocks = games.planes()[:, 109, 0, 0]
    np.testing.assert_array_equal(clocks, [board.halfmove_clock for board in after])
    np.testing.assert_array_equal(clocks == 0, [board.is_zeroing(move) for board, move in pairs])


def test_few_games_and_many_are_stepped_alike_also_past_the_fifty_moves() -> None:
    fen = "8/8/8/3k4/8/3K4/8/R6r w - - 97 80"
    few, many = GameBatch([fen]), GameBatch([fen] * FEW)
    for uci in "a1a2 h1h2 a2a1 h2h1 a1b1 h1g1 b1g1 d5e5".split():
        for games in (few, many):
            rows = np.arange(len(games))
            games.step(rows, np.array([games.index(row, uci) for row in rows.tolist()]))
        np.testing.assert_array_equal(many.planes(), np.repeat(few.planes(), FEW, 0))
        np.testing.assert_array_equal(many.ending, np.repeat(few.ending, FEW))


def test_no_position_is_none() -> None:
    moved = make_moves(
        np.zeros((0, 12), np.uint64), np.zeros((0, 4), bool), np.zeros(0, bool), np.zeros(0, np.int64)
    )
    assert moved.position.shape == (0, 12)
    assert moved.castling.shape == (0, 4)
