"""Table 4 from made-up solution probabilities."""

import math

import numpy as np
import pandas as pd
import pytest
from made_results import FIXED, FORWARD, NONE, REVERSE, puzzle_frame, random_scores

from searchless_rl.reports.formats import Source
from searchless_rl.reports.table4 import SUITES, table4, write_table4

SOURCE = Source("bt4", "paper")


def test_table4_has_both_means_their_gap_and_the_anchors_ratio():
    scores = random_scores(models=("base", NONE, REVERSE, FORWARD, FIXED))
    frame = table4(scores)
    assert frame["statistic"].tolist() == ["geometric", "arithmetic", "arithmetic / geometric"] * 5 + [
        "forward / reverse"
    ]
    for model, suites in scores.items():
        rows = frame[frame["model"] == model].set_index("statistic")
        for suite, puzzles in suites.items():
            p = np.exp(puzzles["log_probability"])
            geometric, arithmetic, gap = rows[suite].loc[
                ["geometric", "arithmetic", "arithmetic / geometric"]
            ]
            assert geometric == pytest.approx(np.prod(p ** (1 / len(p))), rel=1e-9)
            assert arithmetic == pytest.approx(p.mean(), rel=1e-9)
            assert gap == pytest.approx(arithmetic / geometric, rel=1e-9)
            assert (rows[f"{suite}_low"] < rows[suite]).all()
            assert (rows[f"{suite}_high"] > rows[suite]).all()
            assert rows[f"{suite}_n"].eq(400).all()
    ratio = frame.iloc[-1]
    assert ratio["model"] == f"{FORWARD} / {REVERSE}"  # the fixed-temperature model has no partner
    geometric = frame[frame["statistic"] == "geometric"].set_index("model")
    for suite in SUITES:
        assert ratio[suite] == pytest.approx(geometric.loc[FORWARD, suite] / geometric.loc[REVERSE, suite])


def test_the_ratio_is_of_the_same_puzzles_in_any_order():
    scores = random_scores(models=("base", REVERSE, FORWARD))
    shuffled = {**scores, REVERSE: {name: frame.sample(frac=1, random_state=1) for name, frame in
                                    scores[REVERSE].items()}}  # fmt: skip
    pd.testing.assert_series_equal(table4(scores).iloc[-1], table4(shuffled).iloc[-1])
    other = {**scores, REVERSE: {name: frame.iloc[1:] for name, frame in scores[REVERSE].items()}}
    with pytest.raises(ValueError, match="suite main: 1 puzzles were asked of one player only"):
        table4(other)


def _log_probabilities(geometric, arithmetic):
    """Of two puzzles, with these means: p and q with p q = g² and p + q = 2 a."""
    spread = math.sqrt(max(arithmetic**2 - geometric**2, 0))
    return np.log([arithmetic + spread, max(arithmetic - spread, 1e-12)])


def test_table4_prints_the_papers_table_with_its_marks(tmp_path, pytestconfig):
    """One row a model, the arithmetic mean in parentheses at ≥2400, bold and above or below the base."""
    paper = pd.read_csv(pytestconfig.rootpath / "data" / "paper" / "table4.csv", dtype=str)
    named = dict(zip(SUITES, ["all", "ge2400", *(f"mate{n}" for n in range(1, 6))], strict=True))
    scores = {}
    for _, row in paper.iterrows():
        beta = "0" if row["term"] == "none" else "0.01"
        model = "base" if row["term"] == "frozen_base" else f"{row['term']}-adaptive-{beta}-s0"
        scores[model] = {}
        for suite, name in named.items():
            geometric = float(row[f"{name}_gm"])
            arithmetic = float(row["ge2400_am"]) if name == "ge2400" else geometric
            scores[model][suite] = puzzle_frame(2, log_p=_log_probabilities(geometric, arithmetic))
    frame = table4(scores)
    write_table4(frame, tmp_path / "table4", SOURCE, 0.01)
    rows = [line for line in (tmp_path / "table4.md").read_text().splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(paper) == 5
    for line, (_, row) in zip(rows, paper.iterrows(), strict=True):
        for text, name in zip(line.strip("| ").split("|")[1:], named.values(), strict=True):
            printed = paper[f"{name}_gm"].astype(float)
            value, base = float(row[f"{name}_gm"]), printed.iloc[0]
            expected = f"**{row[f'{name}_gm']}**" if value == printed.max() else row[f"{name}_gm"]
            expected += " ▲" if value > base else " ▼" if value < base else ""
            expected += f" ({row['ge2400_am']})" if name == "ge2400" else ""
            assert text.strip() == expected
    ratio = frame[frame["statistic"] == "forward / reverse"].iloc[0]
    # 33 % on the hard suite, 11 % and 34 % at mate-in-4 and 5: section 3.3.
    assert [round(ratio[suite], 2) for suite in ("hard", "mate4", "mate5")] == [1.33, 1.11, 1.34]
    latex = (tmp_path / "table4.tex").read_text()
    assert r"\textbf{0.236} $\uparrow$ (0.526)" in latex
    assert r"$\downarrow$" in latex


def test_table4_of_nothing_and_of_lost_lines(tmp_path):
    write_table4(table4({"base": {}}), tmp_path / "none", SOURCE, 0.01)
    assert (tmp_path / "none.md").read_text().count("–") >= 7
    scores = {"base": {"main": puzzle_frame(3, log_p=np.array([-1.0, -2.0, -np.inf]))}}
    write_table4(table4(scores), tmp_path / "lost", SOURCE, 0.01)
    assert "| **0.000** |" in (tmp_path / "lost.md").read_text()
    assert "inf" in (tmp_path / "lost.csv").read_text()
