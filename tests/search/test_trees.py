"""Trees between searches: advanced too early, given to other games, left by a search that failed."""

from __future__ import annotations

import numpy as np
import pytest
from reference_mcts import search
from searched_games import FakeNetwork, batch, counts, random_lines, uniform

from searchless_rl.board import GameBatch
from searchless_rl.search import SearchConfig, Trees, run_mcts, run_mcts_batched


def test_a_tree_that_has_not_begun_can_be_advanced():
    trees, games = Trees(2), GameBatch([None, None])
    played = np.array([games.index(0, "e2e4"), games.index(1, "d2d4")])
    trees.advance(np.arange(2), played)
    games.step(np.arange(2), played)
    result = run_mcts_batched(games, FakeNetwork(), SearchConfig(), simulations=10, trees=trees)
    fresh = run_mcts_batched(games, FakeNetwork(), SearchConfig(), simulations=10)
    np.testing.assert_array_equal(result.visits, fresh.visits)


def test_a_move_that_was_never_visited_begins_the_tree_anew():
    games, trees = GameBatch([None]), Trees(1)
    first = run_mcts(games, FakeNetwork(), SearchConfig(), simulations=3, trees=trees)
    never = first.move[np.flatnonzero(first.visits == 0)[:1]]
    trees.advance(np.array([0]), never)
    games.step(np.array([0]), never)
    again = run_mcts(games, FakeNetwork(), SearchConfig(), simulations=25, trees=trees)
    fresh = run_mcts(games, FakeNetwork(), SearchConfig(), simulations=25)
    assert counts(again, 0) == counts(fresh, 0)


@pytest.mark.parametrize("fens", [None, ["4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"]])
def test_trees_of_another_position_are_refused(fens):
    trees = Trees(1)
    run_mcts(batch([[]]), FakeNetwork(), SearchConfig(), simulations=5, trees=trees)
    other = batch([["e2e4"]], fens)
    with pytest.raises(ValueError, match=r"the tree of game 0 .* advance or restart"):
        run_mcts(other, FakeNetwork(), SearchConfig(), simulations=5, trees=trees)


def test_a_search_that_failed_leaves_no_virtual_loss_behind():
    lines = random_lines(4, 20, seed=6)
    games, network, config, trees = batch(lines), FakeNetwork(), SearchConfig(leaves=4), Trees(4)
    run_mcts_batched(games, network, config, simulations=20, trees=trees)

    def fail(planes):
        raise RuntimeError("the device is gone")

    with pytest.raises(RuntimeError, match="gone"):
        run_mcts_batched(games, fail, config, simulations=60, trees=trees)
    resumed = run_mcts_batched(games, network, config, simulations=60, trees=trees)
    whole = Trees(4)
    run_mcts_batched(games, network, config, simulations=20, trees=whole)
    expected = run_mcts_batched(games, network, config, simulations=60, trees=whole)
    np.testing.assert_array_equal(resumed.visits, expected.visits)
    np.testing.assert_allclose(resumed.value, expected.value, atol=1e-12)


DRAWISH = [
    ("8/8/4k3/8/8/3QK3/8/8 w - - 97 90", []),
    ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 95 60", ["e1e2"]),
    ("7k/P7/8/8/8/8/1r6/K7 b - - 3 50", ["b2b3"]),
    ("rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3", []),
    ("6k1/5ppp/8/8/8/8/r4PPP/1r4K1 w - - 10 40", []),
    (None, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6".split()),
]


@pytest.mark.parametrize(("fen", "line"), DRAWISH)
def test_visits_are_those_of_the_reference_near_the_ends_of_games(fen, line):
    """Fifty moves, repetition with the game's own history, promotion, en passant and mate within the tree."""
    result = run_mcts(batch([line], [fen]), FakeNetwork(seed=4), SearchConfig(c_puct=3.0), simulations=80)
    expected, root = search(fen, line, FakeNetwork(seed=4), 80, c_puct=3.0)
    assert counts(result, 0) == expected
    assert result.value[0] == pytest.approx(root.total / (root.visits + 1), abs=1e-12)


@pytest.mark.parametrize(
    ("fen", "line"),
    [
        ("4k3/8/8/8/8/8/8/R3K3 w - - 99 80", ["a1a2"]),  # fifty moves
        (None, "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8".split()),  # third occurrence
    ],
)
def test_a_root_that_is_drawn_by_its_history_is_not_searched(fen, line):
    network = FakeNetwork()
    result = run_mcts(batch([line], [fen]), network, SearchConfig(), simulations=20)
    assert (len(result.move), result.best()[0], result.value[0], network.asked) == (0, -1, 0.0, 0)


def test_no_games_are_no_results():
    result = run_mcts_batched(GameBatch([]), uniform, SearchConfig(), simulations=5)
    assert (len(result.value), len(result.best())) == (0, 0)


@pytest.mark.parametrize("wrong", [{"leaves": 2.5}, {"leaves": True}])
def test_leaves_are_a_whole_number(wrong):
    with pytest.raises(ValueError, match="leaves"):
        SearchConfig(**wrong)
