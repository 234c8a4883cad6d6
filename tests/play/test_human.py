"""A scripted human against a network."""

import chess
import pytest

from searchless_rl.play import human
from searchless_rl.play.human import picture, read_move, run_human
from searchless_rl.play.terminal import run_play


@pytest.fixture(scope="module")
def micro(pytestconfig):
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


def _play(micro, side, *lines, **settings):
    pieces = []
    run_human(micro, side, [f"{line}\n" for line in lines], write=pieces.append, **settings)
    return pieces


def _shown(pieces):
    """The moves on the screen, without the network's percentages."""
    return [
        piece.split("    ")[0]
        for piece in pieces
        if piece[:1].isdigit() and piece.partition(" ")[0][-1] == "."
    ]


def test_a_game_with_moves_of_either_notation(micro):
    pieces = _play(micro, "white", "Nf3", "", "b1c3", "quit", seed=1)
    assert pieces[0].startswith("White: you\nBlack: micro_bt4.pb.gz\n")
    moves = _shown(pieces)
    board = chess.Board()
    for text in moves:
        number, san = text.split()
        assert number == f"{board.fullmove_number}.{'' if board.turn else '..'}"
        board.push_san(san)
    assert [moves[0], moves[2], len(moves)] == ["1. Nf3", "2. Nc3", 4]
    assert pieces[-3] == f"\n{picture(board, True)}\n"
    assert pieces[-1] == "* (left)"


def test_the_network_answers_as_in_a_shown_game(micro):
    shown = []
    run_play(micro, seed=3, write=shown.append)
    line = _shown(shown)[:4]
    for side, own in (("white", line[0::2]), ("black", line[1::2])):
        pieces = _play(micro, side, *(text.split()[1] for text in own), seed=3)
        assert _shown(pieces)[:4] == line


def test_undo_takes_back_a_move_and_its_answer(micro):
    pieces = _play(micro, "white", "undo", "e4", "undo", "d4", "undo", "e2e4", "quit")
    assert pieces.count("Nothing to undo: you have not moved yet.") == 1
    moves = _shown(pieces)
    assert moves[0::2] == ["1. e4", "1. d4", "1. e4"]
    assert moves[1] == moves[5]
    black = _play(micro, "black", "undo", "a6", "undo", "quit")
    assert black.count("Nothing to undo: you have not moved yet.") == 1
    assert len(_shown(black)) == 3
    assert black[-3] == black[2]  # the board after the network's first move


def test_resigning_and_the_end_of_the_input(micro):
    assert _play(micro, "white", "resign")[-1] == "0-1 (resignation)"
    assert _play(micro, "black", "RESIGN")[-1] == "1-0 (resignation)"
    assert _play(micro, "white", "e4")[-1] == "* (left)"


def test_a_draw_is_claimed_and_does_not_end_the_game_by_itself(micro):
    fen = "8/8/8/3k4/8/3K4/8/R6r w - - {} 90"
    refused = _play(micro, "white", "draw", "quit", fen=fen.format(99))
    assert "No draw to claim" in refused[-2]
    assert _play(micro, "white", "draw", fen=fen.format(100))[-1] == "1/2-1/2 (fifty moves, claimed)"
    on = _play(micro, "white", "Ra2", "quit", fen=fen.format(100))
    assert len(_shown(on)) == 2
    assert _play(micro, "white", fen=fen.format(150))[-1] == "1/2-1/2 (seventyfive moves)"


def test_a_repetition_is_claimed(micro, monkeypatch):
    """Both sides shuffle: the network is given its moves."""
    replies = iter(["g8f6", "f6g8"] * 2)

    def shuffle(game, _network):
        return game.push(chess.Move.from_uci(next(replies)))

    monkeypatch.setattr(human.ShownGame, "let_move", shuffle)
    pieces = _play(micro, "white", "Nf3", "Ng1", "draw", "Nf3", "Ng1", "draw")
    assert sum("No draw to claim" in piece for piece in pieces) == 1
    assert pieces[-1] == "1/2-1/2 (threefold repetition, claimed)"


def test_the_end_by_rule_is_shown(micro):
    assert _play(micro, "white", "Ra8#", fen="7k/6pp/8/8/8/8/8/R6K w - - 0 1")[-1] == "1-0 (checkmate)"
    assert _play(micro, "black", fen="7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")[-1] == "1/2-1/2 (stalemate)"


def test_what_is_no_move_is_said_and_asked_for_again(micro):
    pieces = _play(micro, "white", "e5", "0000", "--", "Ke9", "e2e4q", "x" * 500, "help", "e4", "quit")
    assert sum("is no legal move here" in piece for piece in pieces) == 6
    assert all(len(piece) < 400 for piece in pieces)
    assert sum(piece.startswith("Your turn takes ") for piece in pieces) == 1
    assert _shown(pieces)[0] == "1. e4"


@pytest.mark.parametrize(
    ("fen", "text", "move"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "O-O-O", "e1c1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "0-0", "e1g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1", "e1g1"),
        ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a8=N", "a7a8n"),
        ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", "a7a8q"),
        ("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a8", None),
        ("4k3/8/8/8/8/8/8/RN2K1NR w - - 0 1", "Nd2", "b1d2"),
        ("4k3/8/8/8/8/5N2/8/RN2K3 w - - 0 1", "Nd2", None),
        ("4k3/8/8/8/8/5N2/8/RN2K3 w - - 0 1", "Nbd2", "b1d2"),
    ],
)
def test_notation(fen, text, move):
    found = read_move(chess.Board(fen), text)
    assert (found and found.uci()) == move


def test_the_board_is_seen_from_the_humans_side():
    board = chess.Board("7k/8/8/8/8/8/P7/4K3 w - - 0 1")
    assert picture(board, True).splitlines()[0] == "8 . . . . . . . k"
    assert picture(board, True).splitlines()[6:] == [
        "2 P . . . . . . .",
        "1 . . . . K . . .",
        "  a b c d e f g h",
    ]
    assert picture(board, False).splitlines()[:2] == ["1 . . . K . . . .", "2 . . . . . . . P"]
    assert picture(board, False).splitlines()[7:] == ["8 k . . . . . . .", "  h g f e d c b a"]
