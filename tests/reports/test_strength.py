"""Tables 1 and 5, the ladder and the dissociation figure from hand-made games."""

import json

import pandas as pd
import pytest

from searchless_rl.arena.results import COLUMNS
from searchless_rl.cells import Cell
from searchless_rl.figures.dissociation import dissociation_data, draw_dissociation
from searchless_rl.figures.strength_figure import draw_strength
from searchless_rl.params import load_params
from searchless_rl.reports.formats import Source
from searchless_rl.reports.strength import elo_text, ladder, read_games, record, strength, write_ladder
from searchless_rl.reports.table1 import control_text, table1, write_table1
from searchless_rl.reports.table5 import read_shapes, table5, write_table5
from searchless_rl.results.models import Measured
from searchless_rl.results.names import ARMS
from searchless_rl.statistics.intervals import wilson
from searchless_rl.statistics.matches import likelihood_of_superiority
from searchless_rl.statistics.ratings import bayeselo

FORWARD, ENTROPY = "forward_kl-adaptive-0.01-s0", "entropy-fixed-1-s0"

SOURCE = Source("maia-1900", "mini")


def _games(*matches):
    """Rows of an arena: (player, opponent, results of the pairs as seen by the player, e.g. "1=" or "0=")."""
    rows = []
    for player, opponent, pairs in matches:
        for number, (as_white, as_black) in enumerate(pairs):
            for white, black, mine in ((player, opponent, as_white), (opponent, player, as_black)):
                won = mine if white == player else {"1": "0", "0": "1", "=": "="}[mine]
                result = {"1": "1-0", "0": "0-1", "=": "1/2-1/2"}[won]
                row = dict.fromkeys(COLUMNS, 0) | {"white": white, "black": black, "result": result}
                row |= {"opening": f"book:{number}", "repeat_of": -1, "moves": "", "reason": "", "fen": ""}
                rows.append(row | {"game": len(rows)})
    return pd.DataFrame(rows)


@pytest.fixture
def games():
    return _games(
        (FORWARD, "base", ["1=", "1=", "=0", "11"]),
        (ENTROPY, "base", ["00", "=0", "0=", "00"]),
        ("control", "base", ["00", "0=", "00", "10"]),
        (FORWARD, ENTROPY, ["11", "1="]),
        (FORWARD, "control", ["11", "10"]),
        (ENTROPY, "control", ["=0", "10"]),
    )


def _model(name, k, n=2000, hard=None):
    suites = {"main": (k, n), "selection": (k, n)} | ({} if hard is None else {"hard": (hard, 600)})
    figures = {
        suite: {"k": k, "n": n, "accuracy": k / n, "low": wilson(k, n)[0], "high": wilson(k, n)[1]}
        for suite, (k, n) in suites.items()
    }
    cell = None if name in ("base", "control") else Cell.parse(name)
    return Measured(name, cell, in_grid=cell is not None, suites=figures)


@pytest.fixture
def models():
    return [_model("base", 700, hard=30), _model(ENTROPY, 690), _model(FORWARD, 780, hard=40)]


def test_the_ladder_is_bayeselos_and_the_record_is_counted(games):
    frame = ladder(games, "base").set_index("player")
    rated = bayeselo(games, fit=("advantage", "draw"), base="base")
    assert frame["elo"].to_dict() == pytest.approx(rated.elo.to_dict())
    assert frame.index[0] == FORWARD
    assert frame.at["base", "elo"] == 0
    assert frame.at["base", "elo_high"] - frame.at["base", "elo_low"] == 0
    half = (frame["elo_high"] - frame["elo_low"]) / 2
    assert half.to_dict() == pytest.approx(rated.interval.to_dict())
    assert frame.loc[FORWARD, ["wins", "draws", "losses", "score"]].tolist() == [4, 3, 1, 5.5 / 8]
    assert frame.at[FORWARD, "los"] == likelihood_of_superiority(4, 1)
    assert frame.at[FORWARD, "score_low"] < 5.5 / 8 < frame.at[FORWARD, "score_high"]
    assert pd.isna(frame.at["base", "wins"])
    assert frame["games"].to_dict() == {FORWARD: 16, "base": 24, "control": 16, ENTROPY: 16}


