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
