"""Figures 7 and 10 and the coverage table from hand-made files of the stage."""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from searchless_rl.evaluation import coverage_stage
from searchless_rl.evaluation.coverage import Trajectories, coverage_bounds, draws_to_cover, lines_bounds
from searchless_rl.figures.coverage_plot import COLOURS, MARKERS, draw_panels, draws_text
from searchless_rl.figures.figure7 import draw_figure7, figure7_data
from searchless_rl.figures.figure10 import draw_figure10, figure10_data
from searchless_rl.figures.style import TERM_COLOURS
from searchless_rl.reports.coverage import Shown, coverage_table, shown_arms, write_coverage_table
from searchless_rl.reports.formats import Source

POSITIONS = ("start", "ruy_lopez_closed", "najdorf_english_attack", "qgd_tartakower")
COUNTS = {"base": 3000, "entropy": 1000, "forward_kl": 500, "reverse_kl": 100, "none": 1}
ARMS = [
    (term, tau) for term in ("none", "entropy", "reverse_kl", "forward_kl") for tau in ("adaptive", "fixed")
]
GRID = coverage_stage.DRAWS


def _uniform(count, cut=0.0):
    """`count` equal lines, and a prefix that was cut."""
    return Trajectories(np.full(count, (1 - cut) / count), np.full(int(cut > 0), cut), 17)


def _write(folder, lines_of_policy, plies=4):
    """What the stage writes of a network whose lines are the same at every position."""
    positions, curves = {}, []
    for position in POSITIONS:
        positions[position] = {}
        for policy, lines in lines_of_policy.items():
            low, high = coverage_bounds(lines, GRID)
            curve = pd.DataFrame({"draws": GRID, "coverage": low, "upper": high})
            curves.append(curve.assign(position=position, policy=policy))
            positions[position][policy] = {
                "draws_95": draws_to_cover(lines, 0.95)._asdict(),
                "lines_95": lines_bounds(lines, 0.95)._asdict(),
                "cut_mass": lines.cut_mass,
                "evaluations": lines.evaluations,
                "entropy": lines.entropy,
                "heaviest": lines.probability[0],
            }
    folder.mkdir(parents=True)
    pd.concat(curves).to_csv(folder / "curves.csv", index=False)
    (folder / "summary.json").write_text(json.dumps({"plies": plies, "positions": positions}))


@pytest.fixture
def shown(tmp_path):
    """Ten configurations; the fixed arms have two lines more, so that policies cannot be mixed up."""
    _write(tmp_path / "base", {"raw": _uniform(3002), "adaptive": _uniform(3000)})
    for term, tau in ARMS:
        lines = {"adaptive": _uniform(COUNTS[term]), "raw": _uniform(COUNTS[term] + 2)}
        _write(tmp_path / f"{term}-{tau}", lines)
    return shown_arms(tmp_path / "base", {arm: tmp_path / "-".join(arm) for arm in ARMS})


def test_the_ten_configurations_of_the_paper(shown):
    frame = figure7_data(shown)
    labels = ["base-raw", "base-adaptive", *("-".join(arm) for arm in ARMS)]
    assert list(dict.fromkeys(frame["model"])) == labels
    assert set(frame["position"]) == {"start"}
    assert len(frame) == 10 * len(GRID)
    for label, curve in frame.groupby("model"):
        term = label.rsplit("-", 1)[0]
        policy = "raw" if label in ("base-raw", f"{term}-fixed") else "adaptive"
        assert set(curve["policy"]) == {policy}
        assert set(curve["term"]) == {term}
        count = COUNTS[term] + 2 * (policy == "raw")
        np.testing.assert_allclose(curve["coverage"], 1 - (1 - 1 / count) ** GRID.astype(float), rtol=1e-9)
        assert set(curve["draws_95_low"]) == set(curve["draws_95_high"])
        assert curve["draws_95_high"].iloc[0] == draws_to_cover(_uniform(count), 0.95).low


def test_figure10_has_every_other_position_in_order(shown):
    frame = figure10_data(shown)
    assert list(dict.fromkeys(frame["position"])) == list(POSITIONS[1:])
    assert len(frame) == 3 * 10 * len(GRID)


