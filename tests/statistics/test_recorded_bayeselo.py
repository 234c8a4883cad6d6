"""Ratings against the recorded output of the BayesElo program and an independent maximisation."""

from __future__ import annotations

import json
import math
from pathlib import Path

import chess.pgn
import numpy as np
import pandas as pd
import pytest
from rating_pools import counts_of

from searchless_rl.statistics.rating_model import (
    log_likelihood,
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
