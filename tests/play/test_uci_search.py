"""The UCI engine with a tree search: option Sims."""

import io

import chess
import numpy as np
import pytest

from searchless_rl.board import GameBatch
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.play.search import LEAVES, search_move
from searchless_rl.play.uci import run_uci
from searchless_rl.search import SearchConfig, run_mcts


@pytest.fixture(scope="module")
def micro(pytestconfig):
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


def talk(weights, *commands):
    out = io.StringIO()
    run_uci(weights, [f"{command}\n" for command in commands], out)
    return out.getvalue().splitlines()


def test_the_most_visited_move_is_played_with_its_line(micro):
    info, best = talk(micro, "setoption name Sims value 40", "position startpos moves e2e4 e7e5", "go")
    game = GameBatch([None])
    game.play([["e2e4", "e7e5"]])
    evaluate = Evaluator(load_network(micro), LEAVES)
    found = run_mcts(game, evaluate, SearchConfig(leaves=LEAVES), simulations=40)
    expected = game.uci(0, int(found.best()[0]))
    assert best == f"bestmove {expected}"
    words = info.split()
    assert words[words.index("nodes") + 1] == "41"
    line = words[words.index("pv") + 1 :]
    assert line[0] == expected
    assert words[words.index("depth") + 1] == str(len(line))
    board = chess.Board()
    for move in ["e2e4", "e7e5", *line]:
        board.push_uci(move)  # legal, one after the other


def test_a_mate_is_found(micro):
    fen = "6k1/5ppp/8/8/8/8/8/R6K w - - 0 1"
    alone, searched = (
        talk(micro, f"setoption name Sims value {count}", f"position fen {fen}", "go")[-1]
        for count in (0, 400)
    )
    assert searched == "bestmove a1a8"
    assert alone.startswith("bestmove ")


def test_searchmoves_and_finished_games(micro):
    search = "setoption name Sims value 30"
    assert talk(micro, search, "position startpos", "go searchmoves a2a3 h2h3")[-1] in (
        "bestmove a2a3",
        "bestmove h2h3",
    )
    assert talk(micro, search, "position fen 7k/5KQ1/8/8/8/8/8/8 b - - 0 1", "go") == ["bestmove (none)"]


def test_the_networks_wdl_is_shown_where_asked(micro):
    info, _ = talk(micro, "setoption name Sims value 5", "setoption name UCI_ShowWDL value true", "go")
    words = info.split()
    place = words.index("wdl")
    assert sum(int(word) for word in words[place + 1 : place + 4]) == 1000


def test_the_game_is_left_as_it_was(micro):
    game = GameBatch([None])
    before = game.planes()
    search_move(Evaluator(load_network(micro), 1), game, 20)
    np.testing.assert_array_equal(game.planes(), before)
    assert game.moves == [()]


DRAWN = [
    "position startpos moves g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8",
    "position fen 4k3/8/8/8/8/8/8/R3K3 w - - 120 90",
    "position fen 4k3/8/8/8/8/8/8/4K3 w - - 0 1",
]


@pytest.mark.parametrize("position", DRAWN)
def test_a_drawn_game_that_nobody_claims_is_played_on(micro, position):
    """The move of the network alone: a GUI takes `bestmove (none)` for a resignation."""
    alone = talk(micro, position, "go")[-1]
    info, best = talk(micro, "setoption name Sims value 30", position, "go")
    assert best == alone != "bestmove (none)"
    assert info == f"info depth 1 nodes 1 score cp 0 pv {alone.split()[1]}"


def test_go_nodes_replaces_the_option_where_there_is_a_search(micro):
    search, position = "setoption name Sims value 30", "position startpos moves d2d4"
    for nodes, expected in (("25", "25"), ("1", "1"), ("2", "2")):
        info = talk(micro, search, position, f"go nodes {nodes}")[0].split()
        assert info[info.index("nodes") + 1] == expected
    own = talk(micro, position, "go")[-1]
    assert talk(micro, search, position, "go nodes 1")[-1] == own
    assert talk(micro, position, "go nodes 500")[0].startswith("info depth 1 nodes 1 ")
    assert "nodes 31 " in talk(micro, search, position, "go wtime 1000 btime 1000")[0]


@pytest.mark.parametrize("value", ["", "0", "-5", "ten", "2.5", "9" * 40])
def test_a_number_of_nodes_that_is_none_is_named(micro, value):
    said = talk(micro, "setoption name Sims value 5", f"go nodes {value}")
    assert len(said) == 1
    assert said[0].startswith("info string go nodes '")
    assert "allowed: 1 to 1000001" in said[0]


def test_a_network_of_no_numbers_is_named(micro, tmp_path):
    import torch

    from searchless_rl.lc0 import save_network

    network = load_network(micro)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.fill_(3e37)
    path = tmp_path / "broken.pb.gz"
    save_network(network, path)
    with pytest.raises(RuntimeError, match=r"broken\.pb\.gz.*not finite"):
        talk(path, "setoption name Sims value 5", "go")


def test_the_terminal_plays_by_search(micro, monkeypatch):
    from searchless_rl.play import terminal

    monkeypatch.setattr(terminal, "MAX_PLIES", 3)
    pieces = []
    terminal.run_play(micro, simulations=12, write=pieces.append)
    board, evaluator = chess.Board(), Evaluator(load_network(micro), 1)
    for line in pieces[1:-1:2]:
        game = GameBatch([None])
        game.play([[move.uci() for move in board.move_stack]])
        found = search_move(evaluator, game, 12)
        assert line.split()[1] == board.san(chess.Move.from_uci(found.move))
        board.push_uci(found.move)
    assert len(board.move_stack) == 3


def test_the_command_takes_simulations_or_a_seed(micro, monkeypatch, capsys):
    from searchless_rl import cli
    from searchless_rl.play import human, terminal

    seen = []
    monkeypatch.setattr(terminal, "run_play", lambda *_, **settings: seen.append(settings["simulations"]))
    monkeypatch.setattr(human, "run_human", lambda *_, **settings: seen.append(settings["simulations"]))
    assert not cli.main(["play", "--weights", str(micro), "--sims", "7"])
    assert not cli.main(["play", "--weights", str(micro), "--human", "white", "--sims", "9"])
    assert seen == [7, 9]
    for wrong in (["--sims", "5", "--seed", "1"], ["--sims", "-1"], ["--sims", "1000001"]):
        with pytest.raises(SystemExit):
            cli.main(["play", *wrong])
        assert "--sims" in capsys.readouterr().err
