"""The two numbers of a calibration, against how data were made, a brute force and closed forms."""

import numpy as np
import pytest

from searchless_rl.statistics.calibration import (
    Calibration,
    CalibrationError,
    brier,
    cross_validated,
    fit_calibration,
    log_loss,
    reliability,
)


def make(count, scale, draw, seed=0, confidence=2.0):
    """Logits, and outcomes drawn from softmax(scale·logits + (0, draw, 0))."""
    generator = np.random.default_rng(seed)
    z = confidence * generator.standard_normal(count)
    logits = np.stack([z, generator.standard_normal(count), -z], 1)
    probability = Calibration(scale, draw).apply(logits)
    uniform = generator.random(count)[:, None]
    return logits, (uniform > np.cumsum(probability, 1)).sum(1).clip(max=2)


@pytest.mark.parametrize(("scale", "draw"), [(1.0, 0.0), (0.4, 0.8), (1.7, -1.0)])
def test_the_numbers_that_made_the_outcomes_are_found(scale, draw):
    logits, outcomes = make(40_000, scale, draw)
    found = fit_calibration(logits, outcomes)
    assert found.scale == pytest.approx(scale, abs=0.03)
    assert found.draw == pytest.approx(draw, abs=0.05)


def test_no_neighbour_is_likelier_and_a_grid_finds_the_same():
    logits, outcomes = make(500, 0.6, 0.5, seed=3)
    found = fit_calibration(logits, outcomes)
    best = log_loss(found.apply(logits), outcomes)
    grid = [
        (log_loss(Calibration(scale, draw).apply(logits), outcomes), scale, draw)
        for scale in np.linspace(0.02, 2, 100)
        for draw in np.linspace(-2, 2, 101)
    ]
    assert best <= min(grid)[0]
    assert min(grid)[1:] == pytest.approx((found.scale, found.draw), abs=0.04)


def test_a_scalar_head_is_mended_too():
    """Its draw logit is a constant far below: the offset takes it back."""
    logits, outcomes = make(20_000, 0.5, 0.7, seed=1)
    scalar = np.stack([logits[:, 0], np.full(len(logits), -12.0), logits[:, 2]], 1)
    found = fit_calibration(scalar, outcomes)
    before = brier(Calibration(1, 0).apply(scalar), outcomes)
    assert brier(found.apply(scalar), outcomes) < before - 0.1
    assert found.apply(scalar)[:, 1].mean() == pytest.approx((outcomes == 1).mean(), abs=1e-6)


def test_shares_of_draws_are_right_at_the_optimum():
    """The likelihood equation of the offset: forecast and observed draws are equally many."""
    logits, outcomes = make(2000, 0.8, 0.3, seed=2)
    probability = fit_calibration(logits, outcomes).apply(logits)
    assert probability[:, 1].mean() == pytest.approx((outcomes == 1).mean(), abs=1e-9)


def test_the_likelihood_is_level_at_the_optimum():
    """Its slope in either number, by differences that know nothing of the fit."""
    logits, outcomes = make(3000, 1.4, -0.6, seed=5)
    found, step = fit_calibration(logits, outcomes), 1e-4

    def loss(scale, draw):
        return log_loss(Calibration(scale, draw).apply(logits), outcomes)

    for scale, draw in ((step, 0.0), (0.0, step)):
        above = loss(found.scale + scale, found.draw + draw)
        below = loss(found.scale - scale, found.draw - draw)
        assert abs(above - below) / (2 * step) < 1e-7
        assert min(above, below) > loss(found.scale, found.draw)


def test_two_numbers_of_a_scalar_head_are_those_of_its_logits():
    """A head (z, -12, -z) that is calibrated by (a, b) has the logits (a z, b - 12 a, -a z)."""
    z = np.array([[0.7], [-2.0]])
    lifted = np.hstack([z, np.full_like(z, -12.0), -z])
    logits = np.hstack([0.4 * z, np.full_like(z, 5.0 - 0.4 * 12.0), -0.4 * z])
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(Calibration(0.4, 5.0).apply(lifted), expected, rtol=1e-12)


def test_scores_in_closed_form():
    probability = np.array([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    assert brier(probability, np.array([0, 2])) == pytest.approx((0.25 + 0.09 + 0.04 + 2) / 2)
    assert log_loss(probability[:1], np.array([1])) == pytest.approx(-np.log(0.3))
    assert reliability(np.array([0.05, 0.05, 1.0]), np.array([0.0, 1.0, 1.0])) == [
        (0.05, 0.5, 2),
        (1.0, 1.0, 1),
    ]


def test_a_held_out_fold_is_not_fitted_on():
    logits, outcomes = make(400, 0.7, 0.2, seed=4)
    groups = np.arange(400) // 8
    found = cross_validated(logits, outcomes, groups)
    held_out = groups % 5 == 2
    expected = fit_calibration(logits[~held_out], outcomes[~held_out]).apply(logits[held_out])
    np.testing.assert_allclose(found[held_out], expected)
    assert brier(found, outcomes) >= brier(fit_calibration(logits, outcomes).apply(logits), outcomes)


@pytest.mark.parametrize(
    ("logits", "outcomes", "words"),
    [
        (np.zeros((0, 3)), np.zeros(0, int), "no positions"),
        (np.full((3, 3), np.nan), np.array([0, 1, 2]), "finite"),
        (np.zeros((4, 3)), np.array([0, 0, 2, 2]), "2 were won, 0 drawn and 2 lost"),
        (np.array([[9.0, 0, -9], [-9, 0, 9], [0, 1, 0]]), np.array([2, 0, 1]), "say nothing"),
        (np.tile([1.0, 0.0, -1.0], (6, 1)), np.array([0, 1, 2, 0, 1, 2]), "say nothing"),
        (np.zeros((3, 3)), np.array([0, 1, 2]), "all alike"),
        (np.array([[9.0, 0, -9], [-9, 0, 9], [0, 1, 0]]), np.array([0, 2, 1]), "never wrong"),
    ],
)
def test_what_cannot_be_fitted_is_refused(logits, outcomes, words):
    with pytest.raises(CalibrationError, match=words):
        fit_calibration(logits, outcomes)
