"""How players pick their moves, against self-play's own tempering and one position at a time."""

import math

import numpy as np
import pytest
import torch

from searchless_rl.arena.players import (
    Player,
    choose_move,
    pick_moves,
    played_policy,
    sample_moves,
    temper,
    wdl_entropy,
)
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.board import GameBatch
from searchless_rl.evaluation.policy import argmax_moves, log_probabilities
from searchless_rl.nets.evaluator import Evaluation
from searchless_rl.selfplay import distributions

COUNT = 40


@pytest.fixture(scope="module")
def positions():
    """Random positions with 1 to about 45 legal moves, and random outputs of a network for them."""
    rng = np.random.default_rng(1)
    games = GameBatch(["7k/8/5K2/6Q1/8/8/8/8 b - - 0 1"] + [None] * (COUNT - 1))
    for _ in range(30):
        legal = games.legal()
        move = legal.index[legal.start[:-1] + (rng.random(COUNT) * np.diff(legal.start)).astype(int)]
        rows = np.arange(1, COUNT)
        games.step(rows, move[rows])
        games.restart(np.flatnonzero(games.over))
    wdl = rng.dirichlet([0.3, 0.3, 0.3], COUNT).astype(np.float32)
    wdl[3] = 1, 0, 0
    return games, Evaluation(5 * rng.standard_normal((COUNT, 1858)).astype(np.float32), wdl)


@pytest.mark.parametrize("tau", [0.0, 1e-30, 1e-6, 0.3, 0.6, 1.0, 1.1, 3.0])
def test_temper_is_that_of_self_play(positions, tau):
    games, evaluation = positions
    legal = games.legal()
    rows = distributions.LegalRows.of(legal)
    log_policy = rows.log_policy(torch.from_numpy(evaluation.policy.astype(np.float64)))
    expected = distributions.temper(log_policy, rows.mask, torch.full((COUNT,), tau, dtype=torch.float64))
    found = temper(log_probabilities(evaluation.policy, legal), legal, np.full(COUNT, tau))
    np.testing.assert_allclose(found, expected[rows.mask].numpy(), rtol=1e-6, atol=1e-9)
    assert np.isfinite(found).all()


def test_the_raw_policy_is_tempered_to_the_bit(positions):
    games, evaluation = positions
    log_policy = log_probabilities(evaluation.policy, games.legal())
    np.testing.assert_array_equal(temper(log_policy, games.legal(), np.ones(COUNT)), log_policy)


def test_tied_moves_share_the_cold_policy():
    games = GameBatch([None])
    log_policy = np.log(np.array([0.3, 0.3] + [0.4 / 18] * 18))
    cold = np.exp(temper(log_policy, games.legal(), np.zeros(1)))
    assert cold.tolist() == [0.5, 0.5] + [0.0] * 18


def test_the_adaptive_temperature_is_the_entropy_of_the_own_value_head(positions):
    games, evaluation = positions
    found = played_policy(evaluation, games.legal(), ["adaptive"] * COUNT)
    for row in range(COUNT):
        tau = -sum(p * math.log(p) for p in evaluation.wdl[row].astype(float) if p > 0)
        moves = games.legal(np.array([row])).index
        scores = torch.from_numpy(evaluation.policy[row, moves].astype(np.float64)) / max(tau, 1e-8)
        mine = games.legal().row == row
        np.testing.assert_allclose(found[mine], torch.log_softmax(scores, 0).numpy(), rtol=1e-5, atol=1e-5)
    mixed = played_policy(evaluation, games.legal(), [0.6 if row % 2 else "adaptive" for row in range(COUNT)])
    odd = games.legal().row % 2 == 1
    warm = played_policy(evaluation, games.legal(), [0.6] * COUNT)
    np.testing.assert_array_equal(mixed, np.where(odd, warm, found))


def test_wdl_entropy_spans_zero_to_ln_3():
    wdl = np.array([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0]], np.float32)
    np.testing.assert_allclose(wdl_entropy(wdl), [0, math.log(3), math.log(2)], rtol=1e-7)


def test_sampling_inverts_the_cumulative_distribution_as_self_play_does(positions):
    games, evaluation = positions
    legal = games.legal()
    rows = distributions.LegalRows.of(legal)
    log_mu = temper(log_probabilities(evaluation.policy, legal), legal, np.full(COUNT, 0.7))
    padded = torch.zeros(rows.mask.shape, dtype=torch.float64)
    padded[rows.mask] = torch.from_numpy(log_mu)
    for draw in range(20):
        uniform = np.random.default_rng(draw).random(COUNT)
        uniform[:2] = 0.0, 1 - 2**-53
        column = distributions.sample(padded, rows.mask, uniform)
        expected = rows.index.gather(1, column[:, None]).squeeze(1).numpy()
        np.testing.assert_array_equal(sample_moves(log_mu, legal, uniform), expected)


