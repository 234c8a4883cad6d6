"""The rating model against closed forms for two players and finite differences."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rating_pools import counts_of, logistic, table_of

from searchless_rl.statistics.rating_model import (
    Counts,
    derivatives,
    log_likelihood,
    with_prior,
)
from searchless_rl.statistics.ratings import bayeselo


@pytest.mark.parametrize("prior", [0.0, 2.0, 7.0])
def test_two_players_without_advantage_solve_a_quadratic(prior):
    """With g = 10^(D/400) and T = 10^(d/400): (D+L) g² + ((D+L) T − (W+D) T) g − (W+D) = 0."""
    wins, draws, losses = 37, 20 + prior, 11
    games = table_of(("A", "B", 30, 5, 2), ("B", "A", 9, 15, 7))
    rated = bayeselo(games, advantage=0.0, draw_elo=150.0, prior=prior)
    t = 10 ** (150 / 400)
    linear = (draws + losses) * t - (wins + draws) * t
    g = (-linear + math.sqrt(linear**2 + 4 * (draws + losses) * (wins + draws))) / (2 * (draws + losses))
    difference = 400 * math.log10(g)
    assert rated.elo["A"] - rated.elo["B"] == pytest.approx(difference, abs=1e-6)
    up, down = logistic(difference - 150), logistic(-difference - 150)
    information = (wins + draws) * up * (1 - up) + (losses + draws) * down * (1 - down)
    half_width = 1.96 / math.sqrt(information) * 400 / math.log(10)
    based = bayeselo(games, advantage=0.0, draw_elo=150.0, prior=prior, base="B")
    assert based.interval["A"] == pytest.approx(half_width, rel=1e-6)
    assert rated.interval["A"] == pytest.approx(half_width / 2, rel=1e-6)  # the mean is half way


@pytest.mark.parametrize("record", [(361, 318, 321), (600, 1, 399), (2, 997, 1)])
def test_fitted_draw_parameter_reproduces_the_rates_of_a_match(record):
    """Without advantage and prior the model has a parameter for each free rate."""
    rated = bayeselo(table_of(("A", "B", *record)), advantage=0.0, prior=0.0, fit=("draw",), base="B")
    won, lost = (-400 * math.log10(1000 / wins - 1) for wins in (record[0], record[2]))
    assert rated.elo["A"] == pytest.approx((won - lost) / 2, abs=1e-6)
    assert rated.draw_elo == pytest.approx(-(won + lost) / 2, abs=1e-6)


def test_fitted_advantage_of_equal_players():
    rated = bayeselo(
        table_of(("A", "B", 50, 30, 20), ("B", "A", 50, 30, 20)), prior=0, fit=("draw", "advantage")
    )
    won, lost = (-400 * math.log10(1 / rate - 1) for rate in (0.5, 0.2))
    assert rated.elo.tolist() == pytest.approx([0, 0], abs=1e-6)
    assert rated.advantage == pytest.approx((won - lost) / 2, abs=1e-6)
    assert rated.draw_elo == pytest.approx(-(won + lost) / 2, abs=1e-6)


def test_without_any_draw_the_fitted_draw_parameter_is_zero():
    """What is left is the Bradley-Terry model."""
    games = table_of(("A", "B", 30, 0, 10))
    rated = bayeselo(games, advantage=0.0, prior=0.0, fit=("draw",), base="B")
    assert rated.draw_elo == 0
    assert rated.elo["A"] == pytest.approx(400 * math.log10(3), abs=1e-6)


def test_prior_is_half_its_draws_for_each_player_spread_as_its_games_are():
    counts = counts_of(table_of(("A", "B", 2, 1, 0), ("B", "A", 0, 0, 3), ("C", "B", 1, 0, 1)))
    added = with_prior(counts, 2.0).draws - counts.draws
    # A met B only: 1. B met A in 6 of its 8 games: 3/4, C in 2: 1/4. C met B only: 1. Half with each colour.
    expected = [[0, 1.75 / 2, 0], [1.75 / 2, 0, 1.25 / 2], [0, 1.25 / 2, 0]]
    np.testing.assert_allclose(added, expected)
    assert with_prior(counts_of(table_of(("A", "B", 5, 0, 0))), 2.0).draws.sum() == pytest.approx(2.0)


@pytest.mark.parametrize("draws", [True, False])
def test_derivatives_agree_with_finite_differences(draws):
    rng = np.random.default_rng(3)
    counts = Counts(*(rng.integers(0, 9, (4, 4)) * (1.0 - np.eye(4)) for _ in range(3)))
    if not draws:
        counts = counts._replace(draws=np.zeros((4, 4)))
    point = np.append(rng.normal(0, 150, 4), [35.0, 110.0])
    exact = derivatives(counts, point)
    steps = 0.05 * np.eye(6)
    slope = [
        (log_likelihood(counts, point + step) - log_likelihood(counts, point - step)) / 0.1 for step in steps
    ]
    bend = [
        (derivatives(counts, point - step).gradient - derivatives(counts, point + step).gradient) / 0.1
        for step in steps
    ]
    np.testing.assert_allclose(exact.gradient, slope, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(exact.information, bend, rtol=1e-6, atol=1e-10)


def test_probabilities_of_the_three_results_sum_to_one():
    point = np.array([120.0, -40.0, 35.0, 110.0])
    one = np.array([[0.0, 1.0], [0.0, 0.0]])
    none = np.zeros((2, 2))
    results = (Counts(one, none, none), Counts(none, one, none), Counts(none, none, one))
    white, draw, black = (math.exp(log_likelihood(counts, point)) for counts in results)
    assert white == pytest.approx(logistic(160 + 35 - 110))
    assert black == pytest.approx(logistic(-160 - 35 - 110))
    assert draw == pytest.approx(1 - white - black)