def test_games_that_do_not_bound_the_fit_are_rated_by_the_defaults(tmp_path):
    frame = ladder(_games((FORWARD, "base", ["==", "=="])), "base")
    assert not frame["fitted"].any()
    assert frame["elo"].abs().max() < 1e-6
    write_ladder(frame, tmp_path / "ladder", SOURCE)
    assert "BayesElo's defaults" in (tmp_path / "ladder.md").read_text()
    assert "−0.0" not in (tmp_path / "ladder.md").read_text()


def test_no_games_leave_dashes(tmp_path):
    frame = ladder(None, "base")
    assert frame.empty
    assert set(record(None, FORWARD, "base").values()) == {None}
    write_ladder(frame, tmp_path / "ladder", SOURCE)
    assert read_games(tmp_path) is None
    empty = pd.DataFrame(columns=list(COLUMNS)).astype(COLUMNS)
    empty.to_parquet(tmp_path / "games.parquet")
    assert read_games(tmp_path) is None


def test_damaged_games_are_named(tmp_path):
    (tmp_path / "games.parquet").write_bytes(b"PAR1")
    with pytest.raises(ValueError, match=r"games\.parquet: not games of an arena"):
        read_games(tmp_path)


def test_table1_joins_accuracy_and_strength(games, models, tmp_path, pytestconfig):
    frame = table1(models, _model("control", 900, hard=60), ladder(games, "base"))
    assert frame["model"].tolist() == ["base", ENTROPY, FORWARD, "control"]
    row = frame.set_index("model").loc[FORWARD]
    assert (row["k"], row["hard_k"], row["wins"], row["losses"]) == (780, 40, 4, 1)
    assert row["low"] == wilson(780, 2000)[0]
    assert pd.isna(frame.set_index("model").at[ENTROPY, "hard_k"])
    paper = load_params(pytestconfig.rootpath / "scales" / "paper.yaml")
    write_table1(frame, tmp_path / "paper", paper, tmp_path)
    text = (tmp_path / "paper.md").read_text()
    assert "2374 ± 37" in text
    assert "| 4–3–1 " in text
    assert "Puzzle-tuned control" in text
    mini = load_params(pytestconfig.rootpath / "scales" / "mini.yaml")
    write_table1(frame, tmp_path / "mini", mini, tmp_path)
    base = (tmp_path / "mini.md").read_text().splitlines()[6]
    assert [cell.strip() for cell in base.strip("| ").split("|")][5] == "0"
    assert "trained on" not in (tmp_path / "mini.md").read_text()


def test_table1_says_what_the_control_was_trained_on(pytestconfig, tmp_path):
    params = load_params(pytestconfig.rootpath / "scales" / "mini.yaml")
    pool = {"puzzles": 1435, "positions": 3972, "mean_rating": 1534.6, "mates": {"1": 3}, "mate_share": 0.25}
    (tmp_path / "report.json").write_text(json.dumps({"control_pool": pool}))
    text = control_text(params, tmp_path)
    assert "trained on 1435 other puzzles (mean rating 1535, 25.0 % of them mates in one to five)" in text
    epochs = params.selfplay.games * params.selfplay.steps / 3972
    assert text.endswith(f"3972 positions, {epochs:.2g} times over.")
    (tmp_path / "report.json").write_text(json.dumps({"suites": {}}))
    assert control_text(params, tmp_path) == ""


def test_elo_text_is_a_difference_with_its_half_width():
    row = pd.Series({"elo": -5.84, "elo_low": -14.14, "elo_high": 2.46})
    assert elo_text(row) == "Δ −5.8 ± 8.3"
    assert elo_text(pd.Series({"elo": -0.04, "elo_low": -1.04, "elo_high": 0.96})) == "Δ +0.0 ± 1.0"
    assert elo_text(pd.Series({"elo": 0.0, "elo_low": 0.0, "elo_high": 0.0})) == "0"