def test_the_table_has_a_row_per_network_policy_and_position(shown, tmp_path):
    frame = coverage_table(shown)
    assert len(frame) == 10 * 4
    assert not frame.duplicated(["model", "policy", "position"]).any()
    row = frame[(frame["model"] == "forward_kl-fixed") & (frame["position"] == "qgd_tartakower")].iloc[0]
    assert (row["policy"], row["lines_95_low"], row["lines_95_high"]) == ("raw", 477, 477)
    assert row["draws_95_low"] == row["draws_95_high"] == draws_to_cover(_uniform(502), 0.95).low
    assert (row["cut_mass"], row["evaluations"], row["heaviest"]) == (0, 17, 1 / 502)
    write_coverage_table(frame, tmp_path / "table", Source("maia-1900", "mini"))
    assert len(pd.read_csv(tmp_path / "table.csv")) == 40
    markdown = (tmp_path / "table.md").read_text()
    assert "| Frozen base        | raw π      | Start position          | 8,992   | 2,852   |" in markdown


def test_what_the_cut_leaves_open_is_missing_and_says_so(tmp_path):
    _write(tmp_path / "some", {"raw": _uniform(100, cut=0.02)})
    _write(tmp_path / "much", {"raw": _uniform(100, cut=0.1)})
    shown = {name: Shown(tmp_path / name, "raw", "entropy") for name in ("some", "much")}
    frame = coverage_table(shown)
    assert frame["draws_95_high"].isna().tolist() == [False] * 4 + [True] * 4
    assert (frame["draws_95_low"] < frame["draws_95_high"]).fillna(True).all()
    write_coverage_table(frame, tmp_path / "table", Source("maia-1900", "mini"))
    markdown = (tmp_path / "table.md").read_text()
    assert markdown.count("| ≥ ") == 8
    low, high, _ = draws_to_cover(_uniform(100, cut=0.02), 0.95)
    assert f"| {low} to {high} " in markdown
    curves = figure7_data(shown)
    assert curves["draws_95_high"].isna().sum() == len(GRID)
    for name, mass in (("some", 0.02), ("much", 0.1)):
        curve = curves[curves["model"] == name]
        assert (curve["upper"] - curve["coverage"]).max() == pytest.approx(mass, rel=1e-6)
    draw_figure7(curves, tmp_path / "figure7", "mini")


def test_curves_have_the_colour_of_the_term_and_the_dashes_of_the_policy(shown):
    figure = draw_panels(figure10_data(shown), (6.9, 2.6), "")
    assert [axes.get_title() for axes in figure.axes[:3]] == [
        "Ruy Lopez, Closed", "Najdorf, English Attack", "QGD, Tartakower",
    ]  # fmt: skip
    for axes in figure.axes[:3]:
        curves = [line for line in axes.lines if len(line.get_xdata()) == len(GRID)]
        markers = [line for line in axes.lines if len(line.get_xdata()) == 1 and line.get_ydata()[0] > 0.9]
        assert len(curves) == len(markers) == 10
        for (term, tau), curve, marker in zip(
            [("base", "fixed"), ("base", "adaptive"), *ARMS], curves, markers, strict=True
        ):
            assert curve.get_color() == marker.get_color() == COLOURS[term]
            assert curve.is_dashed() == (tau == "fixed")
            assert marker.get_marker() == MARKERS[term]
            assert (marker.get_markerfacecolor() == "white") == (tau == "fixed")
            count = COUNTS[term] + 2 * (tau == "fixed")
            draws = marker.get_xdata()[0]
            assert draws == draws_to_cover(_uniform(count), 0.95).low
            # On the curve as it is drawn: straight between the points of the grid.
            assert marker.get_ydata()[0] == pytest.approx(0.95, abs=0.02 if draws > 1 else 0.051)
    assert COLOURS["forward_kl"] == TERM_COLOURS["forward_kl"]
    plt.close(figure)


