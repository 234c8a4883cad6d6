"""A report folder recomputed from its committed files."""

import shutil

import pandas as pd
import pytest

from searchless_rl.audit.arithmetic import check_pairs, check_rates, check_records
from searchless_rl.audit.tables import read_table
from searchless_rl.cli import main

RECORDED = ("mini", "mini-maia")


@pytest.fixture
def folder(tmp_path, pytestconfig, monkeypatch):
    """A copy of the recorded reports, in a project that can be spoilt."""
    for name in ("scales", "data/paper", "reports/mini", "paper_figures/mini"):
        shutil.copytree(pytestconfig.rootpath / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports" / "mini"


def _replace(path, old, new):
    text = path.read_text()
    assert text.count(old) >= 1, old
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("scale", RECORDED)
def test_recorded_reports_follow_from_their_numbers(scale, pytestconfig, monkeypatch, capsys):
    monkeypatch.chdir(pytestconfig.rootpath)
    assert main(["verify", f"reports/{scale}"]) == 0, capsys.readouterr().out
    out = capsys.readouterr().out
    assert "all hold" in out
    assert int(out.split()[1].replace(",", "")) > 2000


@pytest.mark.parametrize("table", ["table1", "table6", "paired"])
def test_a_changed_bound_is_noticed(table, folder, capsys):
    low = pd.read_csv(folder / f"{table}.csv", dtype=str).loc[1, "low"]
    _replace(folder / f"{table}.csv", f",{low},", f",{low[:-2]}77,")
    assert main(["verify", "reports/mini"]) == 1
    out = capsys.readouterr().out
    assert f"{table}.csv: " in out
    assert "low is" in out
    assert "NOT all hold" in out


def test_a_changed_count_is_noticed_by_its_rate_and_by_cells(folder, capsys):
    k = pd.read_csv(folder / "table1.csv", dtype=str).loc[1, "k"]
    _replace(folder / "table1.csv", f",{k},2000,", f",{int(k) + 1},2000,")
    assert main(["verify", "reports/mini"]) == 1
    out = capsys.readouterr().out
    assert "accuracy is" in out
    assert f"k is {int(k) + 1}" in out


def test_a_changed_record_is_noticed(folder, capsys):
    row = pd.read_csv(folder / "table1.csv", dtype=str).dropna(subset="wins").iloc[0]
    record = f",{row['wins']},{row['draws']},{row['losses']},"
    _replace(
        folder / "table1.csv", record, f",{int(row['wins']) + 1},{row['draws']},{int(row['losses']) - 1},"
    )
    assert main(["verify", "reports/mini"]) == 1
    assert "score is" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    ["table1.md", "table3.tex", "table6.md", "coverage.md", "findings.md", "published.md", "claims.md"],
)
def test_a_number_edited_in_a_printed_table_is_noticed(name, folder, capsys):
    lines = (folder / name).read_text().splitlines()
    place = next(
        i for i, line in enumerate(lines) if (" & " in line or line.startswith("|")) and "0." in line
    )
    lines[place] = lines[place].replace("0.", "9.", 1)
    (folder / name).write_text("\n".join(lines) + "\n")
    assert main(["verify", "reports/mini"]) == 1
    assert f"{name}: not what the CSV gives" in capsys.readouterr().out


def test_a_missing_printed_table_is_noticed(folder, capsys):
    (folder / "table5.md").unlink()
    assert main(["verify", "reports/mini"]) == 1
    assert "table5.md: not what the CSV gives: missing" in capsys.readouterr().out


def test_what_is_no_report_folder_is_said(folder, capsys):
    shutil.copytree(folder.parent.parent / "scales", folder.parent / "smoke")
    assert main(["verify", "reports/smoke"]) == 1
    assert "no cells.csv in this folder" in capsys.readouterr().err
    (folder / "table1.csv").write_bytes(b"a,b\n1,2,3,4\n\xff")
    assert main(["verify", "reports/mini"]) == 1
    assert "table1.csv: not a table" in capsys.readouterr().err


def test_everything_with_counts_is_checked(pytestconfig):
    tables = pytestconfig.rootpath / "reports" / "mini"
    rates = {
        name: len(list(check_rates(read_table(tables / f"{name}.csv")))) for name in ("table1", "table3")
    }
    assert rates == {"table1": 3 * 2 * 10, "table3": 3 * 5 * 9}
    records = read_table(tables / "table1.csv")
    assert len(list(check_records(records))) == 2 * records["wins"].notna().sum()
    pairs = read_table(tables / "paired.csv")
    assert len(list(check_pairs(pairs))) == 6 * len(pairs)
