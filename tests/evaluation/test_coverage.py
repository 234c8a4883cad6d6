"""Coverage of known distributions by exact arithmetic, closed forms and brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest

from searchless_rl.evaluation.coverage import (
    Trajectories,
    draws_to_cover,
    expected_coverage,
    lines_bounds,
    lines_to_hold,
)

COVERS = np.unique(np.geomspace(1, 1e8, 30).astype(np.int64))


def test_coverage_by_exact_arithmetic():
    lines = [Fraction(7, 16), Fraction(5, 16), Fraction(1, 8), Fraction(1, 16), Fraction(1, 16)]
    probability = np.array([float(p) for p in lines])
    for draws in (1, 2, 3, 10, 100):
        expected = sum(p * (1 - (1 - p) ** draws) for p in lines)
        assert expected_coverage(probability, [draws])[0] == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_one_draw_shows_the_sum_of_squares_and_more_draws_show_more(seed):
    probability = np.random.default_rng(seed).dirichlet(np.full(200, 0.1))
    found = expected_coverage(probability, COVERS)
    assert found[0] == pytest.approx((probability**2).sum(), rel=1e-12)
    assert (np.diff(found) > -1e-15).all()
    assert found[-1] <= 1 + 1e-12


@pytest.mark.parametrize("count", [1, 2, 20, 400, 197_281])
def test_uniform_lines(count):
    probability = np.full(count, 1 / count)
    draws = np.array([1, 10, 1000])
    np.testing.assert_allclose(expected_coverage(probability, draws), 1 - (1 - 1 / count) ** draws, rtol=1e-9)
    needed = 1 if count == 1 else math.ceil(math.log(0.05) / math.log1p(-1 / count))
    lines = Trajectories(probability, np.zeros(0), 0)
    assert draws_to_cover(lines, 0.95) == (needed, needed, None)
    assert lines_bounds(lines, 0.95).low == math.ceil(round(0.95 * count, 6))
    assert lines.entropy == pytest.approx(math.log(count), abs=1e-9)


def test_tiny_probabilities_and_huge_numbers_of_draws():
    """p·(1 − (1 − p)^K) = K p² where K p is small: nothing is lost to 1 − p = 1 in float64."""
    for tiny in (1e-18, 1e-30, 1e-150):
        assert expected_coverage(np.array([tiny]), [1000])[0] == pytest.approx(
            1000 * tiny**2, rel=1e-9, abs=0
        )
    assert expected_coverage(np.array([1e-15]), [10**15])[0] == pytest.approx(
        1e-15 * (1 - math.exp(-1)), rel=1e-9, abs=0
    )
    assert expected_coverage(np.array([1.0, 0.0, 1e-320]), [1, 10**15]).tolist() == [1.0, 1.0]


def test_the_draws_that_cover_are_the_least():
    rng = np.random.default_rng(2)
    for _ in range(20):
        probability = np.sort(rng.dirichlet(np.full(30, 0.3)))[::-1]
        lines = Trajectories(probability, np.zeros(0), 0)
        slow = next(k for k in range(1, 10**6) if (probability * (1 - (1 - probability) ** k)).sum() >= 0.9)
        assert draws_to_cover(lines, 0.9) == (slow, slow, None)


def test_a_single_line_needs_one_draw():
    """The collapse of paper section 3.3: one line with 99.9 % of the mass."""
    lines = Trajectories(np.array([0.999, 0.001]), np.zeros(0), 0)
    assert draws_to_cover(lines, 0.95).low == lines_bounds(lines, 0.95).low == 1


def test_lines_to_hold():
    probability = np.array([0.5, 0.25, 0.125, 0.0625])
    assert [lines_to_hold(probability, share) for share in (0.1, 0.5, 0.51, 0.9, 0.95)] == [1, 1, 2, 4, None]


def test_out_of_range_is_an_error():
    lines = Trajectories(np.array([1.0]), np.zeros(0), 0)
    with pytest.raises(ValueError, match="share: 1"):
        draws_to_cover(lines, 1)
    with pytest.raises(ValueError, match="share: 0"):
        lines_to_hold(lines.probability, 0)
    with pytest.raises(ValueError, match="draws: 0"):
        expected_coverage(lines.probability, [1, 0])
    with pytest.raises(ValueError, match="span 0.5 to 1.5"):
        expected_coverage(np.array([0.5, 1.5]), [1])
    with pytest.raises(ValueError, match="1 of 2 probabilities are not finite numbers, so neither"):
        expected_coverage(np.array([0.5, np.nan]), [1])
    with pytest.raises(ValueError, match="not 1 in all"):
        draws_to_cover(Trajectories(np.array([0.5]), np.zeros(0), 0), 0.9)