def test_the_numbers_are_written_and_the_line_is_named(shown, tmp_path):
    frame = figure10_data(shown)
    figure = draw_panels(frame, (6.9, 3.3), "")
    panel, table = figure.axes[0], figure.axes[-1]
    assert "95 %" in [text.get_text() for text in panel.texts]
    words = [text.get_text() for text in table.texts]
    for label, rows in frame.groupby("model"):
        draws = rows["draws_95_low"].iloc[0]
        assert words.count(f"{draws:,}") >= 3, label  # at each of three positions
    assert not any(word.strip() == "" for word in words)
    plt.close(figure)


def test_draws_are_written_to_the_digits_their_bounds_agree_in():
    assert draws_text(1234567, 1234567) == "1,234,567"
    assert draws_text(24582, 24592) == "≈ 24,600"
    assert draws_text(528_371, 536_769) == "528k–537k"
    assert draws_text(1_647_515, 1_759_127) == "1.64M–1.76M"
    assert draws_text(990_100, 1_100_500) == "990k–1.11M"
    assert draws_text(74100, 75400) == "74,100–75,400"
    assert draws_text(74600, 75400) == "≈ 75,000"
    assert draws_text(307, 309) == "307–309"
    assert draws_text(1, 1) == "1"
    assert draws_text(3000, pd.NA) == "≥ 3,000"


def test_figures_are_byte_identical_when_drawn_again(shown, tmp_path):
    for out in ("a", "b"):
        draw_figure7(figure7_data(shown), tmp_path / out / "figure7", "mini")
    names = {f"figure7.{kind}" for kind in ("pdf", "png", "csv")}
    assert {path.name for path in (tmp_path / "a").iterdir()} == names
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_missing_networks_are_left_out(shown, tmp_path):
    (tmp_path / "none-fixed" / "summary.json").unlink()
    assert "none-fixed" not in set(figure7_data(shown)["model"])
    assert len(coverage_table(shown)) == 9 * 4


def test_nothing_measured_still_builds(tmp_path):
    shown = shown_arms(tmp_path / "base", {arm: tmp_path / "-".join(arm) for arm in ARMS})
    draw_figure7(figure7_data(shown), tmp_path / "figure7", "mini")
    draw_figure10(figure10_data(shown), tmp_path / "figure10", "mini")
    write_coverage_table(coverage_table(shown), tmp_path / "table", Source("maia-1900", "mini"))
    for name in ("figure7", "figure10", "table"):
        assert pd.read_csv(tmp_path / f"{name}.csv").empty


@pytest.mark.parametrize("text", ["{", "[]", '{"plies": 4}', '{"positions": {"start": {}}}'])
def test_a_damaged_summary_is_named(shown, text):
    path = shown["none-fixed"].folder / "summary.json"
    path.write_text(text)
    for build in (figure7_data, coverage_table):
        with pytest.raises(ValueError, match=r"none-fixed/summary\.json"):
            build(shown)


def test_a_policy_that_was_not_measured_is_named(tmp_path):
    _write(tmp_path / "arm", {"raw": _uniform(10)})
    shown = {"arm": Shown(tmp_path / "arm", "adaptive", "entropy")}
    with pytest.raises(ValueError, match=r"arm/summary\.json: policy adaptive was not measured"):
        figure7_data(shown)


def test_lines_of_different_lengths_are_not_drawn_together(tmp_path):
    _write(tmp_path / "short", {"raw": _uniform(10)}, plies=2)
    _write(tmp_path / "long", {"raw": _uniform(10)})
    shown = {name: Shown(tmp_path / name, "raw", None) for name in ("short", "long")}
    with pytest.raises(ValueError, match=r"different lengths: \{'short': 2, 'long': 4\}"):
        figure7_data(shown)


def test_the_files_of_the_stage_are_read(tmp_path, pytestconfig):
    root: Path = pytestconfig.rootpath
    coverage_stage.run_coverage(
        root / "tests/data/lc0/micro_bt4.pb.gz",
        "base",
        root / "data/openings/tabiyas.csv",
        tmp_path / "base",
        policies=("raw", "adaptive"),
        plies=1,
        mass_floor=0.0,
        batch_size=8,
    )
    shown = shown_arms(tmp_path / "base", {})
    assert len(figure7_data(shown)) == 2 * len(GRID)
    assert len(figure10_data(shown)) == 3 * 2 * len(GRID)
    assert coverage_table(shown)["evaluations"].eq(1).all()
