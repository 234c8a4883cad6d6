"""Ratings against BayesElo's recorded output, closed forms, finite differences and simulated games."""

from __future__ import annotations

import itertools
import json
import math
import time
from pathlib import Path

import chess.pgn
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from searchless_rl.statistics.rating_model import (
    Counts,
    UnboundedRatings,
    derivatives,
    log_likelihood,
    maximize,
    with_prior,
)
from searchless_rl.statistics.ratings import bayeselo

RECORDED = Path(__file__).resolve().parents[1] / "data" / "bayeselo"
SETTINGS = {
    "mm_default": {},
    "mm_0_1": {"fit": ("draw",)},
    "mm_1_1": {"fit": ("advantage", "draw")},
    "mm_default_prior0": {"prior": 0.0},
    "mm_1_1_prior0": {"fit": ("advantage", "draw"), "prior": 0.0},
}


def table_of(*records: tuple[str, str, int, int, int]) -> pd.DataFrame:
    """Games from (white, black, White's wins, draws, Black's wins)."""
    rows = [
        (white, black, result)
        for white, black, *numbers in records
        for result, number in zip(("1-0", "1/2-1/2", "0-1"), numbers, strict=True)
        for _ in range(number)
    ]
    return pd.DataFrame(rows, columns=["white", "black", "result"])


@pytest.fixture(scope="module")
def crosstable() -> pd.DataFrame:
    rows = pd.read_csv(RECORDED / "crosstable5.csv")
    return table_of(*rows.itertuples(index=False, name=None))


def recorded_output(setting: str) -> dict:
    """What BayesElo printed: a, d, log-likelihood, unscaled ratings, LOS, games and score of each player."""
    lines = (RECORDED / f"crosstable5.{setting}.out").read_text().splitlines()
    start = lines.index("00:00:00,00")
    rank = next(place for place, line in enumerate(lines) if line.startswith("Rank"))
    los = next(place for place, line in enumerate(lines) if line.split()[:2] == ["Alpha", "Bravo"]) + 1
    names = lines[los - 1].split()
    shown = [line.split() for line in lines[rank + 1 : rank + 1 + len(names)]]
    # Columns eight wide, in ten-millionths, cut off; the diagonal is blank.
    cells = [
        [lines[los + i][8 * (j + 1) : 8 * (j + 2)].strip() for j in range(len(names))]
        for i in range(len(names))
    ]
    ratings = [line for line in lines if line.startswith("Rating of player")]
    return {
        "names": names,
        "advantage": float(lines[start + 1]),
        "draw_elo": float(lines[start + 2]),
        "log_likelihood": float(lines[start + 4]),
        "elo": [float(line.split()[-1].rstrip(".")) for line in ratings],
        "los": [[float(cell) / 1e7 if cell else 0.5 for cell in row] for row in cells],
        "games": [int(row[5]) for row in shown],
        "score": [int(row[6].rstrip("%")) for row in shown],
    }


def test_crosstable_and_games_file_are_the_same_games(crosstable):
    played = []
    with (RECORDED / "crosstable5.pgn").open() as stream:
        while headers := chess.pgn.read_headers(stream):
            played.append((headers["White"], headers["Black"], headers["Result"]))
    assert len(played) == 380
    assert sorted(played) == sorted(crosstable.itertuples(index=False, name=None))


@pytest.mark.parametrize("setting", SETTINGS)
def test_agrees_with_the_recorded_bayeselo(crosstable, setting):
    """BayesElo stops at a relative change of 1e-5, about 0.01 Elo from the maximum."""
    recorded = recorded_output(setting)
    rated = bayeselo(crosstable, **SETTINGS[setting])
    assert rated.elo.index.tolist() == recorded["names"]
    np.testing.assert_allclose(rated.elo, recorded["elo"], atol=0.01)
    np.testing.assert_allclose(rated.los, recorded["los"], atol=5e-5)
    assert rated.advantage == pytest.approx(recorded["advantage"], abs=0.005)
    assert rated.draw_elo == pytest.approx(recorded["draw_elo"], abs=0.005)
    assert rated.games.tolist() == recorded["games"]
    np.testing.assert_allclose(100 * rated.score, recorded["score"], atol=0.51)


