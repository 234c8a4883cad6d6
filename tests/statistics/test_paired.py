"""Paired comparisons against hand-made counts, closed forms, simulation and published examples."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from searchless_rl.statistics.paired import (
    EXACT_BELOW,
    Pair,
    align,
    compare_models,
    count_pair,
    mcnemar_p,
    paired_interval,
)

FRAME = ["suite", "a", "b", "n", "both", "only_a", "only_b", "neither", "difference", "low", "high", "p"]


def _frame(solved, ids=None):
    names = [f"p{place:04d}" for place in range(len(solved))] if ids is None else ids
    return pd.DataFrame({"puzzle_id": names, "solved": np.array(solved, bool)})


def _exact(b, c):
    """Two-sided binomial p by summing the whole distribution."""
    chances = [math.comb(b + c, i) / 2 ** (b + c) for i in range(b + c + 1)]
    return sum(chance for chance in chances if chance <= chances[b] * (1 + 1e-9))


def test_counts_are_matched_by_puzzle_whatever_the_order():
    a = _frame([1, 1, 0, 0, 1, 0], list("abcdef"))
    b = _frame([0, 1, 0, 1, 1, 1], list("fbcdea"))  # in a's order: 1 1 0 1 1 0
    assert count_pair(a, b, "main") == Pair(both=3, only_a=0, only_b=1, neither=2)
    assert count_pair(b, a, "main") == Pair(both=3, only_a=1, only_b=0, neither=2)
    first, second = align(a, b, "main")
    assert first["puzzle_id"].tolist() == second["puzzle_id"].tolist() == list("abcdef")


def test_other_puzzles_are_refused_and_the_suite_is_named():
    with pytest.raises(ValueError, match=r"suite hard: 2 puzzles .* c among them"):
        count_pair(_frame([1, 0, 1], list("abc")), _frame([1, 0, 1], list("abd")), "hard")
    with pytest.raises(ValueError, match=r"suite hard: puzzle b stands twice"):
        count_pair(_frame([1, 0, 1], list("abc")), _frame([1, 0, 1], list("abb")), "hard")


@pytest.mark.parametrize(("b", "c"), [(1, 0), (0, 6), (5, 3), (12, 2), (40, 61), (500, 450)])
def test_small_counts_are_tested_exactly(b, c):
    assert mcnemar_p(Pair(100, b, c, 7)) == pytest.approx(_exact(b, c), rel=1e-9)


def test_large_counts_use_the_closed_form_which_joins_the_exact_one():
    b, c = 1405, 1378
    statistic = (abs(b - c) - 1) ** 2 / (b + c)
    assert mcnemar_p(Pair(90_000, b, c, 10)) == pytest.approx(math.erfc(math.sqrt(statistic / 2)), rel=1e-9)
    for b in (EXACT_BELOW // 2, 501, 520, 560, 600):
        assert mcnemar_p(Pair(9, b, EXACT_BELOW - b, 9)) == pytest.approx(
            _exact(b, EXACT_BELOW - b), abs=1e-3
        )
        just_exact = mcnemar_p(Pair(9, b, EXACT_BELOW - 1 - b, 9))
        assert just_exact == pytest.approx(_exact(b, EXACT_BELOW - 1 - b), rel=1e-9)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((1, 1, 7, 12), -0.507, -0.026),  # Bentur et al. 2009, in Fagerland, Lydersen and Laake 2014
        ((36, 12, 2, 0), 0.0569, 0.3404),  # Newcombe 1998, table II
    ],
)
def test_published_intervals_are_reproduced(counts, low, high):
    digits = 3 if low < 0 else 4
    assert [round(end, digits) for end in paired_interval(Pair(*counts))] == [low, high]


def test_intervals_hold_the_difference_and_turn_with_the_pair():
    rng = np.random.default_rng(3)
    for _ in range(300):
        pair = Pair(*rng.integers(0, 30, 4).tolist())
        low, high = paired_interval(pair)
        assert -1 <= low <= pair.difference <= high <= 1
        turned = paired_interval(Pair(pair.both, pair.only_b, pair.only_a, pair.neither))
        assert turned == pytest.approx((-high, -low), abs=1e-12)


def test_intervals_cover_the_true_difference_of_simulated_pairs():
    rng = np.random.default_rng(4)
    chances = np.array([0.35, 0.12, 0.07, 0.46])
    draws = rng.multinomial(400, chances, size=2000)
    held = [low <= 0.05 <= high for low, high in (paired_interval(Pair(*row)) for row in draws.tolist())]
    assert 0.935 <= np.mean(held) <= 0.97


def test_nobody_solves_anything_and_nothing_is_asked():
    none = Pair(0, 0, 0, 50)
    assert mcnemar_p(none) == 1.0
    assert none.difference == 0.0
    low, high = paired_interval(none)
    assert -0.1 < low < 0 < high < 0.1
    assert mcnemar_p(Pair(50, 0, 0, 0)) == 1.0
    nothing = Pair(0, 0, 0, 0)
    assert all(math.isnan(x) for x in (nothing.difference, mcnemar_p(nothing), *paired_interval(nothing)))
    frame = compare_models({"a": {"empty": _frame([])}, "b": {"empty": _frame([])}})
    assert frame.loc[0, "n"] == 0
    assert frame.loc[0, ["difference", "low", "high", "p", "p_holm"]].isna().all()


def test_all_pairs_of_a_suite_are_corrected_together():
    rng = np.random.default_rng(5)
    chances = {"a": {"main": 0.5, "hard": 0.2}, "b": {"main": 0.6, "hard": 0.3}, "c": {"main": 0.8}}
    scores = {
        model: {suite: _frame(rng.random(200) < chance) for suite, chance in suites.items()}
        for model, suites in chances.items()
    }
    frame = compare_models(scores)
    assert list(frame.columns) == [*FRAME, "p_holm"]
    assert frame[["suite", "a", "b"]].to_numpy().tolist() == [
        *(["main", a, b] for a, b in combinations("abc", 2)),
        ["hard", "a", "b"],
    ]
    assert (frame[["both", "only_a", "only_b", "neither"]].sum(axis=1) == frame["n"]).all()
    main = frame[frame["suite"] == "main"].sort_values("p")
    corrected = np.maximum.accumulate(np.minimum(main["p"].to_numpy() * [3, 2, 1], 1))  # Holm, by hand
    assert main["p_holm"].tolist() == pytest.approx(corrected.tolist())
    hard = frame[frame["suite"] == "hard"].iloc[0]
    assert hard["p_holm"] == hard["p"]
    row = frame.iloc[0]
    a, b = scores["a"]["main"]["solved"], scores["b"]["main"]["solved"]
    assert row["difference"] == pytest.approx(a.mean() - b.mean())
    assert row["low"] < row["difference"] < row["high"]


def test_one_model_has_no_pairs():
    assert list(compare_models({"base": {"main": _frame([1, 0])}}).columns) == [*FRAME, "p_holm"]
