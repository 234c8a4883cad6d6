"""First positions: plain FENs are read without python-chess, and never otherwise than by it."""

import chess
import numpy as np
import pytest
from position_files import FENS

from searchless_rl.board import PositionError
from searchless_rl.board.roots import _checked_root, _plain_root, read_root

RIGHTS = ("-", "KQkq", "KQ", "kq", "K", "Q", "k", "q", "Kk", "Qq", "KQk", "Kkq")


def _changed(fen: str, rng: np.random.Generator) -> str:
    """Some pieces moved, added or gone, sides or rights changed: often a position that cannot be."""
    board = chess.Board(fen)
    for _ in range(rng.integers(4)):
        square = int(rng.integers(64))
        piece = board.remove_piece_at(square)
        if piece and rng.random() < 0.7:
            board.set_piece_at(int(rng.integers(64)), piece)
        elif rng.random() < 0.6:
            board.set_piece_at(square, chess.Piece(int(rng.integers(1, 7)), bool(rng.integers(2))))
    rights = str(rng.choice(RIGHTS)) if rng.random() < 0.3 else board.castling_xfen()
    turn = str(rng.choice(["w", "b"]))
    return f"{board.board_fen()} {turn} {rights} - {rng.integers(102)} {rng.integers(1, 12000)}"


def _verdicts(fen: str) -> tuple[bool, bool]:
    """Whether the plain reading and python-chess take a FEN; what both take, they read alike."""
    plain = _plain_root(fen)
    try:
        checked = _checked_root(fen)
    except PositionError:
        return plain is not None, False
    if plain is not None:
        assert plain.board.fen() == checked.board.fen(), fen
        for name in ("is_standard", "en_passant", "clock"):
            assert getattr(plain, name) == getattr(checked, name), fen
    return plain is not None, True


def test_plain_fens_are_read_as_python_chess_reads_them():
    rng = np.random.default_rng(0)
    counts = dict.fromkeys([(plain, checked) for plain in (True, False) for checked in (True, False)], 0)
    for number in range(6000):
        fen = _changed(FENS[number % len(FENS)], rng)
        verdict = _verdicts(fen)
        counts[verdict] += 1
        assert verdict != (True, False), fen
    assert counts[True, True] > 1000
    assert counts[False, False] > 1000


@pytest.mark.parametrize(
    ("fen", "taken"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", True),
        ("r3k1r1/8/8/8/8/8/8/R3K1R1 w KQkq - 0 1", False),  # a rook of Chess960
        ("r2k3r/8/8/8/8/8/8/R2K3R w KQkq - 0 1", False),  # a king of Chess960
        ("r3k2r/8/8/8/8/8/8/R2K3R w kq - 0 1", True),
        ("r2k3r/8/8/8/8/8/8/R3K2R w KQ - 0 1", True),
        ("8/8/8/8/8/8/3k4/3K4 b - - 0 1", False),  # kings touch
        ("8/8/8/8/8/2k5/8/3K4 b - - 0 1", True),
        ("3k4/8/8/8/8/PPPPPPPP/P7/3K4 b - - 0 1", False),  # nine pawns
        ("3k4/8/8/8/NNNNNNNN/NNNNNNNN/8/3K4 b - - 0 1", False),  # seventeen pieces
    ],
)
def test_what_the_move_generator_takes_for_chess(fen, taken):
    assert _verdicts(fen) == (taken, taken)


@pytest.mark.parametrize(
    ("fen", "standard"),
    [
        (None, True),
        (chess.STARTING_FEN, True),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 17 30", True),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w QKqk - 0 1", True),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq", True),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1", False),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQk - 0 1", False),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 1", False),
    ],
)
def test_the_standard_start_position_is_known_in_any_spelling(fen, standard):
    assert read_root(fen).is_standard == standard