@pytest.mark.parametrize("setting", SETTINGS)
def test_agrees_with_an_independent_maximisation(crosstable, setting):
    expected = json.loads((RECORDED / "crosstable5.expected.json").read_text())[setting]
    rated = bayeselo(crosstable, **SETTINGS[setting])
    np.testing.assert_allclose(rated.elo, expected["elo"], atol=1e-4)
    np.testing.assert_allclose(rated.los, expected["los"], atol=1e-6)
    np.testing.assert_allclose(rated.covariance, expected["covariance"], atol=1e-3)
    # Recorded with the exact quantile 1.959964 in place of 1.96.
    np.testing.assert_allclose(rated.interval, expected["ci95_covariance"], atol=1e-3)
    assert rated.advantage == pytest.approx(expected["advantage"], abs=1e-4)
    assert rated.draw_elo == pytest.approx(expected["drawelo"], abs=1e-4)


@pytest.mark.parametrize("setting", SETTINGS)
def test_log_likelihood_counts_virtual_draws_as_bayeselo_does(crosstable, setting):
    rated = bayeselo(crosstable, **SETTINGS[setting])
    counts = with_prior(counts_of(crosstable), SETTINGS[setting].get("prior", 2.0))
    value = log_likelihood(counts, np.append(rated.elo, [rated.advantage, rated.draw_elo]))
    assert value == pytest.approx(recorded_output(setting)["log_likelihood"], abs=6e-4)


def counts_of(games: pd.DataFrame) -> Counts:
    names = sorted({*games["white"], *games["black"]})
    tables = []
    for result in ("1-0", "1/2-1/2", "0-1"):
        table = np.zeros((len(names), len(names)))
        for white, black in games.loc[games["result"] == result, ["white", "black"]].itertuples(index=False):
            table[names.index(white), names.index(black)] += 1
        tables.append(table)
    return Counts(*tables)


def test_a_base_stands_at_zero_with_intervals_of_the_difference_to_it(crosstable):
    covariance = np.array(
        json.loads((RECORDED / "crosstable5.expected.json").read_text())["mm_1_1"]["covariance"]
    )
    free = bayeselo(crosstable, fit=("advantage", "draw"))
    rated = bayeselo(crosstable, fit=("advantage", "draw"), base="Charlie")
    assert free.elo.mean() == pytest.approx(0, abs=1e-9)
    assert rated.elo["Charlie"] == 0
    assert rated.interval["Charlie"] == 0
    np.testing.assert_allclose(rated.elo, free.elo - free.elo["Charlie"], atol=1e-9)
    difference = np.diag(covariance) + covariance[2, 2] - 2 * covariance[2]
    np.testing.assert_allclose(rated.interval, 1.96 * np.sqrt(difference), rtol=1e-5)
    pd.testing.assert_frame_equal(rated.los, free.los)
    pd.testing.assert_frame_equal(rated.covariance, free.covariance)
    assert bayeselo(crosstable, fit=("advantage", "draw"), base="Alpha").interval["Charlie"] == pytest.approx(
        rated.interval["Alpha"]
    )


def test_los_follows_from_ratings_and_covariance(crosstable):
    rated = bayeselo(crosstable)
    a, b = "Delta", "Charlie"
    spread = math.sqrt(
        rated.covariance.loc[a, a] + rated.covariance.loc[b, b] - 2 * rated.covariance.loc[a, b]
    )
    assert rated.los.loc[a, b] == pytest.approx(
        0.5 * (1 + math.erf((rated.elo[a] - rated.elo[b]) / spread / 2**0.5))
    )
    assert rated.los.loc[a, b] < 0.01  # Delta is the weaker: rows are the stronger one
    np.testing.assert_allclose(rated.los + rated.los.T, 1.0, atol=1e-12)
    assert (np.diag(rated.los) == 0.5).all()


# --- closed forms, two players ---


def logistic(x: float) -> float:
    return 1 / (1 + 10 ** (-x / 400))


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


# --- derivatives ---


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


# --- invariance ---


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


# --- simulated pools ---


def simulate(
    rng: np.random.Generator, elo: np.ndarray, each_colour: int, advantage: float, draw_elo: float
) -> pd.DataFrame:
    """A round-robin of players p00, p01, ... with that many games of every pair and colour."""
    names = np.array([f"p{place:02d}" for place in range(len(elo))])
    white, black = (np.repeat(side, each_colour) for side in np.nonzero(1 - np.eye(len(elo))))
    margin = elo[white] - elo[black] + advantage
    white_wins, black_wins = (1 / (1 + 10 ** (-(side * margin - draw_elo) / 400)) for side in (1, -1))
    draw = rng.random(len(margin))
    result = np.where(draw < white_wins, "1-0", np.where(draw < white_wins + black_wins, "0-1", "1/2-1/2"))
    return pd.DataFrame({"white": names[white], "black": names[black], "result": result})


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


