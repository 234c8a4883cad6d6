"""Bootstrap intervals against a loop, normal theory and coverage; lines of probability zero."""

import math
import tracemalloc

import numpy as np
import pytest

from searchless_rl.statistics import bootstrap as module
from searchless_rl.statistics.bootstrap import (
    arithmetic_mean,
    bootstrap,
    geometric_mean,
    geometric_ratio,
    mean_gain,
    mean_gap,
    paired_gain,
    resampled_means,
)


def _lines(n, seed=0, spread=1.5):
    return -np.random.default_rng(seed).exponential(spread, n)


def _loop(statistic, columns, seed, resamples):
    """One resample at a time, sorted by hand."""
    rng = np.random.default_rng(seed)
    n = len(columns[0])
    found = []
    for _ in range(resamples):
        drawn = rng.integers(0, n, n, dtype=np.int32)
        found.append(statistic(*[column[drawn] for column in columns]))
    found.sort()
    return found[math.floor(0.025 * (resamples - 1))], found[math.ceil(0.975 * (resamples - 1))]


@pytest.mark.parametrize(
    ("ours", "statistic", "paired"),
    [
        (geometric_mean, lambda a: np.prod(np.exp(a)) ** (1 / len(a)), False),
        (arithmetic_mean, lambda a: np.mean(np.exp(a)), False),
        (mean_gap, lambda a: np.mean(np.exp(a)) / np.exp(a.mean()), False),
        (mean_gain, lambda a, b: np.mean(a - b), True),
        (geometric_ratio, lambda a, b: np.exp(a.mean()) / np.exp(b.mean()), True),
    ],
)
def test_intervals_are_those_of_a_loop_over_resamples(ours, statistic, paired):
    columns = [_lines(60, seed) for seed in range(2 if paired else 1)]
    found = ours(*columns, seed=7, resamples=400)
    assert found.value == pytest.approx(statistic(*columns), rel=1e-9)
    assert (found.low, found.high) == pytest.approx(_loop(statistic, columns, 7, 400), rel=1e-9)
    assert found.low < found.value < found.high
    assert ours(*columns, seed=7, resamples=400) == found
    assert ours(*columns, seed=8, resamples=400) != found


def test_the_interval_of_a_mean_is_the_normal_one_where_puzzles_are_many():
    values = _lines(5000)
    found = bootstrap(values[:, None], lambda means: means[:, 0], seed=1)
    half = 1.96 * values.std() / math.sqrt(len(values))
    assert found.high - found.low == pytest.approx(2 * half, rel=0.06)
    assert (found.low + found.high) / 2 == pytest.approx(values.mean(), abs=0.1 * half)


def test_intervals_cover_the_mean_they_estimate():
    """log p exponential with mean -1.5: 95 % intervals of 300 samples of 80 puzzles."""
    held = [
        low <= math.exp(-1.5) <= high
        for _, low, high in (geometric_mean(_lines(80, seed), seed=0, resamples=500) for seed in range(300))
    ]
    assert 0.90 <= np.mean(held) <= 0.98


def test_pairs_are_drawn_together():
    """A model that gains 0.1 nats on every line gains exactly that in every resample."""
    base = _lines(200, spread=3)
    gain = mean_gain(base + 0.1, base, seed=0)
    assert gain == pytest.approx((0.1, 0.1, 0.1))
    assert geometric_ratio(base + 0.1, base, seed=0) == pytest.approx([math.exp(0.1)] * 3)


def test_blocks_change_nothing_and_bound_the_memory(monkeypatch):
    values = np.column_stack([_lines(37, 0), _lines(37, 1)])
    whole = resampled_means(values, seed=3, resamples=50)
    for draws in (1, 100, 37 * 50, 10**6):
        monkeypatch.setattr(module, "_DRAWS_AT_ONCE", draws)
        np.testing.assert_array_equal(resampled_means(values, seed=3, resamples=50), whole)
    monkeypatch.undo()
    many = _lines(100_000)
    tracemalloc.start()
    geometric_mean(many, seed=0, resamples=60)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64e6


def test_a_line_of_probability_zero_breaks_nothing(recwarn):
    lines = _lines(50)
    lines[3] = -np.inf
    other = _lines(50, 1)
    assert geometric_mean(lines, seed=0)[:2] == (0.0, 0.0)  # some resamples lack the line
    assert geometric_mean(lines, seed=0).high > 0
    kept = np.exp(np.delete(lines, 3)).sum() / 50
    assert arithmetic_mean(lines, seed=0).value == pytest.approx(kept)
    assert mean_gap(lines, seed=0).value == math.inf
    assert mean_gain(lines, other, seed=0)[:2] == (-math.inf, -math.inf)
    assert geometric_ratio(other, lines, seed=0).value == math.inf
    other[3] = -np.inf
    both = mean_gain(lines, other, seed=0)
    assert both.value == pytest.approx((np.delete(lines, 3) - np.delete(other, 3)).sum() / 50)
    assert np.isfinite(both).all()
    assert paired_gain(lines, other)[3] == 0.0
    other[5] = -np.inf
    lines[7] = -np.inf
    assert math.isnan(mean_gain(lines, other, seed=0).value)  # one way out, one way in: undefined
    assert not recwarn.list


def test_very_unlikely_lines_do_not_underflow():
    lines = np.array([-2000.0, -3000.0])
    assert mean_gain(lines, lines - 1, seed=0) == (1.0, 1.0, 1.0)
    assert geometric_ratio(lines, lines - 1, seed=0).value == pytest.approx(math.e)


def test_no_puzzles_give_nan_and_one_puzzle_itself():
    none = np.zeros(0)
    for found in (geometric_mean(none, seed=0), mean_gain(none, none, seed=0)):
        assert np.isnan(found).all()
    assert geometric_mean(np.array([-1.0]), seed=0) == pytest.approx([math.exp(-1)] * 3)


def test_unequal_pairs_and_impossible_settings_are_refused():
    with pytest.raises(ValueError, match="got 3 and 2 puzzles"):
        mean_gain(np.zeros(3), np.zeros(2), seed=0)
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        geometric_mean(np.zeros(3), seed=0, resamples=0)
    with pytest.raises(ValueError, match="confidence must lie strictly between"):
        bootstrap(np.zeros((3, 1)), lambda means: means[:, 0], seed=0, confidence=95)
