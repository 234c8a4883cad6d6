"""What ratings must not depend on, and pools whose ratings are known."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from rating_pools import counts_of, simulate

from searchless_rl.statistics.rating_model import (
    maximize,
    with_prior,
)
from searchless_rl.statistics.ratings import bayeselo


def assert_same(one, other, players=None):
    players = players or {name: name for name in one.elo.index}
    renamed = [players[name] for name in one.elo.index]
    np.testing.assert_allclose(other.elo[renamed], one.elo, atol=1e-7)
    np.testing.assert_allclose(other.interval[renamed], one.interval, rtol=1e-9)
    np.testing.assert_allclose(other.los.loc[renamed, renamed], one.los, atol=1e-12)
    assert (other.advantage, other.draw_elo) == pytest.approx((one.advantage, one.draw_elo))


@pytest.mark.parametrize("fit", [(), ("draw",), ("advantage", "draw")])
def test_order_index_and_other_columns_of_the_games_do_not_matter(crosstable, fit):
    rated = bayeselo(crosstable, fit=fit)
    shuffled = crosstable.sample(frac=1, random_state=1).assign(opening=1)  # keeps its shuffled index
    again = bayeselo(shuffled, fit=fit)
    assert rated.elo.equals(again.elo)
    assert rated.los.equals(again.los)
    assert_same(rated, bayeselo(crosstable, fit=fit[::-1]))
    assert_same(rated, bayeselo(crosstable.astype("category"), fit=fit))


def test_names_do_not_matter(crosstable):
    names = {"Alpha": "z", "Bravo": "Ä 1", "Charlie": "c", "Delta": "none-adaptive-0-s0", "Echo": "1-0"}
    renamed = crosstable.assign(white=crosstable["white"].map(names), black=crosstable["black"].map(names))
    assert_same(bayeselo(crosstable, fit=("draw",)), bayeselo(renamed, fit=("draw",)), names)


def test_swapping_all_colours_reverses_the_advantage_and_nothing_else(crosstable):
    back = {"1-0": "0-1", "0-1": "1-0", "1/2-1/2": "1/2-1/2"}
    swapped = pd.DataFrame(
        {"white": crosstable["black"], "black": crosstable["white"], "result": crosstable["result"].map(back)}
    )
    assert_same(bayeselo(crosstable, advantage=0.0), bayeselo(swapped, advantage=0.0))
    assert_same(
        bayeselo(crosstable, advantage=0.0, fit=("draw",)), bayeselo(swapped, advantage=0.0, fit=("draw",))
    )
    fitted, reversed_ = (bayeselo(games, fit=("advantage", "draw")) for games in (crosstable, swapped))
    assert reversed_.advantage == pytest.approx(-fitted.advantage)
    np.testing.assert_allclose(reversed_.elo, fitted.elo, atol=1e-6)


def test_what_is_given_for_a_fitted_parameter_does_not_matter(crosstable):
    fitted = bayeselo(crosstable, fit=("advantage", "draw"))
    for given in ({"advantage": -4000.0, "draw_elo": 1e-9}, {"advantage": 1e6, "draw_elo": 1e6}):
        assert fitted.elo.equals(bayeselo(crosstable, fit=("advantage", "draw"), **given).elo)


def test_fitted_values_given_as_fixed_change_nothing(crosstable):
    for fit in (("advantage",), ("draw",), ("advantage", "draw")):
        fitted = bayeselo(crosstable, fit=fit)
        given = {"advantage": fitted.advantage, "draw_elo": fitted.draw_elo}
        assert_same(fitted, bayeselo(crosstable, **given))
        assert fitted.advantage == 32.8 or "advantage" in fit
        assert fitted.draw_elo == 97.3 or "draw" in fit


def test_known_ratings_are_recovered_with_the_stated_coverage():
    """5 differences to the base in 200 pools: 95 % of 1,000 intervals, give or take three standard errors.

    Differences within a pool are correlated, about 1/2, so these count for some 400 independent ones.
    """
    rng = np.random.default_rng(11)
    elo = np.array([0.0, 150.0, 60.0, 20.0, -40.0, -110.0])
    errors, inside, fitted = [], 0, []
    for _ in range(200):
        rated = bayeselo(simulate(rng, elo, 30, 50.0, 120.0), fit=("advantage", "draw"), base="p00")
        error = (rated.elo - elo)[1:]
        errors.append(error)
        inside += int((error.abs() <= rated.interval[1:]).sum())
        fitted.append((rated.advantage, rated.draw_elo))
    assert inside / 1000 == pytest.approx(0.95, abs=0.033)
    # The two virtual draws of each player pull ratings together and draws up a little.
    assert np.abs(np.mean(errors, axis=0)).max() < 5
    assert np.mean(fitted, axis=0) == pytest.approx([50.0, 120.0], abs=5)


def test_forty_players_take_few_newton_steps_and_little_time():
    """What holds on any machine is the number of steps; the bound on time is a tenfold allowance."""
    rng = np.random.default_rng(5)
    elo = rng.normal(0, 150, 40)
    games = simulate(rng, elo, 100, 50.0, 120.0)
    assert len(games) == 780 * 200
    began = time.process_time()
    rated = bayeselo(games, fit=("advantage", "draw"), base="p00")
    assert time.process_time() - began < 5
    assert np.abs(rated.elo - (elo - elo[0])).max() < 40
    assert maximize(with_prior(counts_of(games), 2.0), 32.8, 97.3, ("advantage", "draw")).steps <= 10
