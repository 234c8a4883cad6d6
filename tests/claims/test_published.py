"""The paper's printed results beside ours."""

import pytest
from made_results import paper_tables

from searchless_rl.claims.published import published, write_published
from searchless_rl.reports.formats import Source


@pytest.fixture(scope="module")
def folder(pytestconfig):
    return pytestconfig.rootpath / "data" / "paper"


@pytest.fixture
def tables(folder):
    return paper_tables(folder)


def test_a_run_that_measures_the_papers_numbers_differs_nowhere(folder, tables):
    frame = published(folder, tables)
    known = frame.dropna(subset="difference")
    assert known["difference"].abs().max() < 1e-9
    assert known["effect_difference"].abs().max() < 1e-9
    assert known["overlap"].dropna().all()
    unknown = frame[frame["difference"].isna()]
    assert sorted(unknown["paper"]) == ["<0.01", ">0.99"]  # bounds, not numbers


def test_every_printed_result_has_a_row(folder, tables):
    """Counted in the files themselves: every number but the sizes of Table 3 and the base's anchor."""
    frame = published(folder, tables)
    assert frame["table"].value_counts().to_dict() == {
        1: 10 * 2 + 9 * 5,
        3: 45,
        4: 5 * 8,
        5: 10 * 5,
        6: 33,
    }
    row = frame[(frame["table"] == 6) & (frame["term"] == "forward_kl") & (frame["beta"] == 0.01)].iloc[0]
    assert (row["tau"], row["paper"], row["paper_half_width"]) == ("adaptive", "94.67", "0.44")
    assert row["paper_effect"] == pytest.approx(94.67 - 93.52)


def test_effects_are_held_against_the_own_base(folder, tables):
    """A run 10 points lower everywhere has the paper's effects."""
    one = tables[1]
    for name in ("accuracy", "low", "high"):
        one[name] -= 0.1
    frame = published(folder, tables)
    rows = frame[(frame["table"] == 1) & (frame["quantity"] == "Acc")]
    assert rows["difference"].to_numpy() == pytest.approx(-10)
    assert rows["effect_difference"].dropna().to_numpy() == pytest.approx(0)
    assert not rows["overlap"].any()
    elo = frame[(frame["table"] == 1) & (frame["quantity"] == "Elo")]
    assert elo["paper_effect"].to_numpy() == pytest.approx(elo["paper"].astype(float))


def test_what_was_not_measured_keeps_its_row(folder, tables, tmp_path):
    empty = {number: frame.iloc[:0] for number, frame in tables.items()}
    frame = published(folder, empty)
    assert len(frame) == len(published(folder, tables))
    assert frame["ours"].isna().all()
    assert frame["overlap"].isna().all()
    write_published(frame, tmp_path / "published", Source("maia-1900", "mini"), "bt4")
    text = (tmp_path / "published.md").read_text()
    assert "The paper's base is bt4, this run's maia-1900" in text
    assert "| 93.85 ± 0.15 " in text
    assert "| −258.0 ± 9.1 " in text
