"""Expressions read the recorded files as pandas does, and say what is missing."""

import pandas as pd
import pytest

from searchless_rl.claims.estimates import UnmeasuredError
from searchless_rl.claims.expressions import (
    Gain,
    Largest,
    Number,
    RankCorrelation,
    Row,
    Rows,
    Share,
    accuracy,
)
from searchless_rl.claims.frames import FIGURES, REPORTS, paper_frames, read_frames, rows_of
from searchless_rl.claims.judged import RULES
from searchless_rl.statistics.intervals import wilson

SCALE = "mini"


@pytest.fixture(scope="module")
def root(pytestconfig):
    return pytestconfig.rootpath


@pytest.fixture(scope="module")
def frames(root):
    return read_frames(root / "reports" / SCALE, root / "paper_figures" / SCALE)


@pytest.fixture(scope="module")
def read(root):
    def one(name):
        folder = "paper_figures" if name in FIGURES else "reports"
        return pd.read_csv(root / folder / SCALE / f"{name}.csv")

    return one


@pytest.fixture(scope="module")
def paper(root):
    return paper_frames(root / "data" / "paper")


def test_a_number_has_its_interval_its_count_and_its_line(frames, read):
    table = read("table1")
    place = table.index[(table["term"] == "entropy") & (table["tau"] == "fixed")][0]
    found = accuracy("hard", "entropy", "fixed").of(frames)
    row = table.loc[place]
    assert (found.value, found.low, found.high, found.n) == (
        *(row["hard_accuracy"], row["hard_low"], row["hard_high"], row["hard_n"]),
    )
    assert found.sources == (f"table1.csv:{place + 2}:hard_accuracy",)
    assert found.sampled


def test_draws_have_numerical_bounds_not_an_interval(frames, read):
    row = read("coverage").query("term == 'base' and policy == 'raw' and position == 'start'").iloc[0]
    where = (("term", "base"), ("policy", "raw"), ("position", "start"))
    found = Number("coverage", "draws_95_low", where).of(frames)
    assert (found.low, found.high, found.sampled) == (row["draws_95_low"], row["draws_95_high"], False)


def test_a_gain_is_paired_in_either_direction(frames, read):
    paired = read("paired").query("suite == 'main' and a == 'base' and b == 'none-fixed-0-s0'").iloc[0]
    gain = Gain("main", "none", "fixed").of(frames)
    assert (gain.value, gain.low, gain.high) == (-paired["difference"], -paired["high"], -paired["low"])
    assert gain.value == pytest.approx((paired["only_b"] - paired["only_a"]) / paired["n"])
    loss = Gain("main", "base", None, ("none", "fixed")).of(frames)
    assert (loss.value, loss.low, loss.high) == (-gain.value, -gain.high, -gain.low)


def test_a_gain_that_is_not_paired_is_of_independent_rates(frames, read):
    """The control on the hard suite; wider than a pairing would make it."""
    gain = Gain("hard", "control", None).of(frames)
    table = read("table1").set_index("term")["hard_accuracy"]
    assert gain.value == pytest.approx(table["control"] - table["base"])
    assert len(gain.sources) == 2


def test_the_largest_over_a_range_of_beta(frames, read):
    cells = read("cells").query("term == 'forward_kl' and tau == 'adaptive' and variant == 'full'")
    where = (("term", "forward_kl"), ("tau", "adaptive"), ("variant", "full"))
    found = Largest(Rows(Number("cells", "main_accuracy", where), "beta", 3e-3, 3e-2)).of(frames)
    assert found.value == cells.query("0.003 <= beta <= 0.03")["main_accuracy"].max()
    assert len(found.sources) == 3


def test_a_share_of_counts(frames, read):
    table = read("recovery")
    rows = table[table["model"].str.startswith("forward_kl")].set_index("statistic")["value"]
    k, m = int(rows["puzzles newly solved"]), int(rows["puzzles given back"])
    parts = [
        Number("recovery", "value", (("statistic", name), ("term", "forward_kl")))
        for name in ("puzzles newly solved", "puzzles given back")
    ]
    found = Share(*parts).of(frames)
    assert (found.value, found.low, found.high, found.n) == (k / (k + m), *wilson(k, k + m), k + m)


def test_a_rank_correlation_of_columns(frames, read):
    table = read("table5").query("term in ('none', 'entropy')")
    keys = [(("term", row["term"]), ("sampling", row["sampling"])) for _, row in table.iterrows()]
    columns = [tuple(Number("table5", column, key) for key in keys) for column in ("elo", "entropy")]
    found = RankCorrelation(*columns).of(frames)
    assert found.value == pytest.approx(table["elo"].corr(table["entropy"], method="spearman"))


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (Number("table9", "elo", (("term", "none"),)), "table9.csv was not made"),
        (Number("table1", "elo", (("term", "nobody"),)), "table1.csv has no row of nobody"),
        (Number("table1", "wins", (("term", "base"),)), "table1.csv, line 2: no value of wins"),
    ],
)
def test_what_is_missing_is_named(frames, number, what):
    with pytest.raises(UnmeasuredError, match=what):
        number.of(frames)


