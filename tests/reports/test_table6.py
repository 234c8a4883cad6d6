"""Table 6 in the paper's form: arms down, beta across."""

import pandas as pd
import pytest
from made_results import paper_selection, printed_selection, selection_model

from searchless_rl.reports.formats import Source
from searchless_rl.reports.table6 import matrix, others_text, table6, write_table6
from searchless_rl.statistics.intervals import wilson

SOURCE = Source("bt4", "paper")


def _cells_of(line):
    return [cell.strip() for cell in line.strip("| ").split("|")]


@pytest.fixture(scope="module")
def printed(pytestconfig):
    """The paper's numbers: 30 cells, and the reference rows of the caption."""
    return printed_selection(pytestconfig.rootpath / "data" / "paper")


@pytest.fixture
def models(printed):
    return paper_selection(printed)


def test_the_papers_matrix_is_printed_from_its_counts(models, printed, tmp_path):
    """33 numbers with their half-widths at their places, and the six bold ones."""
    write_table6(table6(models), tmp_path / "table6", SOURCE)
    lines = [line for line in (tmp_path / "table6.md").read_text().splitlines() if line.startswith("| ")]
    header, rows = _cells_of(lines[0]), [_cells_of(line) for line in lines[1:]]
    assert header[3:] == ["β = 0.0001", "β = 0.001", "β = 0.01", "β = 0.1", "β = 1"]
    assert len(rows) == 3 + 6
    assert [row[2] for row in rows[:3]] == ["93.52 ± 0.48", "93.99 ± 0.47", "94.04 ± 0.46"]
    arms = printed[printed["beta"].notna()].groupby(["term", "tau"], sort=False)
    for row, (_, arm) in zip(rows[3:], arms, strict=True):
        bold = arm["selected"] == "1"
        shown = arm["acc_pct"].where(~bold, "**" + arm["acc_pct"] + "**") + " ± " + arm["halfwidth"]
        assert row[3:] == shown.tolist()
    assert len(pd.read_csv(tmp_path / "table6.csv")) == 33
    latex = (tmp_path / "table6.tex").read_text()
    assert r"\multicolumn{5}{c}{Coefficient $\beta$}" in latex


def test_cells_outside_the_selection_are_named_in_the_note(models, tmp_path):
    others = [
        selection_model("forward_kl-adaptive-0.003-s0", 9_500),
        selection_model("reverse_kl-fixed-0.03-s0", 9_400, in_grid=False, requested=True),
    ]
    everybody = [*models, *others]
    write_table6(table6(everybody), tmp_path / "table6", SOURCE, others_text(everybody))
    note = (tmp_path / "table6.md").read_text().splitlines()[-1]
    assert "forward_kl-adaptive-0.003-s0 95.00 ± 0.43" in note
    assert "reverse_kl-fixed-0.03-s0 94.00 ± 0.47" in note
    write_table6(table6(models), tmp_path / "table6", SOURCE)
    assert "never selected" not in (tmp_path / "table6.md").read_text()


def test_seeds_of_a_cell_share_a_place():
    names = ("entropy-fixed-0.01-s0", "entropy-fixed-0.01-s1", "entropy-fixed-1-s0")
    frame = table6([selection_model(name, k, 100) for name, k in zip(names, (60, 80, 50), strict=True)])
    rows = matrix(frame)
    assert len(rows) == 1
    half = 100 * sum((high - low) / 2 for low, high in (wilson(60, 100), wilson(80, 100))) / 2
    assert rows.loc[0, "β = 0.01"] == f"**70.00** ± {half:.2f}"
    assert rows.loc[0, "β = 1"].startswith("50.00 ± ")
    assert rows.loc[0, "β = 0.1"] == "–"
