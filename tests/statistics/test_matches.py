"""Head-to-head records, score intervals and LOS against closed forms, a direct search and simulated games."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from searchless_rl.statistics.intervals import wilson
from searchless_rl.statistics.matches import (
    format_los,
    head_to_head,
    likelihood_of_superiority,
    pair_interval,
    read_games,
    score_interval,
)

Z2 = 1.959963984540054**2
GAMES = pd.DataFrame(
    [
        ("ours", "base", "1-0", "Najdorf"),
        ("base", "ours", "0-1", "Najdorf"),
        ("ours", "base", "1/2-1/2", "Berlin"),
        ("base", "ours", "1-0", "Berlin"),
        ("base", "ours", "1/2-1/2", "Dutch"),
        ("ours", "base", "1/2-1/2", "Dutch"),
        ("ours", "third", "0-1", "Najdorf"),
        ("third", "base", "1-0", "Najdorf"),
    ],
    columns=["white", "black", "result", "opening"],
)


def test_record_counts_both_colours_and_only_games_of_the_two():
    ours = head_to_head(GAMES, "ours", "base")
    assert (ours.wins, ours.draws, ours.losses) == (2, 3, 1)
    assert ours.score == pytest.approx(3.5 / 6)
    assert ours.los == pytest.approx(0.5 * (1 + math.erf(1 / math.sqrt(3) / math.sqrt(2))))
    assert (ours.low, ours.high) == score_interval(np.array([1, 1, 0.5, 0, 0.5, 0.5]))
    theirs = head_to_head(GAMES, "base", "ours")
    assert (theirs.wins, theirs.draws, theirs.losses) == (1, 3, 2)
    assert theirs.score == pytest.approx(1 - ours.score)
    assert (theirs.low, theirs.high) == pytest.approx((1 - ours.high, 1 - ours.low))
    assert theirs.los == pytest.approx(1 - ours.los)


def test_players_who_never_met_have_an_empty_record():
    games = pd.concat([GAMES, pd.DataFrame([("third", "fourth", "1-0", "x")], columns=GAMES.columns)])
    record = head_to_head(games, "ours", "fourth")
    assert (record.wins, record.draws, record.losses, record.los) == (0, 0, 0, 0.5)
    assert all(math.isnan(value) for value in (record.score, record.low, record.high))
    assert all(math.isnan(end) for end in pair_interval(games, "ours", "fourth"))


def test_unknown_or_equal_players_are_refused():
    with pytest.raises(
        ValueError, match="'bass' played none of these games; the players are base, ours, third"
    ):
        head_to_head(GAMES, "ours", "bass")
    with pytest.raises(ValueError, match="the players are none"):
        head_to_head(GAMES[:0], "ours", "base")
    with pytest.raises(ValueError, match="a match needs two players, got 'ours' twice"):
        head_to_head(GAMES, "ours", "ours")


# --- likelihood of superiority ---


def test_los_is_near_the_exact_binomial_tail():
    """P(stronger) under a uniform prior: the Beta(W + 1, L + 1) tail, here as a sum of binomial terms."""
    for wins, losses in ((380, 325), (331, 346), (180, 215)):
        n = wins + losses + 1
        tail = sum(math.comb(n, k) for k in range(wins + 1)) / 2**n
        assert likelihood_of_superiority(wins, losses) == pytest.approx(tail, abs=3e-4)


def test_los_at_its_edges():
    assert likelihood_of_superiority(0, 0) == 0.5
    assert likelihood_of_superiority(7, 7) == 0.5
    assert likelihood_of_superiority(1000, 0) == 1.0
    assert 0.0 <= likelihood_of_superiority(0, 1000) < 1e-200


@pytest.mark.parametrize(
    ("los", "printed"),
    [
        (0.5, "0.50"),
        (0.9949, "0.99"),
        (0.9951, ">0.99"),
        (1.0, ">0.99"),
        (0.0051, "0.01"),
        (0.0049, "<0.01"),
        (0.0, "<0.01"),
        (math.nan, "–"),
    ],
)
def test_los_is_never_printed_as_certain(los, printed):
    assert format_los(los) == printed


@pytest.mark.parametrize("los", [-0.01, 1.01, 55])
def test_los_outside_its_range_is_refused(los):
    with pytest.raises(ValueError, match=f"between 0 and 1, got {los}"):
        format_los(los)


# --- score interval ---


@pytest.mark.parametrize("n", [1, 2, 10, 101, 1000])
def test_without_draws_the_interval_is_wilsons(n):
    for k in sorted({0, 1, n // 3, n - 1, n}):
        assert score_interval(np.repeat([0.0, 1.0], [n - k, k])) == pytest.approx(wilson(k, n), abs=1e-12)


@pytest.mark.parametrize("n", [1, 2, 50, 1000])
def test_draws_alone_leave_z2_over_twice_n_plus_z2_on_either_side(n):
    """A score of 1/2 + e takes wins of 2e, of variance e/2 − e²; n e² = z² (e/2 − e²)."""
    e = Z2 / 2 / (n + Z2)
    assert score_interval(np.full(n, 0.5)) == pytest.approx((0.5 - e, 0.5 + e), abs=1e-12)


@pytest.mark.parametrize("counts", [(3, 5, 9), (0, 7, 2), (11, 1, 0), (0, 0, 6), (4, 40, 4)])
def test_interval_holds_the_scores_that_a_chi_square_test_accepts(counts):
    """Pearson's statistic at the likeliest rates of win, draw and loss, found on a grid of draw rates."""
    losses, draws, wins = counts
    n = sum(counts)
    low, high = score_interval(np.repeat([0.0, 0.5, 1.0], counts))

    def statistic(theta: float) -> float:
        draw = np.linspace(0, 2 * min(theta, 1 - theta), 400_001)
        won, lost = np.maximum(theta - draw / 2, 0), np.maximum(1 - theta - draw / 2, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            likelihood = sum(
                np.where(number > 0, number * np.log(rate), 0.0)
                for number, rate in ((losses, lost), (draws, draw), (wins, won))
            )
        best = int(np.argmax(likelihood))
        rates = np.array([lost[best], draw[best], won[best]])
        seen = np.array(counts)
        expected = n * rates
        return float(((seen - expected)[expected > 1e-9] ** 2 / expected[expected > 1e-9]).sum())

    for end, away in ((low, -1), (high, 1)):
        if 0 < end < 1:
            assert statistic(end - 0.002 * away) < Z2 < statistic(end + 0.002 * away)


def test_interval_is_shorter_with_draws_and_contains_the_score():
    assert score_interval(np.repeat([0.0, 1.0], 50)) < score_interval(
        np.repeat([0.0, 0.5, 1.0], [30, 40, 30])
    )
    for losses, draws, wins in itertools.product(range(5), repeat=3):
        if losses + draws + wins:
            points = np.repeat([0.0, 0.5, 1.0], [losses, draws, wins])
            low, high = score_interval(points)
            assert 0 <= low <= points.mean() <= high <= 1
            assert low < high


@pytest.mark.parametrize("rates", [(0.3, 0.4, 0.3), (0.05, 0.35, 0.6)])
def test_interval_covers_the_true_score(rates):
    """800 matches of 100 games: 95 %, give or take three standard errors."""
    rng = np.random.default_rng(2)
    truth = np.dot(rates, [0, 0.5, 1])
    inside = 0
    for counts in rng.multinomial(100, rates, 800):
        low, high = score_interval(np.repeat([0.0, 0.5, 1.0], counts))
        inside += low <= truth <= high
    assert inside / 800 == pytest.approx(0.95, abs=0.023)


# --- pairs ---


def test_pair_interval_takes_the_pairs_as_units():
    found = pair_interval(GAMES, "ours", "base")
    assert found == score_interval(np.array([1.0, 0.25, 0.5]))
    renamed = GAMES.rename(columns={"opening": "line"}).sample(frac=1, random_state=0)
    assert pair_interval(renamed, "ours", "base", pair="line") == found


def paired_match(rng: np.random.Generator, pairs: int, swing: float) -> pd.DataFrame:
    """Both games of a pair go to White where the opening is lopsided, which it is with chance `swing`."""
    rows = []
    for opening in range(pairs):
        lopsided = rng.random() < swing
        for white, black in (("a", "b"), ("b", "a")):
            result = "1-0" if lopsided else rng.choice(["1-0", "1/2-1/2", "0-1"])
            rows.append((white, black, result, opening))
    return pd.DataFrame(rows, columns=["white", "black", "result", "opening"])


def test_lopsided_openings_shorten_the_interval_of_pairs_as_they_should():
    """Where White wins half the openings twice, a pair's mean varies less than that of two free games.

    A pair's mean has the variance 1/2 · (1/6)/2, the mean of two free games 1/2 · (1/2 · 1/4 + 1/2 · 1/6).
    """
    games = paired_match(np.random.default_rng(0), 2000, 0.5)
    low, high = pair_interval(games, "a", "b")
    single = head_to_head(games, "a", "b")
    assert low < single.score < high
    expected = math.sqrt((1 / 24) / (5 / 48))
    assert (high - low) / (single.high - single.low) == pytest.approx(expected, rel=0.05)


def test_pair_interval_covers_the_true_score():
    rng = np.random.default_rng(8)
    ends = [pair_interval(paired_match(rng, 50, 0.5), "a", "b") for _ in range(300)]
    assert np.mean([low <= 0.5 <= high for low, high in ends]) == pytest.approx(0.95, abs=0.038)


@pytest.mark.parametrize(
    ("games", "message"),
    [
        (GAMES.drop(index=1), "opening 'Najdorf': ours has 1 games with White and 0 with Black against base"),
        (pd.concat([GAMES, GAMES[2:3]]), "opening 'Berlin': ours has 2 games with White and 1 with Black"),
        (
            pd.concat([GAMES.drop(index=1), GAMES[0:1]]),
            "'Najdorf': ours has 2 games with White and 0 with Black",
        ),
        (GAMES.drop(columns="opening"), "lacks the column opening"),
        (
            GAMES.assign(opening=[*GAMES["opening"][:-4], None, "x", "y", "z"]),
            "game 4: opening must be the name",
        ),
    ],
)
def test_pairs_that_are_not_one_game_of_each_colour_are_refused(games, message):
    with pytest.raises(ValueError, match=message):
        pair_interval(games, "ours", "base")


# --- tables of games ---


def test_reading_numbers_the_players_by_name():
    played = read_games(GAMES)
    assert played.players == ["base", "ours", "third"]
    assert [played.players[place] for place in played.white] == GAMES["white"].tolist()
    assert [played.players[place] for place in played.black] == GAMES["black"].tolist()
    assert played.points.tolist() == [1, 0, 0.5, 1, 0.5, 0.5, 0, 1]


def test_reading_takes_categories_and_an_empty_table():
    played = read_games(GAMES.astype("category"))
    assert played.points.tolist() == read_games(GAMES).points.tolist()
    assert played.players == read_games(GAMES).players
    assert read_games(GAMES[:0]).players == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"result": "1-0 "}, "game 4: result must be one of 1-0, 1/2-1/2, 0-1, got '1-0 '"),
        ({"result": "*"}, "game 4: result must be .*, got '\\*'"),
        ({"result": "draw"}, "got 'draw'"),
        ({"result": math.nan}, "game 4: result must be .*, got nan"),
        ({"white": None}, "game 4: white must be a player's name, got"),
        ({"black": math.nan}, "game 4: black must be a player's name, got nan"),
        ({"white": "ours"}, "game 4: black must be another player than White, got 'ours'"),
        ({"white": 7}, r"players are named by text, got 7 \(int\)"),
    ],
)
def test_impossible_games_are_refused_by_row(change, message):
    games = GAMES.astype(object)
    for column, value in change.items():
        games.loc[4, column] = value
    with pytest.raises(ValueError, match=message):
        head_to_head(games, "ours", "base")


def test_missing_columns_are_named():
    with pytest.raises(ValueError, match=r"lacks the column black, result; it has white, opening"):
        read_games(GAMES[["white", "opening"]])
