"""Bounds of coverage where prefixes below a mass floor are cut."""

import numpy as np
import pytest

from searchless_rl.board import GameBatch
from searchless_rl.evaluation.coverage import (
    Trajectories,
    coverage_bounds,
    draws_to_cover,
    enumerate_trajectories,
    expected_coverage,
    lines_bounds,
)
from searchless_rl.nets.evaluator import Evaluation

COVERS = np.unique(np.geomspace(1, 1e8, 30).astype(np.int64))


def _flat(planes):
    """A player who likes all moves alike."""
    return Evaluation(np.zeros((len(planes), 1858), np.float32), np.full((len(planes), 3), 1 / 3, np.float32))


def _uneven(planes):
    """A peaked player whose preferences depend on the position: a fixed random projection of the planes.

    Planes are whole numbers and the projection's entries multiples of 1/64, so that every order of summation
    gives the same float32: a position's logits do not depend on the batch or on the processor's kernels.
    """
    logits = planes.reshape(len(planes), -1) @ _PROJECTION
    return Evaluation(logits, np.full((len(planes), 3), 1 / 3, np.float32))


_PROJECTION = (
    np.round(12.8 * np.random.default_rng(5).standard_normal((112 * 64, 1858))).astype(np.float32) / 64
)


def test_the_uneven_player_plays_one_position_alike_in_every_batch():
    games = GameBatch([None]).select(np.zeros(20, np.int64))
    games.step(np.arange(20), games.legal(np.array([0])).index)
    planes = games.planes()
    assert (planes == np.round(planes)).all()
    whole = _uneven(planes).policy
    exact = planes[:2].reshape(2, -1).astype(np.float64) @ _PROJECTION.astype(np.float64)
    assert np.array_equal(whole[:2], exact)
    for size in (1, 2, 3, 7):
        parts = [_uneven(planes[begin : begin + size]).policy for begin in range(0, 20, size)]
        assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("floor", [1e-7, 1e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("player", [_flat, _uneven])
def test_the_truth_lies_within_the_bounds(player, floor):
    exact = enumerate_trajectories(player, None, [], tau=1.0, plies=3)
    cut = enumerate_trajectories(player, None, [], tau=1.0, plies=3, mass_floor=floor)
    assert cut.probability.sum() + cut.cut_mass == pytest.approx(1, abs=1e-12)
    assert (cut.cut < floor).all()
    assert cut.evaluations <= exact.evaluations
    truth, slack = expected_coverage(exact.probability, COVERS), 1e-12
    low, high = coverage_bounds(cut, COVERS)
    assert (low <= truth + slack).all()
    assert (truth <= high + slack).all()
    assert (high <= low + cut.cut_mass + slack).all()
    assert high[0] - low[0] == pytest.approx((cut.cut**2).sum())  # one draw: far less than the cut mass
    assert cut.entropy <= exact.entropy + slack
    for share in (0.05, 0.5, 0.95, 0.99):
        for bounded in (draws_to_cover, lines_bounds):
            at_least, at_most, reason = bounded(cut, share)
            value = bounded(exact, share).low
            assert at_least <= value
            assert at_most is None or value <= at_most
            assert (reason is None) == (at_most is not None)


def test_the_floors_of_that_test_cut():
    masses = [
        enumerate_trajectories(_uneven, None, [], tau=1.0, plies=3, mass_floor=floor).cut_mass
        for floor in (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
    ]
    assert masses[0] == 0
    assert masses == sorted(set(masses))
    assert masses[1] < 0.02
    assert masses[-1] > 0.05


def test_a_share_that_the_floor_hides_has_no_upper_bound():
    lines = Trajectories(np.array([0.6, 0.3]), np.array([0.05, 0.05]), 0)
    for bounded in (draws_to_cover, lines_bounds):
        found = bounded(lines, 0.95)
        assert found.high is None
        assert "0.9000" in found.reason
        assert bounded(lines, 0.5).reason is None
    assert lines_bounds(lines, 0.95) == (3, None, found.reason)
    assert lines_bounds(lines, 0.5) == (1, 1, None)


def test_everything_below_the_floor():
    found = enumerate_trajectories(_flat, None, [], tau=1.0, plies=2, mass_floor=0.5)
    assert (len(found.probability), found.cut_mass, found.evaluations) == (0, pytest.approx(1), 1)
    assert draws_to_cover(found, 0.95).high is None