# --- what is refused, and what has an answer all the same ---


def test_a_player_who_won_everything_has_a_finite_rating_thanks_to_the_prior():
    games = table_of(("A", "B", 20, 0, 0), ("B", "A", 0, 0, 20), ("B", "C", 5, 5, 5))
    rated = bayeselo(games, base="B")
    assert 300 < rated.elo["A"] < 1000
    assert np.isfinite(rated.interval).all()
    assert rated.los.loc["A", "B"] > 0.999
    assert rated.score["A"] == 1.0
    assert bayeselo(games, prior=0.1, base="B").elo["A"] > rated.elo["A"] + 100


@pytest.mark.parametrize("strong", ["A", "Z"])  # the walk starts at the first name
def test_without_a_prior_a_clean_sweep_is_refused_by_name(strong):
    games = table_of((strong, "M", 3, 0, 0), ("N", strong, 0, 0, 2), ("M", "N", 1, 1, 1))
    with pytest.raises(UnboundedRatings, match=f"{strong} won every game against M, N; set a prior above 0"):
        bayeselo(games, prior=0.0)
    loses = games.replace({"result": {"1-0": "0-1", "0-1": "1-0"}})
    with pytest.raises(UnboundedRatings, match=f"M, N won every game against {strong}; set a prior"):
        bayeselo(loses, prior=0.0)


def test_one_draw_bounds_a_sweep_without_a_prior():
    rated = bayeselo(table_of(("A", "B", 9, 1, 0), ("B", "C", 2, 1, 0)), prior=0.0)
    assert np.isfinite(rated.interval).all()
    assert rated.elo["A"] > rated.elo["B"] > rated.elo["C"]


def test_a_circle_of_wins_is_bounded_without_a_prior():
    rated = bayeselo(table_of(("A", "B", 1, 0, 0), ("B", "C", 1, 0, 0), ("C", "A", 1, 0, 0)), prior=0.0)
    assert rated.elo.tolist() == pytest.approx([0, 0, 0], abs=1e-6)


@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_a_pool_that_falls_apart_is_refused_with_its_parts(prior):
    games = table_of(("A", "B", 3, 1, 2), ("C", "D", 2, 1, 1), ("D", "E", 1, 1, 1))
    with pytest.raises(ValueError, match="no games link A, B to C, D, E"):
        bayeselo(games, prior=prior)


@pytest.mark.parametrize(
    ("games", "settings", "told"),
    [
        (table_of(("A", "B", 0, 9, 0)), {"fit": ("draw",)}, "every game was drawn.*leave it out of fit"),
        # Whoever never loses can be put higher for ever if the draw parameter rises along.
        (
            table_of(("A", "B", 20, 10, 0), ("B", "A", 0, 10, 20)),
            {"fit": ("draw",)},
            r"60 games do not bound.*fit less$",
        ),
        (
            table_of(("A", "B", 9, 0, 0), ("B", "A", 9, 0, 0)),
            {"fit": ("advantage", "draw"), "prior": 0.0},
            "18 games do not bound.*or set a prior",
        ),
    ],
)
def test_results_that_do_not_bound_a_fitted_parameter_are_refused(games, settings, told):
    with pytest.raises(UnboundedRatings, match=told):
        bayeselo(games, **settings)
    assert np.isfinite(bayeselo(games).elo).all()  # the same games, nothing fitted


def random_pool(rng: np.random.Generator) -> pd.DataFrame:
    """Two to four players linked by few games, of few kinds of results."""
    names = [*"ABCD"][: rng.integers(2, 5)]
    pairs = [pair for pair in itertools.permutations(names, 2) if rng.random() < 0.4]
    pairs += itertools.pairwise(names)
    kinds = rng.choice(3, size=rng.integers(1, 4), replace=False)
    counts = np.zeros((len(pairs), 3), int)
    counts[:, kinds] = rng.integers(0, 3, (len(pairs), len(kinds)))
    counts[-len(names) + 1 :, kinds[0]] += 1
    return table_of(*((*pair, *map(int, numbers)) for pair, numbers in zip(pairs, counts, strict=True)))