def test_every_cell_has_its_record_from_the_arena_it_played_in(games, models, tmp_path):
    """The ladder's players, the swept ones outside it, and the requested cell."""
    folders = {"argmax": games, "swept": _games(("reverse_kl-fixed-1-s0", "base", ["=1", "=="]))}
    for name, frame in folders.items():
        (tmp_path / "arena" / name).mkdir(parents=True)
        frame.to_parquet(tmp_path / "arena" / name / "games.parquet")
    (tmp_path / "requested" / "games").mkdir(parents=True)
    wanted = "forward_kl-adaptive-0.02-s0"
    _games((wanted, "base", ["11"])).to_parquet(tmp_path / "requested" / "games" / "games.parquet")
    requested = Measured(wanted, Cell.parse(wanted), requested=True)
    everyone = [*models, _model("reverse_kl-fixed-1-s0", 700), _model("entropy-fixed-0.1-s0", 1), requested]
    frame = strength(everyone, tmp_path, "base").set_index("model")
    assert frame["arena"].to_dict() == {
        ENTROPY: "argmax",
        FORWARD: "argmax",
        "reverse_kl-fixed-1-s0": "swept",
        wanted: "requested",
    }
    assert frame.loc[wanted, ["wins", "draws", "losses"]].tolist() == [2, 0, 0]
    assert frame["games"].to_dict() == {ENTROPY: 8, FORWARD: 8, "reverse_kl-fixed-1-s0": 4, wanted: 2}
    assert frame["pool"].to_dict() == {
        ENTROPY: "closed",
        FORWARD: "closed",
        "reverse_kl-fixed-1-s0": "base only",
        wanted: "base only",
    }
    draw_strength(frame.reset_index(), tmp_path / "strength", "mini")
    assert (tmp_path / "strength.png").stat().st_size > 1000


def test_every_swept_cell_has_an_elo(games, models, tmp_path):
    """The ladder's own, and outside it one of the games against the base, whatever their number."""
    swept = {"entropy-fixed-0.1-s0": ["00", "=0", "01"], "reverse_kl-fixed-1-s0": ["=1", "0=", "1="]}
    frames = {"argmax": games, "swept": _games(*((name, "base", pairs) for name, pairs in swept.items()))}
    for name, frame in frames.items():
        (tmp_path / "arena" / name).mkdir(parents=True)
        frame.to_parquet(tmp_path / "arena" / name / "games.parquet")
    found = strength([*models, *(_model(name, 1) for name in swept)], tmp_path, "base").set_index("model")
    closed = bayeselo(games, fit=("advantage", "draw"), base="base")
    outside = bayeselo(frames["swept"], fit=("advantage", "draw"), base="base")
    for names, rated in (((FORWARD, ENTROPY), closed), (swept, outside)):
        for name in names:
            row = found.loc[name]
            assert row["elo"] == pytest.approx(rated.elo[name])
            assert row["elo_half_width"] == pytest.approx(rated.interval[name])
            assert (row["elo_low"], row["elo_high"]) == pytest.approx(
                (row["elo"] - row["elo_half_width"], row["elo"] + row["elo_half_width"])
            )
    assert found["elo_games"].to_dict() == {FORWARD: 16, ENTROPY: 16} | dict.fromkeys(swept, 6)
    # Given advantage and draw parameter, the other cells of the arena change nothing but the prior: one draw
    # of the cell's own and, of the base's one, the half that falls to this opponent.
    given = {"advantage": outside.advantage, "draw_elo": outside.draw_elo, "prior": 1.5, "base": "base"}
    for name in swept:
        own = frames["swept"][(frames["swept"][["white", "black"]] == name).any(axis=1)]
        assert found.at[name, "elo"] == pytest.approx(bayeselo(own, **given).elo[name])


