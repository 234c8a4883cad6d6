"""Table 3 from the counts of the suites."""

import pandas as pd

from searchless_rl.cells import Cell
from searchless_rl.reports.formats import Source
from searchless_rl.reports.table3 import table3, write_table3
from searchless_rl.results.models import Measured
from searchless_rl.results.names import BASE, MATES
from searchless_rl.statistics.intervals import wilson

SOURCE = Source("bt4", "paper")


def _figures(k, n):
    low, high = wilson(k, n)
    return {"k": k, "n": n, "accuracy": k / n, "low": low, "high": high} if n else {"k": 0, "n": 0}


def _model(name, **suites):
    return Measured(name, None if name == BASE else Cell.parse(name), in_grid=True, suites=suites)


def test_table3_prints_the_papers_table_from_the_papers_counts(tmp_path, pytestconfig):
    """All 45 entries, accuracy and half-width, to the last digit."""
    paper = pd.read_csv(pytestconfig.rootpath / "data" / "paper" / "table3.csv", dtype=str)
    suites = {}
    for row in paper.itertuples():
        beta = "0" if row.term == "none" else "0.01"
        model = BASE if row.term == "frozen_base" else f"{row.term}-{row.tau}-{beta}-s0"
        k = round(float(row.acc_pct) * int(row.n) / 100)
        suites.setdefault(model, {})[MATES[int(row.mate_in)]] = _figures(k, int(row.n))
    models = [_model(name, **figures) for name, figures in suites.items()]
    write_table3(table3(models), tmp_path / "table3", SOURCE)
    printed = (tmp_path / "table3.md").read_text()
    lines = [line for line in printed.splitlines() if " ± " in line]
    assert len(lines) == 9
    for line, (_, rows) in zip(lines, paper.groupby(["term", "tau"], dropna=False, sort=False), strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[3:] == [f"{row.acc_pct} ± {row.halfwidth}" for row in rows.itertuples()]
    assert "N = 4: 20000, N = 5: 4465." in printed
    latex = (tmp_path / "table3.tex").read_text()
    assert r"Forward-KL prior (proposed) & $\tau$ $\equiv$ 1" in latex
    assert r"\multicolumn{5}{c}{Mate-in-N accuracy (\%)}" in latex


def test_table3_has_counts_with_wilson_intervals_and_dashes(tmp_path):
    models = [_model(BASE, mate1=_figures(30, 40), mate2=_figures(0, 0)), _model("none-adaptive-0-s0")]
    frame = table3(models)
    first = frame.iloc[0]
    assert (first["mate1_k"], first["mate1_n"], first["mate1_accuracy"]) == (30, 40, 0.75)
    assert (first["mate1_low"], first["mate1_high"]) == wilson(30, 40)
    assert frame.loc[1, "mate1_k"] is pd.NA
    write_table3(frame, tmp_path / "t", SOURCE)
    rows = [line for line in (tmp_path / "t.md").read_text().splitlines() if line.startswith("| ")]
    assert rows[1].count("–") == 2 + 4  # no tau and beta, four depths
    assert rows[2].count("–") == 1 + 5
    assert table3([]).empty