def grows_for_ever(counts: Counts, fit: tuple[str, ...]) -> bool:
    """Whether moving the parameters along some line never lowers the likelihood, by linear programming.

    A win needs d(D + a) >= dd there, a loss −d(D + a) >= dd, a draw |d(D + a)| <= dd.
    """
    n = len(counts.draws)
    rows = []
    for white, black in zip(*np.nonzero(counts.games), strict=True):
        margin, draw = np.zeros(n + 2), np.zeros(n + 2)
        margin[white], margin[black], margin[n], draw[n + 1] = 1, -1, 1, 1
        rows += [draw - margin] * bool(counts.white_wins[white, black])
        rows += [draw + margin] * bool(counts.black_wins[white, black])
        rows += [margin - draw, -margin - draw] * bool(counts.draws[white, black])
    free = [False, *[True] * (n - 1), "advantage" in fit, "draw" in fit and bool(counts.draws.any())]
    box = [(-1, 1) if is_free else (0, 0) for is_free in free]
    goal = np.random.default_rng(0).normal(size=n + 2)  # no line is at right angles to it
    furthest = (
        linprog(side * goal, A_ub=np.array(rows), b_ub=np.zeros(len(rows)), bounds=box).fun
        for side in (1, -1)
    )
    return min(furthest) < -1e-6


def test_ratings_are_refused_exactly_where_the_likelihood_grows_for_ever():
    rng = np.random.default_rng(17)
    fits = ((), ("draw",), ("advantage",), ("advantage", "draw"))
    seen = set()
    for fit, prior, _ in itertools.product(fits, (0.0, 2.0), range(12)):
        games = random_pool(rng)
        unbounded = grows_for_ever(with_prior(counts_of(games), prior), fit)
        seen.add((fit, prior, unbounded))
        try:
            rated = bayeselo(games, prior=prior, fit=fit)
        except UnboundedRatings:
            assert unbounded
        else:
            assert not unbounded
            assert np.isfinite(rated.interval).all()
    # All kinds were met; with a prior only a fitted draw parameter can be unbounded.
    bounded = {(fit, prior, False) for fit in fits for prior in (0.0, 2.0)}
    assert seen == bounded | {(fit, prior, True) for fit, prior, _ in bounded if prior == 0 or "draw" in fit}


def test_very_lopsided_results_still_converge():
    """A chain of 12 players, each of whom beats the next 1,000 to 1; 3,000 games of one pair, 2 of others."""
    names = [f"p{place:02d}" for place in range(12)]
    games = table_of(*((better, worse, 1000, 0, 1) for better, worse in itertools.pairwise(names)))
    rated = bayeselo(games, advantage=0.0, prior=0.0, fit=("draw",))
    np.testing.assert_allclose(-np.diff(rated.elo), 1200, atol=1e-3)
    games = table_of(("A", "B", 1500, 0, 1500), ("B", "C", 1, 0, 1), ("C", "D", 1, 0, 1))
    rated = bayeselo(games, advantage=0.0, prior=0.0)
    np.testing.assert_allclose(rated.elo, 0, atol=1e-6)


def test_no_games_are_refused():
    with pytest.raises(ValueError, match="no games to rate"):
        bayeselo(table_of())


def test_an_unknown_base_is_refused_with_the_names():
    with pytest.raises(ValueError, match="'base' played none of these games; the players are A, B"):
        bayeselo(table_of(("A", "B", 1, 1, 1)), base="base")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"prior": -1.0}, "prior must be .* 0 or more, got -1.0"),
        ({"prior": math.nan}, "prior must be .*, got nan"),
        ({"prior": math.inf}, "prior must be .*, got inf"),
        ({"draw_elo": 0.0}, "draw_elo must be .* above 0, got 0.0"),
        ({"draw_elo": math.nan}, "draw_elo must be .*, got nan"),
        ({"advantage": math.inf}, "advantage must be .*, got inf"),
        ({"fit": "draw"}, "fit must be .*'draw'"),
        ({"fit": ("elo",)}, r"fit must be .*got \('elo',\)"),
    ],
)
def test_parameters_out_of_range_are_refused_with_their_values(crosstable, settings, told):
    with pytest.raises(ValueError, match=told):
        bayeselo(crosstable, **settings)
