"""The stage `calibrate`: the base's forecasts against its own games, and the base that is used."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from made_up_games import MADE_WITH, made_up_games

from searchless_rl.evaluation.sampled_games import sample_games
from searchless_rl.figures.reliability import draw_reliability
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation
from searchless_rl.params import CalibrationParams
from searchless_rl.pipeline import calibrate
from searchless_rl.reports.calibration import calibration_table, reliability_data, write_calibration
from searchless_rl.reports.formats import Source
from searchless_rl.statistics.calibration import Calibration, CalibrationError, brier

GAMES = CalibrationParams(games=40, seed=0, batch_size=64)


@pytest.fixture(scope="module")
def micro(pytestconfig):
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


@pytest.fixture(scope="module")
def calibrated(micro, tmp_path_factory):
    """A data folder whose base is the calibrated micro network."""
    data = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "sample_games", made_up_games)
        run(micro, data, apply=True)
    return data


def run(network, data, *, apply, params=GAMES, max_plies=300):
    out = data / "base" / "base.pb.gz"
    out.parent.mkdir(exist_ok=True)
    calibrate.calibrate_base(
        network, out, apply=apply, params=params, max_plies=max_plies, show_progress=False
    )
    return out


def test_the_file_itself_is_used_if_nothing_is_to_be_changed(micro, tmp_path):
    out = run(micro, tmp_path, apply=False, params=CalibrationParams(games=3, seed=0, batch_size=4))
    assert out.read_bytes() == micro.read_bytes()
    assert json.loads((tmp_path / "base" / "calibration.json").read_text())["applied"] is False
    frame = pd.read_parquet(tmp_path / "base" / "forecasts.parquet")
    assert frame["game"].nunique() == 3


def test_the_calibrated_base_has_the_two_numbers_in_its_value_head_and_nothing_else(micro, calibrated):
    told = json.loads((calibrated / "base" / "calibration.json").read_text())
    planes = torch.from_numpy(np.random.default_rng(0).random((8, 112, 8, 8), np.float32))
    with torch.no_grad():
        before = load_network(micro)(planes)
        after = load_network(calibrated / "base" / "base.pb.gz")(planes)
    assert torch.equal(before.policy, after.policy)
    expected = Calibration(told["scale"], told["draw"]).apply(before.value_logits.double().numpy())
    np.testing.assert_allclose(after.wdl.numpy(), expected, atol=2e-4)
    assert (told["scale"], told["draw"]) == pytest.approx((MADE_WITH.scale, MADE_WITH.draw), abs=0.3)


def test_the_forecasts_kept_are_those_of_the_file_and_what_the_numbers_make_of_them(calibrated):
    told = json.loads((calibrated / "base" / "calibration.json").read_text())
    frame = pd.read_parquet(calibrated / "base" / "forecasts.parquet")
    file = np.log(frame[["file_win", "file_draw", "file_loss"]].to_numpy(float))
    expected = Calibration(told["scale"], told["draw"]).apply(file)
    found = frame[["in_sample_win", "in_sample_draw", "in_sample_loss"]].to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert set(frame["outcome"]) == {0, 1, 2}


def test_the_table_scores_every_kind_of_forecast(calibrated, tmp_path):
    table = calibration_table(calibrated).set_index("forecast")
    assert list(table.index) == ["file", "in_sample", "out_of_sample", "constant"]
    assert table.loc["in_sample", "brier"] <= min(table["brier"]["file"], table["brier"]["out_of_sample"])
    frame = pd.read_parquet(calibrated / "base" / "forecasts.parquet")
    shares = np.bincount(frame["outcome"]) / len(frame)
    assert table.loc["constant", "brier"] == pytest.approx(1 - (shares**2).sum())  # closed form
    assert ((table["brier_low"] <= table["brier"]) & (table["brier"] <= table["brier_high"])).all()
    found = brier(frame[["file_win", "file_draw", "file_loss"]].to_numpy(), frame["outcome"].to_numpy())
    assert table.loc["file", "brier"] == pytest.approx(found)
    write_calibration(table.reset_index(), tmp_path / "calibration", Source("micro", "smoke"))
    assert "calibrated, out of sample" in (tmp_path / "calibration.md").read_text()


def test_reliability_bins_hold_every_position_once(calibrated, tmp_path):
    frame = reliability_data(calibrated)
    positions = len(pd.read_parquet(calibrated / "base" / "forecasts.parquet"))
    assert frame.groupby("forecast")["positions"].sum().to_dict() == {
        "file": positions,
        "out_of_sample": positions,
    }
    assert (frame["low"] <= frame["score"]).all()
    draw_reliability(frame, tmp_path / "reliability", "smoke")
    assert (tmp_path / "reliability.png").stat().st_size > 5000


def test_nothing_measured_still_builds(tmp_path):
    assert calibration_table(tmp_path).empty
    assert reliability_data(tmp_path).empty
    draw_reliability(reliability_data(tmp_path), tmp_path / "reliability", "smoke")
    write_calibration(calibration_table(tmp_path), tmp_path / "calibration", Source("micro", "smoke"))


class Certain:
    """Plays the lowest index, and says what it is told to."""

    def __call__(self, planes):
        policy = np.zeros((len(planes), 1858), np.float32)
        return Evaluation(policy, np.full((len(planes), 3), 1 / 3, np.float32))


def test_outcomes_are_those_of_the_side_to_move_and_a_cut_game_is_a_draw():
    found = sample_games(Certain(), 6, seed=1, max_plies=400)
    for game in range(6):
        rows = found.game == game
        plies, outcomes = found.ply[rows], found.outcome[rows]
        assert plies.tolist() == list(range(len(plies)))
        if outcomes[0] == 1:
            assert set(outcomes) == {1}
        else:
            assert outcomes[-1] == 0  # the last to move gave mate
            assert (outcomes[:-1] + outcomes[1:] == 2).all()
    cut = sample_games(Certain(), 3, seed=1, max_plies=5)
    assert set(cut.outcome) == {1}
    assert cut.ply.max() == 4


def test_a_game_depends_on_its_number_alone():
    few, many = (sample_games(Certain(), count, seed=3, max_plies=80) for count in (2, 5))
    for game in range(2):
        for field in ("ply", "outcome"):
            one, other = (getattr(found, field)[found.game == game] for found in (few, many))
            assert one.tolist() == other.tolist()


def test_games_that_end_all_alike_are_refused_only_where_it_matters(micro, tmp_path):
    few = CalibrationParams(games=12, seed=0, batch_size=16)
    with pytest.raises(CalibrationError, match="0 were won, 60 drawn and 0 lost"):
        run(micro, tmp_path, apply=True, params=few, max_plies=5)
    assert not (tmp_path / "base" / "base.pb.gz").exists()
    run(micro, tmp_path, apply=False, params=few, max_plies=5)
    assert list(calibration_table(tmp_path)["forecast"]) == ["file", "constant"]


def test_meangirls_forecasts_are_mended(tmp_path, pytestconfig):
    """A scalar head knows no draws: half of its sampled games are."""
    fetched = pytestconfig.rootpath / "data" / "downloads" / "meangirl-8.pb.gz"
    if not fetched.exists():
        pytest.skip("meangirl-8 is not fetched (searchless fetch meangirl-8)")
    run(fetched, tmp_path, apply=True, params=CalibrationParams(games=40, seed=1, batch_size=32))
    table = calibration_table(tmp_path).set_index("forecast")
    assert table.loc["out_of_sample", "brier"] < table.loc["file", "brier"] - 0.1
