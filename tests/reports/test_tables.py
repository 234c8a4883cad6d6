"""Tables from hand-made measurements."""

import json

import pandas as pd
import pytest

from searchless_rl.cells import Cell
from searchless_rl.evaluation.intervals import wilson
from searchless_rl.params import load_params
from searchless_rl.reports.formats import percent, write_table
from searchless_rl.reports.models import read_measured, select_cells
from searchless_rl.reports.stage import build_tables
from searchless_rl.reports.tables import table1, table2, table6

SOLVED = {
    "base": 500,
    "none-adaptive-0-s0": 510,
    "none-fixed-0-s0": 505,
    "forward_kl-adaptive-0.001-s0": 540,
    "forward_kl-adaptive-0.003-s0": 600,  # a half-decade point: never selected
    "forward_kl-adaptive-0.01-s0": 550,
    "forward_kl-adaptive-0.1-s0": 550,  # a tie: the smaller beta is selected
    "entropy-fixed-1-s0": 400,
}
CELLS = [name for name in SOLVED if name != "base"]


@pytest.fixture
def data(tmp_path):
    for name, k in SOLVED.items():
        folder = tmp_path / "tactics" / name
        folder.mkdir(parents=True)
        suites = {}
        for suite, n, solved in (("selection", 1500, k), ("main", 2000, k + 100), ("hard", 600, k // 10)):
            low, high = wilson(solved, n)
            suites[suite] = {"n": n, "k": solved, "accuracy": solved / n, "low": low, "high": high}
        (folder / "summary.json").write_text(json.dumps({"suites": suites}))
        (folder / "timing.json").write_text(json.dumps({"seconds": 1.5, "peak_memory_mib": 100}))
    return tmp_path


def test_selection_takes_the_most_accurate_decade_of_each_arm_and_the_smaller_of_equals(data):
    selected = [model.name for model in select_cells(read_measured(data / "tactics", CELLS))]
    assert selected == [
        "none-adaptive-0-s0",
        "none-fixed-0-s0",
        "entropy-fixed-1-s0",
        "forward_kl-adaptive-0.01-s0",
    ]


def test_selection_does_not_depend_on_the_order_of_the_list(data):
    names = {model.name for model in select_cells(read_measured(data / "tactics", CELLS[::-1]))}
    assert names == {model.name for model in select_cells(read_measured(data / "tactics", CELLS))}


def test_table6_has_base_unregularized_and_decades_with_their_intervals(data):
    frame = table6(read_measured(data / "tactics", CELLS))
    assert frame["model"].tolist() == [
        "base", "none-adaptive-0-s0", "none-fixed-0-s0", "entropy-fixed-1-s0", "forward_kl-adaptive-0.001-s0",
        "forward_kl-adaptive-0.01-s0", "forward_kl-adaptive-0.1-s0",
    ]  # fmt: skip
    for row in frame.itertuples():
        assert row.k == SOLVED[row.model]
        assert (row.low, row.high) == wilson(row.k, row.n)
        assert row.accuracy == row.k / row.n
    assert frame.loc[frame["selected"], "model"].tolist()[-1] == "forward_kl-adaptive-0.01-s0"


def test_the_full_grid_gives_33_rows(tmp_path):
    betas = (0.0001, 0.001, 0.01, 0.1, 1.0)
    cells = [Cell(term, tau, beta, 0).id for term in ("entropy", "reverse_kl", "forward_kl")
             for tau in ("adaptive", "fixed") for beta in betas]  # fmt: skip
    cells += ["none-adaptive-0-s0", "none-fixed-0-s0"]
    cells += [f"forward_kl-adaptive-{beta}-s0" for beta in ("0.0003", "0.003", "0.03", "0.3")]
    assert len(table6(read_measured(tmp_path, cells))) == 33


def test_table1_has_the_selected_models(data):
    frame = table1(read_measured(data / "tactics", CELLS))
    assert frame["model"].tolist()[0] == "base"
    assert frame["hard_n"].eq(600).all()
    assert frame.loc[frame["model"] == "forward_kl-adaptive-0.01-s0", "k"].item() == 650


def test_a_missing_cell_keeps_its_row_and_the_tables_still_build(data, tmp_path, pytestconfig):
    params = load_params(pytestconfig.rootpath / "scales" / "mini.yaml")
    grid = params.grid.model_copy(update={"cells": dict.fromkeys([*CELLS, "reverse_kl-fixed-0.1-s0"], "s0")})
    build_tables(params.model_copy(update={"grid": grid}), data, tmp_path / "reports")
    frame = pd.read_csv(tmp_path / "reports" / "table6.csv")
    assert frame.loc[frame["model"] == "reverse_kl-fixed-0.1-s0", ["k", "n", "low"]].isna().all(axis=None)
    markdown = (tmp_path / "reports" / "table6.md").read_text()
    assert "| Reverse-KL anchor  | τ ≡ 1         | 0.1   | –" in markdown
    assert "**36.67 ± 2.44**" in markdown
    latex = (tmp_path / "reports" / "table6.tex").read_text()
    assert r"Reverse-KL anchor & $\tau$ $\equiv$ 1 & 0.1 & -- & -- \\" in latex
    assert r"\textbf{36.67 $\pm$ 2.44}" in latex
    timings = json.loads((tmp_path / "reports" / "timings.json").read_text())
    assert timings["total_seconds"] == 1.5 * len(SOLVED)


def test_tables_are_byte_identical_when_built_again(data, tmp_path, pytestconfig):
    params = load_params(pytestconfig.rootpath / "scales" / "mini.yaml")
    for out in ("a", "b"):
        build_tables(params, data, tmp_path / out)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
        assert "seconds" not in path.read_text() or path.name == "timings.json"


def test_table2_of_the_paper_scale_is_the_papers_but_for_what_it_says(pytestconfig):
    paper = table2(load_params(pytestconfig.rootpath / "scales" / "paper.yaml"))
    assert paper["same"].all(), paper[~paper["same"]]
    mini = table2(load_params(pytestconfig.rootpath / "scales" / "mini.yaml"))
    different = set(mini.loc[~mini["same"], "item"])
    assert {"Total steps", "EMA decay α", "Base network"} <= different
    assert "Value-loss coefficient c_v" not in different


def test_damaged_summary_is_named(data):
    path = data / "tactics" / "base" / "summary.json"
    path.write_text("{")
    with pytest.raises(ValueError, match=r"base/summary\.json"):
        read_measured(data / "tactics", CELLS)


def test_text_is_escaped_for_latex(tmp_path):
    frame = pd.DataFrame({"a": ["50 % of x_1 & {y} ~ 2^3 \\"]})
    write_table(frame, tmp_path / "t", title="A_b", note="n", columns={"a & b": lambda row: row["a"]})
    body = (tmp_path / "t.tex").read_text()
    assert r"50 \% of x\_1 \& \{y\} \textasciitilde{} 2\textasciicircum{}3 \textbackslash{}" in body
    assert r"a \& b \\" in body


def test_percent():
    low, high = wilson(9385, 10000)
    assert percent(0.9385, low, high) == "93.85 ± 0.47"
    assert percent(float("nan"), 0.0, 1.0) == "–"
