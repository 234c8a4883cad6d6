"""Standard algebraic notation and PGN text against python-chess."""

import io

import chess
import chess.engine
import chess.pgn
import numpy as np
import pytest

from searchless_rl.arena.pgn import game_text, notation


def test_notation_is_that_of_python_chess():
    """Random games from positions rich in promotions, castling and pieces of one kind."""
    fens = [
        None,
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
        "Q6Q/8/8/1k6/8/7K/8/Q6Q b - - 0 3",
        "4k3/8/8/N1N5/8/N1N5/8/4K3 w - - 0 1",
    ]
    rng = np.random.default_rng(0)
    seen = set()
    for round_ in range(6):
        for fen in fens:
            board = chess.Board(fen) if fen else chess.Board()
            moves, expected = [], []
            while len(moves) < 80 and not board.is_game_over():
                listed = list(board.legal_moves)
                move = listed[rng.integers(len(listed))]
                moves.append(move.uci())
                expected.append(board.san(move))
                board.push(move)
            found = list(notation(fen, moves))
            assert found == expected, (round_, fen)
            seen |= {letter for text in found for letter in text}
            text = game_text({"Result": "*"}, fen, moves, "*")
            game = chess.pgn.read_game(io.StringIO(text))
            assert not game.errors
            assert [move.uci() for move in game.mainline_moves()] == moves
            assert game.end().board().fullmove_number == board.fullmove_number
    assert seen >= set("KQRBNOx+#=-12345678abcdefgh")
    with pytest.raises(ValueError, match="illegal move e2e5"):
        list(notation(None, ["e2e5"]))


def test_castling_and_its_look_alikes():
    fen = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    assert list(notation(fen, ["e1g1", "e8c8"])) == ["O-O", "O-O-O"]
    assert list(notation(fen, ["h1h8", "e8e7"])) == ["Rxh8+", "Ke7"]
    queen = "3k4/8/8/8/8/8/8/4Q1K1 w - - 0 1"
    assert list(notation(queen, ["e1c1"])) == ["Qc1"]


def test_headers_are_escaped():
    text = game_text({"Event": 'a "b" \\ c'}, None, [], "1/2-1/2")
    assert text.startswith(r'[Event "a \"b\" \\ c"]')
    assert not chess.pgn.read_game(io.StringIO(text)).errors
