"""The statistics of section 3.5."""

import math

import numpy as np
import pandas as pd
import pytest
from made_results import FIXED, FORWARD, PAPER, REVERSE, random_recovery
from scipy import stats

from searchless_rl.reports.recovery import recovery_table
from searchless_rl.statistics.intervals import wilson


def test_recovery_statistics_agree_with_a_loop():
    frame = random_recovery()
    table = recovery_table(frame, PAPER).set_index(["model", "statistic"])
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
        bounds = table.loc[(model, "mean mass moved, recovered"), ["low", "high"]].astype(float)
        assert bounds.tolist() == pytest.approx(
            stats.t.interval(0.95, len(moved) - 1, np.mean(moved), stats.sem(moved))
        )
        low, high = table.loc[(model, "median mass moved, recovered"), ["low", "high"]]
        assert stats.binom.cdf(sum(one < low for one in moved), len(moved), 0.5) <= 0.025
        assert low < np.median(moved) < high
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
    table = recovery_table(random_recovery(), PAPER).set_index(["model", "statistic"])
    printed = pd.read_csv(PAPER / "section35.csv")
    # Every printed value has found its row.
    assert (table["paper"] != "").sum() == len(printed)
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
    table = recovery_table(random_recovery(models=(FIXED,)), PAPER)
    assert table.loc[table["model"] == FIXED, "paper"].eq("").all()
    assert "puzzles newly solved by it alone" not in table["statistic"].tolist()
