"""Two report folders side by side."""

import shutil

import pandas as pd
import pytest

from searchless_rl.audit.compare import agrees, compare, summary
from searchless_rl.audit.tables import ReportError, intervals, read_table
from searchless_rl.cli import main

RATES = "model,k,n,accuracy,low,high,note\n"


def _folders(tmp_path, ours, theirs, name="table.csv"):
    for side, text in (("ours", ours), ("theirs", theirs)):
        (tmp_path / side).mkdir()
        (tmp_path / side / name).write_text(text)
    return tmp_path / "ours", tmp_path / "theirs"


def _verdicts(numbers):
    return dict(zip(numbers["row"] + "/" + numbers["column"], numbers["verdict"], strict=True))


def test_a_folder_is_equal_to_itself(pytestconfig):
    folder = pytestconfig.rootpath / "reports" / "mini"
    numbers = compare(folder, folder)
    assert set(numbers["verdict"]) == {"equal"}
    assert len(numbers) > 5000
    assert agrees(numbers)


def test_a_value_is_inside_only_if_each_interval_holds_the_other_value(tmp_path):
    ours = RATES + "a,50,100,0.5,0.4,0.6,x\nb,50,100,0.5,0.4,0.6,x\nc,5,10,0.5,0.2,0.8,x\n"
    theirs = RATES + "a,55,100,0.55,0.45,0.65,x\nb,70,100,0.7,0.6,0.8,x\nc,61,100,0.61,0.51,0.7,y\n"
    verdicts = _verdicts(compare(*_folders(tmp_path, ours, theirs)))
    assert verdicts["a/accuracy"] == "inside"
    assert verdicts["b/accuracy"] == "outside"
    assert verdicts["c/accuracy"] == "outside", "ours holds theirs, theirs does not hold ours"
    assert verdicts["c/note"] == "differs"
    assert verdicts["a/n"] == "equal"


def test_one_interval_is_enough_and_none_only_tells_a_difference(tmp_path):
    ours = RATES + "a,,,0.5,0.4,0.6,x\nb,,,0.5,,,x\n"
    theirs = RATES + "a,,,0.59,,,x\nb,,,0.51,,,x\n"
    numbers = compare(*_folders(tmp_path, ours, theirs))
    verdicts = _verdicts(numbers)
    assert verdicts["a/accuracy"] == "inside"
    assert verdicts["b/accuracy"] == "differs"
    assert agrees(numbers)


def test_what_one_side_alone_has_is_missing(tmp_path):
    ours, theirs = _folders(tmp_path, RATES + "a,1,2,0.5,0.1,0.9,x\n", "model,k\nb,1\n")
    (theirs / "more.csv").write_text("model,k\na,1\n")
    numbers = compare(ours, theirs)
    missing = numbers[numbers["verdict"] == "missing"]
    assert {*missing["row"]} == {"", "a", "b"}
    assert {"n", "accuracy", "low", "high", "note"} <= {*missing["column"]}
    assert "more.csv" in set(missing["file"])
    assert not agrees(numbers)


def test_rows_are_matched_by_their_keys_in_any_order(tmp_path):
    first, second = "a,50,100,0.5,0.4,0.6,x\n", "b,60,100,0.6,0.5,0.7,x\n"
    numbers = compare(*_folders(tmp_path, RATES + first + second, RATES + second + first))
    assert set(numbers["verdict"]) == {"equal"}


def test_rows_of_one_key_are_matched_in_order(tmp_path):
    text = RATES + "a,1,2,0.5,0.1,0.9,x\na,2,2,1,0.2,1,x\n"
    numbers = compare(*_folders(tmp_path, text, text))
    assert set(numbers["row"]) == {"a", "a #2"}
    assert set(numbers["verdict"]) == {"equal"}


def test_the_summary_counts_every_entry(tmp_path):
    ours = RATES + "a,50,100,0.5,0.4,0.6,x\n"
    counts = summary(compare(*_folders(tmp_path, ours, ours.replace("0.5,", "0.55,"))))
    assert counts["file"].tolist() == ["table.csv", "all"]
    assert counts.loc[1, ["equal", "inside", "outside"]].tolist() == [5, 1, 0]


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["model", "k", "n", "accuracy", "low", "high"], [("accuracy", "low", "high")]),
        (
            ["n", "hard_k", "hard_accuracy", "hard_low", "hard_high"],
            [("hard_accuracy", "hard_low", "hard_high")],
        ),
        (["elo", "elo_low", "elo_high"], [("elo", "elo_low", "elo_high")]),
        (["main", "main_n", "main_low", "main_high"], [("main", "main_low", "main_high")]),
        (["gain", "n", "low", "high"], [("gain", "low", "high")]),
        (["draws_95_low", "draws_95_high"], []),
        (["slow", "high"], []),
    ],
)
def test_intervals_are_found_by_their_names(columns, found):
    assert list(intervals(columns)) == found


def test_counts_stay_integers_and_empty_text_is_text(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("k,rate,name,whole\n1,0.5,x,True\n,1,,False\n")
    frame = read_table(path)
    assert str(frame["k"].dtype) == "Int64"
    assert frame["rate"].tolist() == [0.5, 1.0]
    assert frame["name"].tolist() == ["x", ""]
    assert frame["whole"].dtype == bool


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 1
    assert "no CSV in this folder" in capsys.readouterr().err
    with pytest.raises(ReportError, match="no such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(ReportError, match=r"empty\.csv: not a table"):
        read_table(tmp_path / "empty.csv")


def test_the_command_prints_counts_or_what_is_unequal(tmp_path, capsys, pytestconfig):
    copy = tmp_path / "mini"
    shutil.copytree(pytestconfig.rootpath / "reports" / "mini", copy)
    assert main(["compare", str(copy), str(pytestconfig.rootpath / "reports" / "mini")]) == 0
    assert "table1.csv" in capsys.readouterr().out
    frame = pd.read_csv(copy / "ladder.csv", dtype=str)
    frame.loc[1, "elo"] = "999"
    frame.to_csv(copy / "ladder.csv", index=False)
    assert main(["compare", str(copy), str(pytestconfig.rootpath / "reports" / "mini"), "--unequal"]) == 1
    shown = capsys.readouterr().out.strip().splitlines()
    assert len(shown) == 2
    assert shown[1].startswith("ladder.csv,")
    assert ",elo,999," in shown[1]