def test_seeds_are_the_cells_of_the_same_term_tau_and_beta():
    def cell(seed, rate, **more):
        return {"term": "none", "tau": "fixed", "beta": 0.0, "seed": seed, "variant": "full"} | {
            "main_accuracy": rate, "hard_geometric_mean": rate and rate / 2, **more
        }  # fmt: skip

    cells = [cell(0, 0.3), cell(1, 0.4), cell(2, 0.9, variant="no_ema"), cell(3, 0.9, tau="adaptive")]
    cells.append(cell(4, None))
    mine = {"term": "none", "tau": "fixed", "beta": 0.0, "accuracy": 0.3, "low": 0.2, "high": 0.4}
    kept = {"term": "none", "tau": "fixed", "beta": 0.0, "statistic": "geometric", "hard": 0.15}
    base = {"term": "base", "accuracy": 0.1, "low": 0.05, "high": 0.15}
    frames = {
        "table1": rows_of(pd.DataFrame([mine, base])),
        "table4": rows_of(pd.DataFrame([kept])),
        "cells": rows_of(pd.DataFrame(cells)),
    }
    assert accuracy("main", "none", "fixed").of(frames).seeds == {0: 0.3, 1: 0.4}
    assert Gain("main", "none", "fixed").of(frames).seeds == pytest.approx({0: 0.2, 1: 0.3})
    hard = Number("table4", "hard", (("term", "none"), ("statistic", "geometric")))
    assert hard.of(frames).seeds == {0: 0.15, 1: 0.2}
    assert accuracy("main", "base", None).of(frames).fixed


def test_every_printed_number_of_the_tables_is_in_the_papers_frames(root, paper):
    """Counted in the files: each value of a printed column is a value of the frame that stands for it."""
    pairs = [
        *[("table1", "table1", name, column, 0.01) for name, column in (
            ("acc_pct", "accuracy"), ("acc2400_pct", "hard_accuracy"))],
        ("table1", "table1", "acc_halfwidth", "high", 0.01),
        ("table4", "table4", "mate3_gm", "mate3", 1),
        *[("table5", "table5", name, column, 1) for name, column in (
            ("elo", "elo"), ("entropy_nats", "entropy"), ("kl_base_p", "kl_base_policy"), ("cov5", "cov5"))],
        ("table6", "cells", "acc_pct", "selection_accuracy", 0.01),
    ]  # fmt: skip
    for name, frame, printed, column, scale in pairs:
        wanted = pd.read_csv(root / "data" / "paper" / f"{name}.csv")[printed] * scale
        rows = [row.values for row in paper[frame] if row.values.get("statistic", "geometric") == "geometric"]
        found = [row[column] - (row["accuracy"] if column == "high" else 0) for row in rows if column in row]
        assert {round(value, 9) for value in wanted} <= {round(value, 9) for value in found}, (name, printed)
    mates = pd.read_csv(root / "data" / "paper" / "table3.csv")
    row = next(row.values for row in paper["table3"] if row.values["term"] == "forward_kl")
    assert row["mate5_accuracy"] == pytest.approx(0.6323)
    assert row["mate5_n"] == mates["n"].min() == 4465


def test_the_papers_ratios_are_those_it_prints(paper):
    """Section 3.3 prints the paired ratios 1.33, 1.11 and 1.34, and 1 to 4 % the other way."""
    row = next(row.values for row in paper["table4"] if row.values["statistic"] == "forward / reverse")
    assert [round(row[suite], 2) for suite in ("hard", "mate4", "mate5")] == [1.33, 1.11, 1.34]
    assert all(1.005 < 1 / row[suite] < 1.045 for suite in ("main", "mate1", "mate2", "mate3"))
    gap = [row.values for row in paper["table4"] if row.values["statistic"] == "arithmetic / geometric"]
    assert next(row["hard"] for row in gap if row["term"] == "none") == pytest.approx(60)


def test_files_that_rules_read_are_listed_and_no_others():
    named = set()

    def collect(part):
        if isinstance(part, Number):
            named.add(part.frame)
        for value in getattr(part, "__dict__", {}).values():
            for one in value if isinstance(value, tuple) else (value,):
                collect(one)

    for rule in RULES.values():
        collect(rule)
    named |= {"paired"}  # by Gain
    assert named <= {*REPORTS, *FIGURES}
    assert {*REPORTS, *FIGURES} - named <= {"table3"}  # by Gain too


def test_rows_keep_their_lines_and_drop_what_is_empty():
    frame = pd.DataFrame({"a": [1.0, None], "b": ["x", "y"]})
    assert rows_of(frame) == [Row(2, {"a": 1.0, "b": "x"}), Row(3, {"b": "y"})]
