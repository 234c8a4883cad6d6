"""Every row of deviations.md describes keys and code that exist, and says what they hold."""

import re

import pandas as pd
import pytest
from named import named

from searchless_rl.claims.deviation_rows import EVALUATION, FAULTS, METHOD
from searchless_rl.claims.deviations import (
    GROUPS,
    MEASURED,
    PAPER_CELLS,
    SETTINGS,
    deviations,
    fields_of,
    read_key,
    write_deviations,
)
from searchless_rl.params import load_params
from searchless_rl.reports.formats import Source

ROWS = (*METHOD, *EVALUATION, *FAULTS)
FIELD = re.compile(r"\{[a-z][A-Za-z0-9_.]+\}")


@pytest.fixture
def scale(pytestconfig):
    return lambda name: load_params(pytestconfig.rootpath / "scales" / f"{name}.yaml")


@pytest.fixture
def mini(scale):
    return scale("mini")


def _by_item(frame, group):
    part = frame[frame["group"] == group]
    return {row["item"]: (row["paper"], row["released_code"], row["here"]) for _, row in part.iterrows()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.item)
def test_a_row_names_keys_and_code_that_exist(row, mini):
    for name in fields_of(row):
        if name not in row.constants and name not in MEASURED:
            read_key(mini, name)
    assert row.code
    for name in row.code:
        assert named(name) is not None
    for name, value in row.constants.items():
        assert named(name) == value, name


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.item)
def test_no_number_of_this_run_is_typed(row):
    """A digit under `here` comes from a parameter or a constant; these are names."""
    for text in (row.here, row.empty):
        bare = FIELD.sub("", text).replace("Lc0", "").replace("lc0", "").replace("16-bit", "")
        assert not re.search(r"\d", bare.replace("Uniform{0..", "")), text


def test_values_in_here_are_those_of_the_loaded_parameters(mini):
    changed = mini.model_copy(
        update={
            "selfplay": mini.selfplay.model_copy(update={"ema_decay": 0.75, "warm_start_moves": 17}),
            "arena": mini.arena.model_copy(update={"book": "b.epd", "openings": 12, "shape_positions": 77}),
            "stockfish": mini.stockfish.model_copy(update={"path": "/opt/fish", "nodes": 4321}),
            "suites": mini.suites.model_copy(update={"game_moves": "games.csv", "mate_cap": 9}),
        }
    )
    rows = deviations(changed, measured={"control.epochs": 7.75}).set_index("item")["here"]
    assert "decay 0.75" in rows["EMA update"]
    assert rows["Start of the games"].startswith("Uniform{0..17} full moves")
    assert rows["Openings of games"].startswith("12 drawn from b.epd")
    assert rows["Positions of Table 5"].startswith("77 positions")
    assert rows["Oracle of Figure 9"] == "/opt/fish, 4,321 nodes a position"
    assert rows["Game history of puzzles"] == "the moves of games.csv"
    assert "at most 9 per depth" in rows["Mate suites"]
    assert "7.75 epochs" in rows["Training of the control"]


def test_a_null_parameter_is_told_in_words(mini):
    rows = deviations(mini).set_index("item")["here"]
    assert rows["Openings of games"] == (
        "lines that the base itself samples, 6 to 8 full moves long, in which its value head gives White a "
        "score within 0.55 to 0.75"
    )
    assert rows["Oracle of Figure 9"].startswith("none at this scale")
    assert rows["Game history of puzzles"].startswith("none: a puzzle begins at its FEN")
    assert "epochs" not in rows["Training of the control"]
    assert not rows.str.contains(r"None|\{[a-z]").any()


def test_method_keys_follow_the_parameters(mini):
    keys = _by_item(deviations(mini), "method key")
    assert keys["the four promotions of a pawn move"] == ("separate", "merged", "separate")
    changed = mini.selfplay.model_copy(update={"promotions": "merged", "base_wdl_coefficient": 0.02})
    keys = _by_item(deviations(mini.model_copy(update={"selfplay": changed})), "method key")
    assert keys["the four promotions of a pawn move"] == ("separate", "merged", "merged")
    assert keys["weight of a KL between the WDL of base and online network"] == ("0", "0.02", "0.02")
    assert len(keys) == 6


def test_the_papers_column_does_not_depend_on_the_scale(scale):
    """Table 2 gives the value head 3e-5, whatever rates a scale has; the released code trains it at 3e-6."""
    frames = {name: deviations(scale(name)) for name in ("smoke", "mini", "mini-maia", "paper")}
    for frame in frames.values():
        row = _by_item(frame, "method key")["learning rate of the value head"]
        assert row[:2] == ("3e-05", "3e-06")
    for name, rate in (("mini", "3e-05"), ("mini-maia", "9e-05")):
        assert _by_item(frames[name], "method key")["learning rate of the value head"][2] == rate
    paper = pd.concat(frame[["group", "item", "paper"]] for frame in frames.values()).drop_duplicates()
    assert not paper.duplicated(["group", "item"]).any()


def test_a_scale_lists_exactly_the_settings_that_are_not_the_papers(mini, scale):
    base = _by_item(deviations(mini), "scale")
    assert base["Value head of the base, calibrated on its own games or not"][::2] == ("file", "calibrated")
    assert "Learning rate of the value head" not in base
    mini = scale("mini-maia")
    rows = _by_item(deviations(mini), "scale")
    assert "Value head of the base, calibrated on its own games or not" not in rows
    assert rows["Optimizer steps"] == ("2,000", "as the paper", "240")
    assert rows["Learning rate of the value head"] == ("3e-05", "3e-06 in effect", "9e-05")
    assert rows["Main suite, puzzles"] == ("100,000", "not released", "2,000")
    assert "Weight decay" not in rows
    notes = deviations(mini).set_index("item")["note"]
    assert notes["Optimizer steps"] == "Table 2 †"
    assert "†" not in notes["Games per pair of the ladder"]
    of_training = {setting.item for setting in SETTINGS if setting.key.startswith("selfplay.")}
    assert not of_training & _by_item(deviations(scale("paper")), "scale").keys()


def test_settings_name_keys_and_carry_the_papers_numbers(scale):
    """At paper scale every key of training holds the paper's number."""
    paper = scale("paper")
    for setting in SETTINGS:
        value = read_key(paper, setting.key)
        if setting.key.startswith(("selfplay.", "arena.", "coverage.")) or setting.key == "base":
            assert value == setting.paper, setting.key
    assert len(paper.grid.cells) == PAPER_CELLS == 36


def test_the_trained_format_is_shown_where_the_parameter_is_auto(mini):
    row = _by_item(deviations(mini, precisions={"bf16"}), "scale")["Number format of training"]
    assert row == ("float32", "as the paper", "auto: bf16")


def test_every_row_is_complete_and_told_once(mini):
    frame = deviations(mini)
    assert not frame.duplicated(["group", "item"]).any()
    assert (frame[["item", "paper", "released_code", "here"]] != "").all(axis=None)
    assert ((frame["keys"] != "") | (frame["code"] != "")).all()
    assert list(dict.fromkeys(frame["group"])) == list(GROUPS)


def test_the_page_has_a_table_for_each_group(tmp_path, mini):
    write_deviations(deviations(mini), tmp_path / "deviations", Source.of(mini))
    text = (tmp_path / "deviations.md").read_text()
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == list(GROUPS.values())
    assert "`arena.book`" in text
    assert "at temperatures 0.8 and 0.6" in text
    assert text.count("†: chosen in a pilot") == 1
    assert (tmp_path / "deviations.tex").exists()
    assert len(pd.read_csv(tmp_path / "deviations.csv")) == len(deviations(mini))
