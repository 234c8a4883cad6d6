"""Games against python-chess: legal moves, results, planes, perft."""

import chess
import numpy as np
import pytest
from position_files import FENS, PERFT
from reference import reference_planes

from searchless_rl.board import Ending, GameBatch, PositionError, encode_game, move_index

MOST_LINES = 100_000  # of a perft that is counted in every run


def _perft(fen, depth):
    level, counts = GameBatch([fen]), []
    for ply in range(depth):
        legal = level.legal()
        counts.append(len(legal.index))
        if ply < depth - 1:
            level = level.select(legal.row)
            level.step(np.arange(len(level)), legal.index)
    return tuple(counts)


@pytest.mark.parametrize(("fen", "expected"), PERFT)
def test_perft(fen, expected):
    counts = [count for count in expected if count <= MOST_LINES]
    assert _perft(fen, len(counts)) == tuple(counts)


@pytest.mark.slow
def test_perft_of_the_start_position_at_depth_four():
    assert _perft(None, 4) == PERFT[0][1] == (20, 400, 8_902, 197_281)


def _ending(board: chess.Board) -> Ending:
    if not any(board.legal_moves):
        return Ending.CHECKMATE if board.is_check() else Ending.STALEMATE
    if board.is_insufficient_material():
        return Ending.MATERIAL
    if board.is_repetition(3):
        return Ending.THREEFOLD
    return Ending.FIFTY_MOVES if board.is_fifty_moves() else Ending.ONGOING


def _choose(board: chess.Board, moves: list[chess.Move], rng: np.random.Generator) -> chess.Move:
    """Random, but often straight back: repetitions and quiet stretches are what goes wrong."""
    if len(board.move_stack) >= 2 and rng.random() < 0.3:
        last = board.move_stack[-2]
        back = chess.Move(last.to_square, last.from_square)
        if back in moves:
            return back
    return moves[rng.integers(len(moves))]


def _compare_games(count: int, seed: int, plies: int = 120) -> tuple[set[Ending], int]:
    """Play `count` games in one batch beside python-chess; return the endings and the planes compared."""
    rng = np.random.default_rng(seed)
    first = [None, *FENS]
    roots = [first[i % len(first)] for i in range(count)]
    games = GameBatch(roots)
    boards = [chess.Board(fen or chess.STARTING_FEN) for fen in roots]
    live, endings, compared = list(range(count)), set(), 0
    for ply in range(plies):
        rows = np.array(live)
        legal = games.legal(rows)
        chosen = []
        for position, row in enumerate(live):
            board = boards[row]
            moves = list(board.legal_moves)
            ours = legal.index[legal.start[position] : legal.start[position + 1]].tolist()
            assert ours == sorted(move_index(board, move) for move in moves), board.fen()
            assert [games.uci(row, i) for i in ours] == [
                move.uci() for move in sorted(moves, key=lambda move: move_index(board, move))
            ]
            move = _choose(board, moves, rng)
            assert games.index(row, move.uci()) == move_index(board, move)
            chosen.append(move_index(board, move))
            board.push(move)
        games.step(rows, np.array(chosen))
        planes = games.planes(rows)
        for position, row in enumerate(live):
            board = boards[row]
            assert games.ending[row] == _ending(board), board.fen()
            if ply < 9 or board.is_repetition(2) or rng.random() < 0.05 or games.ending[row]:
                np.testing.assert_array_equal(planes[position], reference_planes(board), board.fen())
                compared += 1
        endings |= {Ending(games.ending[row]) for row in live}
        live = [row for row in live if games.ending[row] == Ending.ONGOING]
        if not live:
            break
    return endings, compared


def test_random_games_agree_with_python_chess():
    endings, compared = _compare_games(110, seed=1)
    assert endings == set(Ending)
    assert compared > 1500


@pytest.mark.slow
def test_two_thousand_random_games_agree_with_python_chess():
    endings, compared = _compare_games(2_000, seed=2, plies=200)
    assert endings == set(Ending)
    assert compared > 20_000


def test_castling_out_and_back_is_no_repetition():
    """The rook and king return, the right does not: the position counts as new until it recurs."""
    moves = "e1e2 e8e7 e2e1 e7e8".split()
    game = encode_game("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", moves)
    assert not game[12].any()
    assert encode_game("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", moves * 2)[12].all()


def test_pinned_en_passant_counts_for_the_planes_but_not_for_the_rule():
    """Lc0 takes the flag where a pawn stands beside, the draw rule where it may capture."""
    moves = "d2d4 a4b4 h4h5 b4a4 h5h4 a4b4 h4h5 b4a4 h5h4".split()
    game = GameBatch(["8/8/8/8/k3p2Q/8/3P4/3K4 w - - 0 1"])
    board = chess.Board(game.fens[0])
    for uci in moves:
        game.step(np.array([0]), np.array([game.index(0, uci)]))
        board.push_uci(uci)
    assert board.is_repetition(3)
    assert game.ending[0] == Ending.THREEFOLD
    np.testing.assert_array_equal(game.planes()[0], reference_planes(board))


