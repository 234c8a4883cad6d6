"""A game shown in the terminal, read back with python-chess."""

import re

import chess
import pytest
import torch

from searchless_rl.board import encode_game, move_index
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.play import terminal as play
from searchless_rl.play.terminal import run_play

MOVE = re.compile(r"(\d+)\.(\.\.)? (\S+)    win (\d+) %, draw (\d+) %, loss (\d+) %")


@pytest.fixture(scope="module")
def micro(pytestconfig):
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


@pytest.fixture(scope="module")
def opponent(micro, tmp_path_factory):
    """The same network with other policies for Black's sake."""
    network = load_network(micro)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.numel() > 1:
                parameter += (
                    0.2 * parameter.std(correction=0) * torch.randn(parameter.shape, generator=generator)
                )
    path = tmp_path_factory.mktemp("network") / "opponent.pb.gz"
    save_network(network, path)
    return path


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(play, "MAX_PLIES", 30)


def _show(*arguments, **settings):
    pieces = []
    run_play(*arguments, write=pieces.append, **settings)
    return pieces


def _moves(pieces, fen=chess.STARTING_FEN):
    """The game's last board; every board shown and every number is checked on the way."""
    board = chess.Board(fen)
    assert pieces[0].endswith(f"\n\n{board}\n")
    for line, picture in zip(pieces[1:-1:2], pieces[2:-1:2], strict=True):
        number, black, san, *shares = MOVE.fullmatch(line).groups()
        assert int(number) == board.fullmove_number
        assert (black is None) == board.turn
        assert 99 <= sum(map(int, shares)) <= 101
        board.push_san(san)
        assert picture == f"\n{board}\n"
    return board


def _best(path, board):
    planes = torch.from_numpy(encode_game(None, [move.uci() for move in board.move_stack]))[None]
    with torch.no_grad():
        logits = load_network(path)(planes).policy[0]
    return max(board.legal_moves, key=lambda move: float(logits[move_index(board, move)]))


def test_white_and_black_play_their_own_networks(micro, opponent):
    pieces = _show(micro, opponent)
    assert pieces[0].startswith("White: micro_bt4.pb.gz\nBlack: opponent.pb.gz\n")
    board = _moves(pieces)
    replay, differing = chess.Board(), 0
    for move in board.move_stack:
        own, other = (micro, opponent) if replay.turn else (opponent, micro)
        assert move == _best(own, replay)
        differing += move != _best(other, replay)
        replay.push(move)
    assert differing > 3


def test_a_seed_samples_one_game(micro):
    games = {seed: _show(micro, seed=seed) for seed in (0, 1)}
    assert _show(micro, seed=0) == games[0]
    lines = {seed: _moves(pieces).move_stack for seed, pieces in games.items()}
    assert lines[0] != lines[1]
    assert _moves(_show(micro)).move_stack not in lines.values()


def test_games_end_with_their_result(micro):
    mate = "7k/6pp/8/8/8/8/8/R6K w - - 0 1"
    endings = {_show(micro, fen=mate, seed=seed)[-1] for seed in range(12)}
    assert endings <= {"1-0 (checkmate)", "0-1 (checkmate)"} | {
        f"1/2-1/2 ({reason})"
        for reason in ("stalemate", "threefold repetition", "insufficient material", "ply cap")
    }
    mated = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
    assert _show(micro, fen=mated) == [_show(micro, fen=mated)[0], "1-0 (checkmate)"]
    late = "4k3/pppp4/8/8/8/8/4PPPP/4K3 b - - 0 15"
    pieces = _show(micro, fen=late)
    assert len(_moves(pieces, late).move_stack) == 1  # ply 29 of 30
    assert pieces[-1] == "1/2-1/2 (ply cap)"


def test_bad_input_is_named(micro, tmp_path):
    with pytest.raises(ValueError, match="not a FEN: 'rubbish'"):
        _show(micro, fen="rubbish")
    with pytest.raises(RuntimeError, match=r"none\.pb\.gz"):
        _show(tmp_path / "none.pb.gz")