def test_table5_rates_the_ten_among_themselves_and_the_others_apart(tmp_path):
    """Games against the tempered base, however they ended, leave the ten where they were."""
    names = ["base-raw", "base-mu", *ARMS]
    closed = _games(*((name, "base-raw", ["1=", "=0", "10", "01"]) for name in names[1:]))
    tempered = _games(*(("base-0.8", name, ["11", "1=", "01"]) for name in names))
    alone, frame = table5(closed, None), table5(pd.concat([closed, tempered], ignore_index=True), None)
    pd.testing.assert_frame_equal(frame[:10], alone)
    assert frame["pool"].tolist() == ["closed"] * 10 + ["apart"]
    ten = bayeselo(closed, fit=("advantage", "draw"), base="base-raw")
    everybody = bayeselo(pd.concat([closed, tempered]), fit=("advantage", "draw"), base="base-raw")
    row = frame.set_index("player")
    assert row["elo"][:10].to_dict() == pytest.approx({name: ten.elo[name] for name in names})
    assert row.at["base-0.8", "elo"] == pytest.approx(everybody.elo["base-0.8"])
    assert abs(everybody.elo["base-mu"] - ten.elo["base-mu"]) > 1
    assert (row["games"].iloc[1], row.at["base-0.8", "games"]) == (8, 60)
    write_table5(frame, tmp_path / "table5", "mini")
    text = (tmp_path / "table5.md").read_text()
    assert "| Frozen base, rated apart | τ = 0.8 " in text
    assert "second fit over all games" in text


def test_table5_has_the_ten_configurations_and_the_temperature_control(tmp_path):
    names = ["base-raw", "base-mu", "base-0.8", *ARMS]
    sampled = _games(*((name, "base-raw", ["1=", "=0"]) for name in names[1:]))
    shapes = pd.DataFrame(
        {"player": names, "positions": 10, "entropy": 1.25, "kl_base_policy": 0.5, "kl_policy_base": 0.25,
         "cov5": 0.875, "floored": 0.0}
    )  # fmt: skip
    frame = table5(sampled, shapes)
    assert frame["player"].tolist() == ["base-raw", "base-mu", *ARMS, "base-0.8"]
    assert frame["sampling"].tolist() == ["raw", "μ", *(["μ", "raw"] * 4), "τ = 0.8"]
    assert frame.loc[0, "elo"] == 0
    assert frame["entropy"].eq(1.25).all()
    write_table5(frame, tmp_path / "table5", SOURCE)
    text = (tmp_path / "table5.md").read_text()
    assert "| Forward-KL prior         | raw " in text
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines()[4:]]
    half = (frame.loc[1, "elo_high"] - frame.loc[1, "elo_low"]) / 2
    # No Δ, as the paper prints it.
    assert [row[2] for row in cells[2:4]] == ["0", f"{frame.loc[1, 'elo']:.0f} ± {half:.0f}"]
    assert table5(None, read_shapes(tmp_path))["elo"].isna().all()


def test_dissociation_has_both_axes_with_intervals(games, models, tmp_path):
    table = table1(models, _model("control", 900), ladder(games, "base"))

    def scores(solved):
        ids = [f"p{number:02}" for number in range(40)]
        done = [number < solved for number in range(40)]
        return {"main": pd.DataFrame({"puzzle_id": ids, "rating": 1500, "solved": done})}

    frames = {"base": scores(20), FORWARD: scores(26), "control": scores(38)}
    data = dissociation_data(table, frames).set_index("model")
    assert data.index.tolist() == [FORWARD, "control"]  # the entropy arm was not scored
    assert data.at[FORWARD, "gain"] == pytest.approx(6 / 40)
    assert data.at[FORWARD, "gain_low"] < 6 / 40 < data.at[FORWARD, "gain_high"]
    assert data.at["control", "elo"] < 0 < data.at["control", "gain_low"]
    draw_dissociation(data.reset_index(), tmp_path / "dissociation", "mini")
    assert json.loads(json.dumps(data["n"].tolist())) == [40, 40]
    assert (tmp_path / "dissociation.png").stat().st_size > 1000