def test_mate_on_the_hundredth_half_move_is_mate():
    game = GameBatch(["7k/8/6K1/8/8/8/8/R7 w - - 99 120"])
    game.step(np.array([0]), np.array([game.index(0, "a1a8")]))
    assert game.ending[0] == Ending.CHECKMATE


@pytest.mark.parametrize(
    ("fen", "word"),
    [
        ("", "not a FEN"),
        ("<html>", "not a FEN"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "NO_WHITE_KING"),
        ("4k3/8/8/8/8/8/8/4K2R w KQ - 0 1", "BAD_CASTLING"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq e3 0 1", "EP_SQUARE"),
        ("4k3/4R3/8/8/8/8/8/4K3 w - - 0 1", "OPPOSITE_CHECK"),
        ("P3k3/8/8/8/8/8/8/4K3 w - - 0 1", "PAWNS_ON_BACKRANK"),
    ],
)
def test_positions_nobody_can_play_are_refused(fen, word):
    with pytest.raises(PositionError, match=word) as error:
        GameBatch([fen])
    assert repr(fen) in str(error.value)


def test_an_illegal_move_names_position_and_move_and_changes_nothing():
    games = GameBatch([None, None])
    before = games.planes()
    with pytest.raises(ValueError, match=r"illegal move e2e5 \(move 1 of game 1, in rnbqkbnr"):
        games.step(np.array([0, 1]), np.array([games.index(0, "e2e4"), games.index(1, "e2e5")]))
    np.testing.assert_array_equal(games.planes(), before)
    with pytest.raises(ValueError, match=r"illegal move e2e4 \(move 2, in rnbqkbnr"):
        encode_game(None, ["e2e4", "e2e4"])


LINES = ("e2e4 c7c5 g1f3", "", "d2d4", "g1f3 g8f6 g2g3 g7g6 f1g2 f8g7 e1g1 e8h8")


def test_lines_are_played_in_lockstep_as_each_alone():
    games = GameBatch([None] * 4)
    games.play([line.split() for line in LINES])
    assert games.plies.tolist() == [3, 0, 1, 8]
    for row, line in enumerate(LINES):
        board = chess.Board()
        for uci in line.split():
            board.push_uci(uci)
        assert games.board_fen(row) == board.fen(en_passant="fen")
        np.testing.assert_array_equal(games.planes()[row], reference_planes(board))
        np.testing.assert_array_equal(encode_game(None, line.split()), games.planes()[row])


def test_lines_are_played_in_the_named_games_and_go_on_where_these_stand():
    games = GameBatch([None] * 4)
    games.play([["d2d4", "d7d5"], ["e2e4"]], np.array([3, 1]))
    games.play([["c2c4"], ["e7e5"]], np.array([3, 1]))
    assert games.plies.tolist() == [0, 2, 0, 3]
    np.testing.assert_array_equal(games.planes()[3], encode_game(None, ["d2d4", "d7d5", "c2c4"]))
    with pytest.raises(ValueError, match="1 lines for 4 games"):
        games.play([["a2a3"]])


@pytest.mark.parametrize(
    ("uci", "fault"),
    [
        ("e2e5", "illegal move e2e5"),
        ("e1c1", "illegal move e1c1"),
        ("a1a1", "a move that no piece can make"),
        ("rubbish", "not a move in UCI notation"),
        ("0000", "not a move in UCI notation"),
    ],
)
def test_a_line_that_cannot_be_played_names_move_ply_and_game(uci, fault):
    games = GameBatch([None] * 3)
    with pytest.raises(ValueError, match=rf"{fault}.*\(move 3 of game 2, in rnbqkbnr/pppp1ppp/8/4p3/4P3/8"):
        games.play([["d2d4"], [], ["e2e4", "e7e5", uci, "a7a6"]])
    assert games.plies.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("fen", "wrong", "fault"),
    [
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8", "names no piece to promote to"),
        ("4k3/8/8/8/8/8/p7/4K3 b - - 0 1", "a2a1", "names no piece to promote to"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "e1e2n", "no pawn reaches the last rank"),
        ("4k3/R7/8/8/8/8/8/4K3 w - - 0 1", "a7a8n", "no pawn reaches the last rank"),
        ("4k3/R7/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", "no pawn reaches the last rank"),
        ("4k3/8/8/8/8/8/P7/4K3 w - - 0 1", "a2a3n", "no pawn reaches the last rank"),
        ("4k3/8/8/8/2K5/8/8/8 w - - 0 1", "c4e4", "illegal move c4e4"),
    ],
)
def test_the_text_of_a_move_fits_the_piece_that_moves(fen, wrong, fault):
    with pytest.raises(ValueError, match=fault):
        encode_game(fen, [wrong])
