"""Positions and lines on the compiled generator against python-chess: real ones, and noise."""

from __future__ import annotations

import random
from pathlib import Path

import chess
import pytest

from searchless_rl.board import encode_game
from searchless_rl.suites.puzzles import read_puzzles, solver_positions
from searchless_rl.suites.replay import (
    PlayedLine,
    is_legal,
    mates_in_one,
    play,
    play_line,
    position_key,
    read_board,
    solver_boards,
)

BUNDLED = Path(__file__).resolve().parents[2] / "data" / "lichess" / "torre_6605_2026.csv"
#: Castling, en passant (legal, pinned, none), promotions, double check, bare kings, few legal moves.
ODD_FENS = [
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "8/8/8/2k5/3Pp3/8/8/4K2R b K d3 0 1",
    "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "r3k2r/8/8/8/8/8/8/R3K2R b Kq - 12 40",
    "4k3/8/8/8/8/8/8/4K3 w - - 99 300",
    "3kr3/8/5N2/8/8/8/8/4R1K1 b - - 0 1",
]


def accepted_by_python_chess(fen: str) -> bool:
    """The rule: valid, written back as it is, and playable (counters beyond what a game can have are not)."""
    try:
        board = chess.Board(fen)
        encode_game(fen, [])
    except ValueError:
        return False
    return board.is_valid() and board.fen(en_passant="fen") == fen


def accepted(fen: str) -> bool:
    try:
        read_board(fen)
    except ValueError as error:
        message = str(error)
    else:
        return True
    assert len(message) < 400
    return False


def mutated(fen: str, source: random.Random) -> str:
    """A FEN with a character replaced, two swapped, one doubled or a field changed."""
    letters, place = list(fen), source.randrange(len(fen))
    match source.randrange(4):
        case 0:
            letters[place] = source.choice("pnbrqkPNBRQK12345678/ wb-KQkqabcdefgh0")
        case 1:
            other = source.randrange(len(fen))
            letters[place], letters[other] = letters[other], letters[place]
        case 2:
            letters[place] *= 2
        case _:
            fields = fen.split(" ")
            column = source.randrange(1, 6)
            fields[column] = source.choice(
                [
                    *("w", "b"),
                    *("KQkq", "KQ", "k", "Qk", "-", "HAha"),
                    *("e3", "d6", "a3"),
                    *("0", "1", "01", "-1"),
                ]
            )
            return " ".join(fields)
    return "".join(letters)


@pytest.mark.parametrize("seed", range(4))
def test_the_verdict_on_mutated_positions_is_python_chess(seed: int) -> None:
    """Nothing that it calls invalid is accepted, and nothing valid refused."""
    source = random.Random(seed)
    fens = ODD_FENS + [puzzle.fen for puzzle in read_puzzles(BUNDLED)[0][seed::200]]
    verdicts = {True: 0, False: 0}
    for _ in range(3000):
        fen = mutated(source.choice(fens), source)
        verdict = accepted(fen)
        assert verdict == accepted_by_python_chess(fen), fen
        verdicts[verdict] += 1
    assert min(verdicts.values()) > 100


def test_moves_keys_and_mates_in_random_games_are_those_of_python_chess() -> None:
    source = random.Random(5)
    squares = [square + target for square in chess.SQUARE_NAMES for target in chess.SQUARE_NAMES]
    seen_mates = seen_passed = 0
    for fen in ODD_FENS * 12:
        board, ours = chess.Board(fen), read_board(fen)
        while not board.is_game_over() and board.ply() < 300 and len(board.move_stack) < 60:
            assert position_key(ours) == board.epd()
            legal = {move.uci() for move in board.legal_moves}
            words = [*source.sample(squares, 20), "e1g1", "e1h1", "e8c8", "e8a8", "0000", "e7e8k", "e2e4 "]
            assert {word for word in {*legal, *words} if is_legal(ours, word)} == legal
            mates = {uci for uci in legal if mates_after(board, uci)}
            assert sorted(mates_in_one(ours)) == sorted(mates)
            seen_mates += len(mates)
            seen_passed += board.epd() != " ".join(board.fen(en_passant="fen").split()[:4])
            move = source.choice(sorted(legal))
            assert play(ours, move)
            board.push_uci(move)
        assert not play(ours, "a1a1")
    assert seen_mates > 5
    assert seen_passed > 5


def mates_after(board: chess.Board, uci: str) -> bool:
    board.push_uci(uci)
    mate = board.is_checkmate()
    board.pop()
    return mate


def test_lines_of_the_bundled_puzzles_are_those_of_python_chess() -> None:
    for puzzle in read_puzzles(BUNDLED)[0][::7]:
        end = chess.Board(puzzle.fen)
        for uci in puzzle.moves:
            end.push_uci(uci)
        keys = tuple(board.epd() for board, _ in solver_positions(puzzle))
        line = play_line(read_board(puzzle.fen), puzzle.moves)
        assert line == PlayedLine(keys, end.is_checkmate()), puzzle.id
        assert [uci for _, uci in solver_boards(puzzle.fen, puzzle.moves)] == list(puzzle.moves[1::2])


def test_the_first_illegal_move_is_named() -> None:
    assert play_line(read_board(chess.STARTING_FEN), ["e2e4", "e7e5", "e1g1", "a7a6"]) == 2