def test_sampled_frequencies():
    games = GameBatch([None] * 20_000)
    legal = games.legal()
    chances = np.array([0.5, 0.3, 0.2] + [0.0] * 17)
    with np.errstate(divide="ignore"):
        log_mu = np.tile(np.log(chances), len(games))
    moves = sample_moves(log_mu, legal, np.random.default_rng(0).random(len(games)))
    counts = np.array([(moves == move).sum() for move in legal.index[:20]])
    assert counts[3:].sum() == 0
    error = np.sqrt(chances[:3] * (1 - chances[:3]) / len(games))
    assert (abs(counts[:3] / len(games) - chances[:3]) < 4 * error).all()


def test_zero_is_the_argmax_with_its_ties_and_reads_no_random_number(positions):
    games, evaluation = positions
    legal = games.legal()
    policy = evaluation.policy.copy()
    moves = legal.index[legal.start[5] : legal.start[6]]
    policy[5, moves[[1, 4]]] = 99.0
    tied = Evaluation(policy, evaluation.wdl)
    uniform = np.random.default_rng(0).random(COUNT)
    choice = pick_moves(tied, legal, [0.0] * COUNT, uniform)
    best = argmax_moves(policy, legal)
    np.testing.assert_array_equal(choice.move, best.move)
    assert choice.move[5] == moves[1]
    assert choice.tied.tolist() == [row == 5 for row in range(COUNT)]
    mixed = pick_moves(tied, legal, [1.0 if row < 20 else 0.0 for row in range(COUNT)], uniform)
    np.testing.assert_array_equal(mixed.move[20:], best.move[20:])
    assert not mixed.tied.any()
    assert (mixed.move[:20] != best.move[:20]).any()


def test_a_choice_does_not_depend_on_what_stands_beside_it(positions):
    games, evaluation = positions
    temperatures = [("adaptive", 1.0, 0.6, 0.0)[row % 4] for row in range(COUNT)]
    # Draws that fall on the borders of the cumulative distribution up to its last bits.
    exact = np.exp(played_policy(evaluation, games.legal(), temperatures))
    starts = games.legal().start[:-1]
    uniform = np.minimum(exact[starts] / np.add.reduceat(exact, starts), 1 - 2**-53)
    whole = pick_moves(evaluation, games.legal(), temperatures, uniform)
    drawn = sample_moves(played_policy(evaluation, games.legal(), temperatures), games.legal(), uniform)
    np.testing.assert_array_equal(whole.move[np.arange(COUNT) % 4 != 3], drawn[np.arange(COUNT) % 4 != 3])
    for rows in (np.arange(COUNT)[::-1], np.array([7]), np.arange(3, 20), np.array([39, 0, 12])):
        part = Evaluation(evaluation.policy[rows], evaluation.wdl[rows])
        found = pick_moves(part, games.legal(rows), [temperatures[row] for row in rows], uniform[rows])
        np.testing.assert_array_equal(found.move, whole.move[rows])


def test_random_numbers_have_an_address():
    numbers = game_uniforms(Stream.ARENA, 3, "a b book:1", 512)
    np.testing.assert_array_equal(game_uniforms(Stream.ARENA, 3, "a b book:1", 100), numbers[:100])
    others = [
        game_uniforms(Stream.BOOK, 3, "a b book:1", 512),
        game_uniforms(Stream.ARENA, 4, "a b book:1", 512),
        game_uniforms(Stream.ARENA, 3, "b a book:1", 512),
    ]
    assert all((other != numbers).all() for other in others)
    assert ((numbers >= 0) & (numbers < 1)).all()


@pytest.mark.parametrize("temperature", [-0.1, math.nan, math.inf, "hot"])
def test_a_temperature_that_is_none_is_refused(tmp_path, temperature):
    with pytest.raises(ValueError, match="adaptive"):
        Player("a", tmp_path, temperature)


@pytest.mark.parametrize("name", ["", "two words", 'quo"te', "back\\slash", "new\nline"])
def test_a_name_that_breaks_files_is_refused(tmp_path, name):
    with pytest.raises(ValueError, match="player name"):
        Player(name, tmp_path)


def test_a_single_move_is_chosen_among_those_allowed():
    game = GameBatch([None])
    logits = np.zeros((1, 1858), np.float32)
    logits[0, game.index(0, "g1f3")] = 3
    logits[0, game.index(0, "e2e4")] = 2
    wdl = np.array([[0.5, 0.3, 0.2]], np.float32)

    def network(planes):
        return Evaluation(logits, wdl)

    assert choose_move(network, game, 0.0, 0.0).move == "g1f3"
    assert choose_move(network, game, 0.0, 0.0, among=["a2a3", "e2e4"]).move == "e2e4"
    assert choose_move(network, game, 0.0, 0.0, among=["e7e5"]).move == "g1f3"
    assert choose_move(network, game, 0.0, 0.0).wdl.tolist() == wdl[0].tolist()
    assert choose_move(network, GameBatch(["7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]), 0.0, 0.0) is None
    logits[0, 1000] = np.nan
    with pytest.raises(RuntimeError, match="not finite in rnbqkbnr"):
        choose_move(network, game, 0.0, 0.0)
