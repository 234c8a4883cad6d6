"""The batched search against the reference, against itself in other batches, and against mates."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from reference_mcts import search
from searched_games import FakeNetwork, batch, counts, hopeful, random_lines, uniform

from searchless_rl.board import GameBatch
from searchless_rl.nets.evaluator import OutputError
from searchless_rl.search import SearchConfig, Trees, run_mcts, run_mcts_batched


@pytest.mark.parametrize(
    ("positions", "longest", "simulations"),
    [
        (10, 90, 30),
        pytest.param(180, 90, 40, marks=pytest.mark.slow),
        pytest.param(20, 300, 150, marks=pytest.mark.slow),
    ],
)
def test_visits_are_those_of_the_reference_on_two_hundred_positions(positions, longest, simulations):
    lines = random_lines(positions, longest, seed=positions)
    network = FakeNetwork()
    result = run_mcts_batched(batch(lines), network, SearchConfig(), simulations=simulations)
    for row, line in enumerate(lines):
        expected, root = search(None, line, network, simulations)
        assert counts(result, row) == expected
        assert result.value[row] == pytest.approx(root.total / (root.visits + 1), abs=1e-12)
        assert sum(expected.values()) == (simulations if expected else 0)


def test_a_tree_is_the_same_alone_and_among_others():
    lines = random_lines(12, 60, seed=5)
    together = run_mcts_batched(batch(lines), FakeNetwork(), SearchConfig(), simulations=60)
    for row, line in enumerate(lines):
        alone = run_mcts(batch([line]), FakeNetwork(), SearchConfig(), simulations=60)
        assert counts(alone, 0) == counts(together, row)
        assert alone.best()[0] == together.best()[row]


MATES = {
    1: (300, ["000rZ", "001cr", "001pC", "002HE"]),
    2: (3000, ["000Zo", "003Tx", "009IO"]),
    3: (6000, ["00Kbj", "00QW1", "00d5g"]),
}


@pytest.mark.parametrize("depth", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_mates_are_found_by_a_network_that_knows_nothing(depth, pytestconfig):
    """Real puzzles of the bundled file; the marked move is the only one that mates in so many."""
    simulations, names = MATES[depth]
    table = pytestconfig.rootpath / "data" / "lichess" / "torre_6605_2026.csv"
    with table.open() as rows:
        puzzles = {row["PuzzleId"]: row for row in csv.DictReader(rows) if row["PuzzleId"] in names}
    lines = [puzzles[name]["Moves"].split() for name in names]
    games = batch([line[:1] for line in lines], [puzzles[name]["FEN"] for name in names])
    best = run_mcts_batched(games, uniform, SearchConfig(), simulations=simulations).best()
    assert [games.uci(row, int(move)) for row, move in enumerate(best)] == [line[1] for line in lines]


def test_a_reused_tree_is_the_tree_below_the_move():
    """Visits below the move are kept, and the next search adds what is missing, as if nothing was dropped."""
    lines = random_lines(6, 30, seed=9)
    games, trees, network = batch(lines), Trees(6), FakeNetwork()
    first = run_mcts_batched(games, network, SearchConfig(), simulations=80, trees=trees)
    rows, best = np.arange(6), first.best()
    below = [first.visits[first.line(row)].max() - 1 for row in rows]
    trees.advance(rows, best)
    games.step(rows, best)
    before = network.asked
    again = run_mcts_batched(games, network, SearchConfig(), simulations=80, trees=trees)
    assert [again.visits[again.line(row)].sum() for row in rows] == [80] * 6
    assert network.asked - before <= sum(80 - kept for kept in below)
    assert trees.positions.used == trees.forest.nodes
    fresh = run_mcts_batched(games, network, SearchConfig(), simulations=80)
    agree = sum(int(a == b) for a, b in zip(again.best(), fresh.best(), strict=True))
    assert agree >= 5  # a tree whose root was inner has the same statistics but for who began it


def test_several_leaves_a_tree_spend_exactly_the_simulations():
    lines = random_lines(5, 40, seed=2)
    config = SearchConfig(leaves=8)
    result = run_mcts_batched(batch(lines), FakeNetwork(), config, simulations=101)
    assert [result.visits[result.line(row)].sum() for row in range(5)] == [101] * 5
    assert np.nanmax(np.abs(result.q)) <= 1 + 1e-9


def test_draws_by_repetition_in_the_tree_are_worth_nothing():
    """A move that completes the third occurrence is an exact draw, whatever the network thinks."""
    line = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1".split()
    game = batch([line])
    result = run_mcts(game, hopeful, SearchConfig(), simulations=60)
    moves = {game.uci(0, int(move)): q for move, q in zip(result.move, result.q, strict=True)}
    assert moves["f6g8"] == 0.0
    assert moves["f6d5"] != 0.0  # nothing is repeated there


@pytest.mark.parametrize(
    ("fen", "line"),
    [
        ("7k/5KQ1/8/8/8/8/8/8 b - - 0 1", []),  # mated
        ("k7/2Q5/1K6/8/8/8/8/8 b - - 0 1", []),  # stalemate
        ("k7/8/1K6/8/8/8/8/8 w - - 0 1", []),  # bare kings
    ],
)
def test_a_root_whose_game_is_over_has_no_moves_and_an_exact_value(fen, line):
    network = FakeNetwork()
    result = run_mcts(batch([line], [fen]), network, SearchConfig(), simulations=50)
    assert (len(result.move), result.best()[0], network.asked) == (0, -1, 0)
    assert result.value[0] == (-1.0 if "Q1" in fen else 0.0)


def test_one_legal_move_gets_every_visit():
    game = GameBatch(["k7/8/8/8/8/8/r7/7K w - - 0 1"])
    legal = game.legal()
    assert len(legal.index) == 1
    result = run_mcts(game, FakeNetwork(), SearchConfig(), simulations=20)
    assert result.visits.tolist() == [20]


def test_no_simulation_is_the_networks_own_move():
    lines = random_lines(8, 30, seed=1)
    games, network = batch(lines), FakeNetwork()
    result = run_mcts_batched(games, network, SearchConfig(), simulations=0)
    legal, logits = games.legal(), network(games.planes()).policy
    for row in range(8):
        own = legal.index[legal.start[row] : legal.start[row + 1]]
        assert result.best()[row] == own[logits[row, own].argmax()]
    assert (result.visits == 0).all()
    assert np.isnan(result.q).all()


def test_wrong_calls_say_what_is_wrong():
    games = GameBatch([None, None])
    with pytest.raises(ValueError, match="-1 simulations"):
        run_mcts_batched(games, uniform, SearchConfig(), simulations=-1)
    with pytest.raises(ValueError, match="3 trees for 2 games"):
        run_mcts_batched(games, uniform, SearchConfig(), simulations=1, trees=Trees(3))
    with pytest.raises(ValueError, match="2 games; run_mcts_batched"):
        run_mcts(games, uniform, SearchConfig(), simulations=1)
    for wrong in ({"c_puct": 0}, {"unvisited_reduction": 3}, {"leaves": 0}, {"virtual_loss": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SearchConfig(**wrong)


def test_outputs_that_are_no_numbers_name_the_network():
    import torch
    from torch import nn

    from searchless_rl.nets import NetOutput
    from searchless_rl.nets.evaluator import Evaluator

    class Broken(nn.Module):
        source = "broken.pb.gz"

        def forward(self, planes):
            policy = torch.full((len(planes), 1858), float("nan"))
            return NetOutput(policy, torch.full((len(planes), 3), 1 / 3), None, None)

    with pytest.raises(OutputError, match=r"broken\.pb\.gz"):
        run_mcts(GameBatch([None]), Evaluator(Broken(), 4), SearchConfig(), simulations=3)


def test_a_node_is_kept_for_every_position_seen_and_no_more():
    trees, network = Trees(4), FakeNetwork()
    lines = random_lines(4, 60, seed=3)
    run_mcts_batched(batch(lines), network, SearchConfig(), simulations=50, trees=trees)
    forest = trees.forest
    assert forest.nodes == trees.positions.used
    assert forest.nodes == network.asked + forest.is_final[: forest.nodes].sum()
