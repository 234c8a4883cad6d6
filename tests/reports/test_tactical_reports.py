"""Figures 6, 8 and 9 from hand-made and random frames."""

import math

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from made_results import FORWARD, PAPER, REVERSE
from made_results import random_recovery as _random_recovery
from made_results import random_scores as _random_scores
from matplotlib.text import Text

from searchless_rl.evaluation.names import CANDIDATE_COLUMNS
from searchless_rl.figures import figure9
from searchless_rl.figures.figure6 import draw_figure6, figure6_data, ratio_marks
from searchless_rl.figures.figure8 import draw_figure8, figure8_data
from searchless_rl.figures.figure9 import draw_figure9
from searchless_rl.reports.recovery import recovery_table
from searchless_rl.results.names import MATES
from searchless_rl.statistics.paired import Pair, paired_interval

# Figure 6


def test_figure6_has_paired_gains_by_depth_and_rating():
    scores = _random_scores()
    data = figure6_data(scores)
    assert data["panel"].drop_duplicates().tolist() == ["mate depth", "rating", "accuracy by rating"]
    for model in (REVERSE, FORWARD):
        mine = data[data["model"] == model]
        depths = mine[mine["panel"] == "mate depth"].set_index("bin")
        for depth, suite in MATES.items():
            gains = scores[model][suite]["log_probability"] - scores["base"][suite]["log_probability"]
            assert depths.loc[depth, "gain"] == pytest.approx(gains.mean())
            assert depths.loc[depth, "loss_nats"] == -depths.loc[depth, "gain"]
        tuned, base = scores[model]["main"], scores["base"]["main"]
        ratings = mine[mine["panel"] == "rating"].set_index("bin")
        accuracy = mine[mine["panel"] == "accuracy by rating"].set_index("bin")
        assert ratings.index.tolist() == [600, 800, 1000, *range(1400, 2601, 200)]  # no 1200: nobody is there
        for low in ratings.index:
            high = 1e9 if low == 2600 else low + 200
            inside = base["rating"].between(low, high - 1)
            gains = (tuned["log_probability"] - base["log_probability"])[inside]
            assert ratings.loc[low, "gain"] == pytest.approx(gains.mean())
            assert ratings.loc[low, "n"] == accuracy.loc[low, "n"] == inside.sum()
            a, b = tuned.loc[inside, "solved"], base.loc[inside, "solved"]
            pair = Pair((a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum())
            assert accuracy.loc[low, "gain"] == pytest.approx(a.mean() - b.mean())
            assert math.isnan(accuracy.loc[low, "loss_nats"])
            assert accuracy.loc[low, ["low", "high"]].tolist() == pytest.approx(paired_interval(pair))
    assert (data["low"] <= data["gain"]).all()
    assert (data["gain"] <= data["high"]).all()


def test_ratios_are_marked_at_1_2_5_between_the_ends():
    assert ratio_marks(-1.0, 3.0) == pytest.approx([0.5, 1, 2, 5, 10, 20])
    assert ratio_marks(-0.1, 0.2) == [1]


def test_figure6_leaves_out_what_was_not_measured(tmp_path):
    scores = _random_scores()
    scores[REVERSE] = {"mate1": scores[REVERSE]["mate1"], "mate2": scores[REVERSE]["mate2"].iloc[:0]}
    scores["base"]["mate2"] = scores["base"]["mate2"].iloc[:0]
    data = figure6_data({**scores, FORWARD: {}})
    assert data[["model", "panel", "bin"]].to_numpy().tolist() == [[REVERSE, "mate depth", 1]]
    draw_figure6(data, tmp_path / "figure6", "mini")
    draw_figure6(figure6_data({}), tmp_path / "empty", "mini")
    assert pd.read_csv(tmp_path / "empty.csv").empty


# Recovery


def test_a_model_that_changes_nothing_recovers_nothing(tmp_path):
    frame = _random_recovery(puzzles=40, models=(FORWARD,))
    for column in [name for name in frame.columns if name.endswith(" base")]:
        frame[column.replace("base", FORWARD)] = frame[column]
    table = recovery_table(frame, PAPER).set_index(["model", "statistic"])["value"]
    assert table[FORWARD, "positions recovered"] == table[FORWARD, "puzzles given back"] == 0
    assert math.isnan(table[FORWARD, "median lead over the solution, recovered"])
    draw_figure8(figure8_data(frame), tmp_path / "figure8", "mini")


def test_figure8_draws_the_numbers_of_the_table():
    frame = _random_recovery()
    data = figure8_data(frame).set_index(["model", "panel", "group"])
    table = recovery_table(frame, PAPER).set_index(["model", "statistic"])
    for model in (FORWARD, REVERSE):
        for panel, statistic in (
            ("recovered by probability", "recovered, solution at {}"),
            ("recovered by rank", "recovered, solution at rank {}"),
            ("given back by lead", "given back, lead of {}"),
        ):
            for group, row in data.sort_index().loc[(model, panel)].iterrows():
                found = table.loc[(model, statistic.format(group))]
                assert [row["k"], row["n"]] == [found["k"], found["n"]]
                assert [row["low"], row["high"]] == pytest.approx([found["low"], found["high"]], nan_ok=True)
        for group in ("recovered", "not recovered"):
            for panel, statistic in (
                ("lead over the solution", "median lead over the solution"),
                ("win minus loss", "median win minus loss"),
                ("win minus loss of the base", "median win minus loss of the base"),
            ):
                row = data.loc[(model, panel, group)]
                assert row["value"] == pytest.approx(table.loc[(model, f"{statistic}, {group}"), "value"])
                assert row["low"] <= row["value"] <= row["high"]
        for group in ("recovered", "given back"):
            row = data.loc[(model, "mass moved", group)]
            assert row["value"] == pytest.approx(table.loc[(model, f"median mass moved, {group}"), "value"])


# Figure 9


def _candidates(examples, oracle=math.nan):
    """Two candidates in each example: the queen takes a pawn, or mates."""
    rows = []
    for role, puzzle in examples:
        for place, (move, winning) in enumerate((("h5e5", False), ("h5f7", True))):
            rows.append(
                {
                    "recovered_by": role, "puzzle_id": puzzle, "rating": 1234, "turn": 0,
                    "fen": "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
                    "last_move": "g8f6", "move": move, "marked": winning, "winning": winning,
                    "rank": place + 1, "base": 0.5 - 0.2 * place, "forward": 0.1 + 0.5 * place,
                    "reverse": 0.4 - 0.1 * place,
                    "value": 0.3 + 0.7 * place, "by_rule": winning, "oracle": oracle,
                }
            )  # fmt: skip
    return pd.DataFrame(rows, columns=list(CANDIDATE_COLUMNS))


def _texts(monkeypatch, candidates, stem):
    """Everything written in the figure."""
    seen = []

    def keep(figure, data, stem):
        seen.extend(text.get_text() for text in figure.findobj(Text) if text.get_text())

    monkeypatch.setattr(figure9, "write_figure", keep)
    draw_figure9(candidates, stem, "mini")
    return seen


def test_figure9_shows_each_candidate_with_its_verdicts(monkeypatch, tmp_path):
    examples = [("forward", "aaaaa"), ("forward", "bbbbb"), ("forward", "ccccc"), ("reverse", "ddddd")]
    texts = _texts(monkeypatch, _candidates(examples), tmp_path)
    assert texts.count("4.Qxf7#") == texts.count("4.Qxe5+") == 4
    assert texts.count("mate") == 4  # by the rules, not 100 of the value head
    assert "100" not in texts
    assert texts.count("30") == texts.count("rank") == 4
    assert texts.count("60.0") == 4
    assert "aaaaa, rated 1234, White to move" in texts
    assert "The reverse-KL anchor has only 1 exclusive recovery\nwhere the two part." in texts
    assert not any(text.startswith("The forward-KL prior has") for text in texts)
    assert sum(text == "♚" for text in texts) == 8  # one glyph for both colours, two kings a board


def test_figure9_has_the_oracles_column_where_an_oracle_was_asked(monkeypatch, tmp_path):
    texts = _texts(monkeypatch, _candidates([("forward", "aaaaa")], oracle=0.97), tmp_path)
    assert texts.count("97") == 2
    assert texts.count("SF") == 1
    without = _texts(monkeypatch, _candidates([("forward", "aaaaa")]), tmp_path)
    assert not any("SF" in text or "oracle" in text or "stockfish" in text.lower() for text in without)


def test_figure9_numbers_blacks_moves_and_names_a_drawing_one(monkeypatch, tmp_path):
    candidates = _candidates([("forward", "aaaaa")]).iloc[:1].assign(
        fen="7K/8/8/8/8/1k6/1P6/8 b - - 0 30", last_move="h7h8", move="b3b2", value=0.5, by_rule=True
    )  # fmt: skip
    texts = _texts(monkeypatch, candidates, tmp_path)
    assert "30…Kxb2" in texts
    assert "draw" in texts


def test_figure9_of_nothing_says_so(monkeypatch, tmp_path):
    texts = _texts(monkeypatch, _candidates([]), tmp_path)
    for name in ("forward-KL prior", "reverse-KL anchor"):
        assert f"The {name} has no exclusive recovery\nwhere the two part." in texts


@pytest.mark.parametrize(
    ("draw", "data"),
    [
        (draw_figure6, figure6_data(_random_scores())),
        (draw_figure8, figure8_data(_random_recovery())),
        (draw_figure9, _candidates([("forward", "aaaaa")])),
    ],
)
def test_figures_are_byte_identical_when_drawn_again(tmp_path, draw, data):
    for out in ("a", "b"):
        draw(data, tmp_path / out / "figure", "mini")
    assert {path.suffix for path in (tmp_path / "a").iterdir()} == {".csv", ".pdf", ".png"}
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
    assert not plt.get_fignums()
