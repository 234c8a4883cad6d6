"""The list of deviations says what params.yaml says."""

import pytest

from searchless_rl.params import load_params
from searchless_rl.reports.deviations import deviations


@pytest.fixture
def mini(pytestconfig):
    return load_params(pytestconfig.rootpath / "scales" / "mini.yaml")


def _by_item(frame, kind):
    part = frame[frame["kind"] == kind]
    return {row["item"]: (row["paper"], row["released_code"], row["ours"]) for _, row in part.iterrows()}


def test_method_keys_follow_the_parameters(mini):
    keys = _by_item(deviations(mini), "method key")
    assert keys["the four promotions of a pawn move"] == ("separate", "merged", "separate")
    changed = mini.selfplay.model_copy(update={"promotions": "merged", "base_wdl_coefficient": 0.02})
    keys = _by_item(deviations(mini.model_copy(update={"selfplay": changed})), "method key")
    assert keys["the four promotions of a pawn move"] == ("separate", "merged", "merged")
    assert keys["weight of a KL between the WDL of base and online network"] == ("0", "0.02", "0.02")
    assert len(keys) == 6


def test_a_scale_lists_what_it_changes_of_table_2(pytestconfig, mini):
    rows = _by_item(deviations(mini), "scale")
    assert rows["Total steps"] == ("2000", "as the paper", "240")
    assert "Weight decay" not in rows
    notes = deviations(mini).set_index("item")["note"]
    assert "pilot" in notes["Total steps"]
    paper = load_params(pytestconfig.rootpath / "scales" / "paper.yaml")
    assert set(_by_item(deviations(paper), "scale")) == {"Evaluated weights"}


def test_every_row_is_complete_and_faults_are_named(mini):
    frame = deviations(mini)
    assert not frame["item"].duplicated().any()
    assert (frame[["item", "paper", "released_code", "ours"]] != "").all(axis=None)
    assert frame["note"].str.startswith("fault").sum() == 3
