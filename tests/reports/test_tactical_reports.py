"""Tables 3 and 4, Figures 6, 8 and 9 and the recovery statistics, from hand-made and random frames."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from searchless_rl.evaluation.candidates import COLUMNS
from searchless_rl.evaluation.recovery import side_by_side
from searchless_rl.reports import figure9
from searchless_rl.reports.figure6 import draw_figure6, figure6_data
from searchless_rl.reports.figure8 import draw_figure8, figure8_data
from searchless_rl.reports.figure9 import draw_figure9
from searchless_rl.reports.recovery import _PAPER, recovery_table
from searchless_rl.reports.table3 import table3, write_table3
from searchless_rl.reports.table4 import SUITES, table4, write_table4
from searchless_rl.results.names import MATES
from searchless_rl.results.scores import read_scores
from searchless_rl.statistics.intervals import wilson
from searchless_rl.statistics.paired import Pair, paired_interval

FORWARD, REVERSE = "forward_kl-adaptive-0.01-s0", "reverse_kl-adaptive-0.01-s0"
NONE, FIXED = "none-adaptive-0-s0", "forward_kl-fixed-0.01-s0"


def _frame(n, solved=None, log_p=None, ratings=None):
    return pd.DataFrame(
        {
            "puzzle_id": [f"p{place:05d}" for place in range(n)],
            "rating": np.full(n, 1500) if ratings is None else ratings,
            "solved": np.zeros(n, bool) if solved is None else np.asarray(solved, bool),
            "log_probability": np.full(n, -1.0) if log_p is None else log_p,
        }
    )


def _random_scores(seed=0, n=400, models=("base", REVERSE, FORWARD)):
    rng = np.random.default_rng(seed)
    ratings = rng.integers(700, 2900, n)
    ratings[ratings // 200 == 6] = 1100  # nobody is rated 1200 to 1399
    return {
        model: {suite: _frame(n, rng.random(n) < 0.5, -rng.exponential(1.5, n), ratings) for suite in SUITES}
        for model in models
    }


# Reading scores


def test_scores_are_read_and_missing_suites_left_out(tmp_path):
    (tmp_path / "base").mkdir()
    frame = _frame(3).assign(ties=0)
    frame.to_parquet(tmp_path / "base" / "main.parquet")
    scores = read_scores({"base": tmp_path / "base", NONE: tmp_path / "absent"}, ("main", "hard"))
    assert list(scores) == ["base", NONE]
    assert list(scores["base"]) == ["main"]
    assert scores[NONE] == {}
    pd.testing.assert_frame_equal(scores["base"]["main"], frame.drop(columns="ties"))


@pytest.mark.parametrize("content", [b"PAR1 this is none", None])
def test_a_damaged_file_is_named(tmp_path, content):
    path = tmp_path / "main.parquet"
    if content is None:
        pd.DataFrame({"other": [1]}).to_parquet(path)
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"main\.parquet: not scores of puzzles .* Run the stage `tactics`"):
        read_scores({"base": tmp_path}, ("main",))


# Table 3


def test_table3_prints_the_papers_table_from_the_papers_counts(tmp_path, pytestconfig):
    """All 45 entries, accuracy and half-width, to the last digit."""
    paper = pd.read_csv(pytestconfig.rootpath / "data" / "paper" / "table3.csv", dtype=str)
    scores = {}
    for row in paper.itertuples():
        beta = "0" if row.term == "none" else "0.01"
        model = "base" if row.term == "frozen_base" else f"{row.term}-{row.tau}-{beta}-s0"
        k = round(float(row.acc_pct) * int(row.n) / 100)
        frame = _frame(int(row.n), np.arange(int(row.n)) < k)
        scores.setdefault(model, {})[MATES[int(row.mate_in)]] = frame
    write_table3(table3(scores), tmp_path / "table3", "paper")
    printed = (tmp_path / "table3.md").read_text()
    lines = [line for line in printed.splitlines() if " ± " in line]
    assert len(lines) == 9
    for line, (_, rows) in zip(lines, paper.groupby(["term", "tau"], dropna=False, sort=False), strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[3:] == [f"{row.acc_pct} ± {row.halfwidth}" for row in rows.itertuples()]
    assert "N = 5 (n = 4465)" in printed
    assert r"Forward-KL prior & $\tau$ $\equiv$ 1" in (tmp_path / "table3.tex").read_text()


def test_table3_has_counts_with_wilson_intervals_and_dashes(tmp_path):
    scores = {"base": {"mate1": _frame(40, np.arange(40) < 30), "mate2": _frame(0)}, NONE: {}}
    frame = table3(scores)
    first = frame.iloc[0]
    assert (first["mate1_k"], first["mate1_n"], first["mate1_accuracy"]) == (30, 40, 0.75)
    assert (first["mate1_low"], first["mate1_high"]) == wilson(30, 40)
    assert frame.loc[1, "mate1_k"] is pd.NA
    write_table3(frame, tmp_path / "t", "mini")
    assert "–" in (tmp_path / "t.md").read_text().splitlines()[-3]
    assert table3({}).empty


# Table 4


def test_table4_has_both_means_their_gap_and_the_anchors_ratio():
    scores = _random_scores(models=("base", NONE, REVERSE, FORWARD, FIXED))
    frame = table4(scores)
    assert frame["statistic"].tolist() == ["geometric", "arithmetic", "arithmetic / geometric"] * 5 + [
        "forward / reverse"
    ]
    for model, suites in scores.items():
        rows = frame[frame["model"] == model].set_index("statistic")
        for suite, puzzles in suites.items():
            p = np.exp(puzzles["log_probability"])
            geometric, arithmetic, gap = rows[suite].loc[
                ["geometric", "arithmetic", "arithmetic / geometric"]
            ]
            assert geometric == pytest.approx(np.prod(p ** (1 / len(p))), rel=1e-9)
            assert arithmetic == pytest.approx(p.mean(), rel=1e-9)
            assert gap == pytest.approx(arithmetic / geometric, rel=1e-9)
            assert (rows[f"{suite}_low"] < rows[suite]).all()
            assert (rows[f"{suite}_high"] > rows[suite]).all()
            assert rows[f"{suite}_n"].eq(400).all()
    ratio = frame.iloc[-1]
    assert ratio["model"] == f"{FORWARD} / {REVERSE}"  # the fixed-temperature model has no partner
    geometric = frame[frame["statistic"] == "geometric"].set_index("model")
    for suite in SUITES:
        assert ratio[suite] == pytest.approx(geometric.loc[FORWARD, suite] / geometric.loc[REVERSE, suite])


def test_the_ratio_is_of_the_same_puzzles_in_any_order():
    scores = _random_scores(models=("base", REVERSE, FORWARD))
    shuffled = {**scores, REVERSE: {name: frame.sample(frac=1, random_state=1) for name, frame in
                                    scores[REVERSE].items()}}  # fmt: skip
    pd.testing.assert_series_equal(table4(scores).iloc[-1], table4(shuffled).iloc[-1])
    other = {**scores, REVERSE: {name: frame.iloc[1:] for name, frame in scores[REVERSE].items()}}
    with pytest.raises(ValueError, match="suite main: 1 puzzles were asked of one player only"):
        table4(other)


def test_table4_prints_the_papers_numbers_and_marks_the_best(tmp_path, pytestconfig):
    paper = pd.read_csv(pytestconfig.rootpath / "data" / "paper" / "table4.csv", dtype=str)
    named = dict(zip(SUITES, ["all_gm", "ge2400_gm", *(f"mate{n}_gm" for n in range(1, 6))], strict=True))
    scores = {}
    for _, row in paper.iterrows():
        beta = "0" if row["term"] == "none" else "0.01"
        model = "base" if row["term"] == "frozen_base" else f"{row['term']}-adaptive-{beta}-s0"
        scores[model] = {
            suite: _frame(5, log_p=np.full(5, math.log(float(row[name])))) for suite, name in named.items()
        }
    write_table4(table4(scores), tmp_path / "table4", "paper")
    printed = (tmp_path / "table4.md").read_text().splitlines()
    lines = [line for line in printed if "| geometric" in line]
    for line, (_, row) in zip(lines, paper.iterrows(), strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")][3:]
        assert [cell.strip("*").split()[0] for cell in cells] == [row[name] for name in named.values()]
        best = [float(row[name]) == paper[name].astype(float).max() for name in named.values()]
        assert [cell.startswith("**") for cell in cells] == best
    ratio = next(line for line in printed if "paired ratio" in line)
    cells = [round(float(cell.split()[0]), 2) for cell in ratio.strip("|").split("|")[3:]]
    # 33 % on the hard suite, 11 % and 34 % at mate-in-4 and 5: section 3.3.
    assert [cells[1], cells[5], cells[6]] == [1.33, 1.11, 1.34]
    table4(scores).to_csv(tmp_path / "again.csv", index=False, lineterminator="\n")
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "table4.csv").read_bytes()


def test_table4_of_nothing_and_of_lost_lines(tmp_path):
    write_table4(table4({"base": {}}), tmp_path / "none", "mini")
    assert (tmp_path / "none.md").read_text().count("–") >= 7
    scores = {"base": {"main": _frame(3, log_p=np.array([-1.0, -2.0, -np.inf]))}}
    write_table4(table4(scores), tmp_path / "lost", "mini")
    assert "0.000 [0.000" in (tmp_path / "lost.md").read_text()
    assert "∞" in (tmp_path / "lost.md").read_text()


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
            assert accuracy.loc[low, ["low", "high"]].tolist() == pytest.approx(paired_interval(pair))
    assert (data["low"] <= data["gain"]).all()
    assert (data["gain"] <= data["high"]).all()


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


def _random_recovery(seed=0, puzzles=300, models=(FORWARD, REVERSE)):
    """Random policies over four moves, the second of them the solution."""
    rng = np.random.default_rng(seed)
    turns = rng.integers(1, 4, puzzles)
    ids = np.repeat([f"p{place:05d}" for place in range(puzzles)], turns)
    policy = rng.dirichlet([1.5, 2.5, 1, 0.7, 0.3, 0.2, 0.1], len(ids))
    positions = {}
    for number, name in enumerate(("base", *models)):
        if number:
            shifted = policy * rng.lognormal(0, 0.4, policy.shape) * np.where(np.arange(7) == 1, 1.3, 1)
            mine = shifted / shifted.sum(axis=1, keepdims=True)
        else:
            mine = policy
        falling = -np.sort(-mine, axis=1)
        wdl = rng.dirichlet([2, 1, 1], len(ids))
        positions[name] = pd.DataFrame(
            {
                "puzzle_id": ids,
                "turn": np.concatenate([np.arange(count) for count in turns]),
                "move": [f"m{place}" for place in mine.argmax(axis=1)],
                "marked": "m1",
                "right": mine.argmax(axis=1) == 1,
                "log_winning": np.log(mine[:, 1]),
                "rank": (mine > mine[:, [1]]).sum(axis=1) + 1,
                "winning_probability": mine[:, 1],
                "top_probability": falling[:, 0],
                "second_probability": falling[:, 1],
                "win": wdl[:, 0],
                "draw": wdl[:, 1],
                "loss": wdl[:, 2],
                "tied": False,
            }
        )
    ratings = pd.DataFrame(
        {
            "puzzle_id": [f"p{place:05d}" for place in range(puzzles)],
            "rating": rng.integers(600, 2800, puzzles),
        }
    )
    return side_by_side(positions, ratings, "main")


def test_recovery_statistics_agree_with_a_loop():
    frame = _random_recovery()
    table = recovery_table(frame).set_index(["model", "statistic"])
    rows = frame.to_dict("records")
    wrong = [row for row in rows if not row["right base"]]
    by_puzzle = {}
    for row in rows:
        by_puzzle.setdefault(row["puzzle_id"], []).append(row)

    def solves(player, asked):
        return all(row[f"right {player}"] for row in asked)

    def value(model, statistic):
        return table.loc[(model, statistic), "value"]

    def mean(values):
        return sum(values) / len(values)

    assert value("base", "positions played wrong") == len(wrong)
    inside = [row for row in wrong if 0.15 <= row["solution base"] < 0.3]
    assert value("base", "wrong positions, solution at 0.15–0.3") == len(inside)
    deep = [row for row in wrong if row["rank base"] in (4, 5)]
    assert value("base", "wrong positions, solution at rank 4–5") == len(deep)
    second = sum(row["rank base"] == 2 for row in wrong)
    assert value("base", "share of wrong positions, solution at rank 2") == second / len(wrong)
    assert value("base", "positions with a lead of ≥0.6") == sum(row["lead base"] >= 0.6 for row in rows)
    failed = [asked for asked in by_puzzle.values() if not solves("base", asked)]
    ratings = [asked[0]["rating"] for asked in failed]
    assert value("base", "mean rating of puzzles failed") == pytest.approx(mean(ratings))
    fresh = {}
    for model in (FORWARD, REVERSE):
        recovered = [row for row in wrong if row[f"right {model}"]]
        stuck = [row for row in wrong if not row[f"right {model}"]]
        lost = [row for row in rows if row["right base"] and not row[f"right {model}"]]
        assert value(model, "positions recovered") == len(recovered)
        assert value(model, "positions given back") == len(lost)
        for label, low, high in (("<0.05", 0, 0.05), ("0.05–0.15", 0.05, 0.15), ("0.15–0.3", 0.15, 0.3)):
            inside = [row for row in wrong if low <= row["solution base"] < high]
            k = sum(row[f"right {model}"] for row in inside)
            found = table.loc[(model, f"recovered, solution at {label}")]
            assert (found["k"], found["n"], found["value"]) == (k, len(inside), k / len(inside))
            assert (found["low"], found["high"]) == wilson(k, len(inside))
        for label, places in (("2", {2}), ("3", {3}), ("4–5", {4, 5}), ("≥6", {6, 7})):
            inside = [row for row in wrong if row["rank base"] in places]
            k = sum(row[f"right {model}"] for row in inside)
            assert table.loc[(model, f"recovered, solution at rank {label}"), ["k", "n"]].tolist() == [
                k, len(inside),
            ]  # fmt: skip
        assert value(model, "deepest rank recovered") == max(row["rank base"] for row in recovered)
        for group, of in (("recovered", recovered), ("not recovered", stuck)):
            lead = np.median([row["top base"] - row["winning base"] for row in of])
            assert value(model, f"median lead over the solution, {group}") == pytest.approx(lead)
            product = math.prod(row["solution base"] ** (1 / len(of)) for row in of)
            assert value(model, f"geometric mean of the solution, {group}") == pytest.approx(product)
            for player, name in (("base", " of the base"), (model, "")):
                score = np.median([row[f"win {player}"] - row[f"loss {player}"] for row in of])
                assert value(model, f"median win minus loss{name}, {group}") == pytest.approx(score)
        moved = [row[f"solution {model}"] - row["solution base"] for row in recovered]
        assert value(model, "mean mass moved, recovered") == pytest.approx(mean(moved))
        assert value(model, "median mass moved, recovered") == pytest.approx(np.median(moved))
        leaked = [row[f"solution {model}"] - row["solution base"] for row in lost]
        assert value(model, "median mass moved, given back") == pytest.approx(np.median(leaked))
        assert np.median(leaked) < 0
        second = mean([row[f"rank {model}"] == 2 for row in lost])
        assert value(model, "given back, solution still at rank 2") == pytest.approx(second)
        leading = [row for row in rows if row["right base"] and row["lead base"] >= 0.6]
        k = sum(not row[f"right {model}"] for row in leading)
        assert table.loc[(model, "given back, lead of ≥0.6"), ["k", "n"]].tolist() == [k, len(leading)]
        fresh[model] = {asked[0]["puzzle_id"]: asked for asked in failed if solves(model, asked)}
        assert value(model, "puzzles newly solved") == len(fresh[model])
        gained = mean([asked[0]["rating"] for asked in fresh[model].values()])
        assert value(model, "mean rating of puzzles newly solved") == pytest.approx(gained)
        decisive = [next(row for row in asked if not row["right base"]) for asked in failed]
        inside = [row for row in decisive if row["solution base"] >= 0.3]
        k = sum(row["puzzle_id"] in fresh[model] for row in inside)
        found = table.loc[(model, "newly solved, solution at ≥0.3 (decisive)"), ["k", "n"]]
        assert found.tolist() == [k, len(inside)]
    assert value("all models", "puzzles newly solved by all") == len(
        fresh[FORWARD].keys() & fresh[REVERSE].keys()
    )
    for model, other in ((FORWARD, REVERSE), (REVERSE, FORWARD)):
        alone = [fresh[model][name] for name in fresh[model].keys() - fresh[other].keys()]
        assert value(model, "puzzles newly solved by it alone") == len(alone) > 5
        chances = [next(row for row in asked if not row["right base"])["solution base"] for asked in alone]
        assert value(model, "median solution of puzzles it alone solves") == pytest.approx(np.median(chances))
        rating = mean([asked[0]["rating"] for asked in alone])
        assert value(model, "mean rating of puzzles it alone solves") == pytest.approx(rating)


def test_the_papers_values_stand_beside_ours_and_add_up():
    table = recovery_table(_random_recovery()).set_index(["model", "statistic"])
    used = {statistic for (_, statistic), paper in table["paper"].items() if paper}
    assert used == set(_PAPER)  # every printed value has found its row
    assert table.loc[(FORWARD, "puzzles newly solved"), "paper"] == "1405"
    assert table.loc[(REVERSE, "median mass moved, recovered"), "paper"] == "0.43"

    def paper(statistic, model="base"):
        return int(table.loc[(model, statistic), "paper"])

    gates = ("<0.05", "0.05–0.15", "0.15–0.3", "≥0.3")
    parts = sum(paper(f"wrong positions, solution at {gate}") for gate in gates)
    assert parts == paper("positions played wrong") == 6840
    for model, net in ((FORWARD, 94.87 - 93.85), (REVERSE, 94.83 - 93.85)):
        gained, lost = paper("puzzles newly solved", model), paper("puzzles given back", model)
        assert (gained - lost) / 1000 == pytest.approx(net, abs=0.01)  # points of 100,000 puzzles: Table 1
        alone = paper("puzzles newly solved by it alone", model)
        assert alone + paper("puzzles newly solved by all", "all models") == gained


def test_only_the_papers_two_anchors_have_its_values():
    table = recovery_table(_random_recovery(models=(FIXED,)))
    assert table.loc[table["model"] == FIXED, "paper"].eq("").all()
    assert "puzzles newly solved by it alone" not in table["statistic"].tolist()


def test_a_model_that_changes_nothing_recovers_nothing(tmp_path):
    frame = _random_recovery(puzzles=40, models=(FORWARD,))
    for column in [name for name in frame.columns if name.endswith(" base")]:
        frame[column.replace("base", FORWARD)] = frame[column]
    table = recovery_table(frame).set_index(["model", "statistic"])["value"]
    assert table[FORWARD, "positions recovered"] == table[FORWARD, "puzzles given back"] == 0
    assert math.isnan(table[FORWARD, "median lead over the solution, recovered"])
    draw_figure8(figure8_data(frame), tmp_path / "figure8", "mini")


def test_figure8_draws_the_numbers_of_the_table():
    frame = _random_recovery()
    data = figure8_data(frame).set_index(["model", "panel", "group"])
    table = recovery_table(frame).set_index(["model", "statistic"])
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
                    "value": 0.3 + 0.7 * place, "oracle": oracle,
                }
            )  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _texts(monkeypatch, candidates, stem):
    """Everything written in the figure."""
    seen = []

    def keep(figure, data, stem):
        seen.extend(text.get_text() for axis in figure.axes for text in axis.texts)

    monkeypatch.setattr(figure9, "write_figure", keep)
    draw_figure9(candidates, stem, "mini")
    return seen


def test_figure9_shows_each_candidate_with_its_verdicts(monkeypatch, tmp_path):
    examples = [("forward", "aaaaa"), ("forward", "bbbbb"), ("forward", "ccccc"), ("reverse", "ddddd")]
    texts = _texts(monkeypatch, _candidates(examples), tmp_path)
    assert texts.count("Qxf7#") == texts.count("Qxe5+") == 4
    assert texts.count("100") == 4
    assert texts.count("60.0") == 4
    assert texts.count("oracle: set stockfish.path") == 4
    assert texts.count("–") == 8
    assert "aaaaa, rated 1234, White to move" in texts
    assert "The reverse-KL anchor has\nonly 1 exclusive recovery\nwhere the two part." in texts
    assert not any(text.startswith("The forward-KL prior has") for text in texts)
    assert sum(text == "♚" for text in texts) == 8  # one glyph for both colours, two kings a board


def test_figure9_shows_the_oracle_where_there_is_one(monkeypatch, tmp_path):
    texts = _texts(monkeypatch, _candidates([("forward", "aaaaa")], oracle=0.97), tmp_path)
    assert texts.count("97") == 2
    assert "oracle: set stockfish.path" not in texts


def test_figure9_of_nothing_says_so(monkeypatch, tmp_path):
    texts = _texts(monkeypatch, _candidates([]), tmp_path)
    assert texts == [
        "The forward-KL prior has\nno exclusive recovery\nwhere the two part.",
        "The reverse-KL anchor has\nno exclusive recovery\nwhere the two part.",
    ]


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
