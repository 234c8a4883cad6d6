"""Every claim judged: on the paper's own numbers, and on the recorded runs."""

import itertools
import re

import pandas as pd
import pytest

from searchless_rl.claims import judged
from searchless_rl.claims.estimates import UnmeasuredError
from searchless_rl.claims.expressions import Row
from searchless_rl.claims.finding_rules import UNMEASURED
from searchless_rl.claims.findings import CLAIMS, PREMISE, VERDICTS
from searchless_rl.claims.frames import FIGURES, REPORTS, paper_frames, read_frames
from searchless_rl.claims.judged import CLAIM_PREMISES, COLUMNS, RULES, claims_table, read_statements
from searchless_rl.claims.judged_document import counts_of, read_claims, split_claims, write_claims
from searchless_rl.claims.judged_stage import build_claims
from searchless_rl.claims.rule_forms import Effect, Level, Unjudged
from searchless_rl.claims.table_rules import TABLE_RULES
from searchless_rl.params import load_params

SUPPORTED, CONTRADICTED, INCONCLUSIVE = VERDICTS[:3]
RECORDED = ("mini", "mini-maia")
UNSETTLED = {
    *("C004", "C029", "C166", "C167"),  # the spread of eight numbers whose ends are not told apart
    *("C008", "C061", "C114", "C139"),  # first, by less than the interval of the difference
    *("C060", "C065", "C067", "C071", "C135"),  # the null lies inside
}
"""Statements that the paper's own intervals do not settle; as point values its numbers support them."""
TOO_CLOSE = {"C165"}
"""No interval is printed, and its two numbers differ by less than the margin."""
UNPRINTED = {"C018", "C019", "C024", "C076", "C077", "C079", "C104", "C106", "C107", "C113", "C201"}
"""The paper states them without the numbers that the rule reads."""


@pytest.fixture(scope="module")
def root(pytestconfig):
    return pytestconfig.rootpath


@pytest.fixture(scope="module")
def paper(root):
    return paper_frames(root / "data" / "paper")


@pytest.fixture(scope="module")
def statements(root):
    return read_statements(root / "data" / "paper")


def _frames(root, scale):
    return read_frames(root / "reports" / scale, root / "paper_figures" / scale)


def _params(root, scale="mini"):
    return load_params(root / "scales" / f"{scale}.yaml")


def _verdict(rule, frames, paper):
    try:
        return rule.judge(frames, paper).verdict
    except UnmeasuredError:
        return UNMEASURED


def _as_points(frames):
    """The same numbers with intervals of no width."""

    def row(one):
        values = dict(one.values)
        for bound in [name for name in values if name.endswith(("low", "high")) and "draws" not in name]:
            stem = re.sub("_?(low|high)$", "", bound)
            names = (stem, f"{stem}_accuracy") if stem else ("accuracy", "value", "gain")
            values[bound] = next(values[name] for name in names if name in values)
        return Row(one.line, values)

    return {name: [row(one) for one in rows] for name, rows in frames.items()}


def test_the_papers_own_numbers_support_every_rule_that_its_intervals_settle(paper):
    found = {claim: _verdict(rule, paper, paper) for claim, rule in RULES.items()}
    unjudged = {claim for claim, rule in RULES.items() if isinstance(rule, Level | Unjudged)}
    no_effect = {
        claim for claim, rule in RULES.items() if isinstance(rule, Effect) and found[claim] == UNMEASURED
    }
    assert {claim for claim, one in found.items() if one == INCONCLUSIVE} == UNSETTLED | TOO_CLOSE
    assert {claim for claim, one in found.items() if one == UNMEASURED} == unjudged | no_effect | UNPRINTED
    assert CONTRADICTED not in found.values()
    assert no_effect <= set(TABLE_RULES)


def test_as_point_values_the_papers_numbers_support_every_rule(paper):
    points = _as_points(paper)
    found = {claim: _verdict(rule, points, paper) for claim, rule in RULES.items()}
    assert {claim for claim, one in found.items() if one not in (SUPPORTED, UNMEASURED)} == TOO_CLOSE
    assert not {claim for claim in UNSETTLED if found[claim] != SUPPORTED}


def test_rules_of_a_mirrored_study_are_contradicted(paper):
    """With every effect turned round its null, no effect of the tables is supported any more."""

    def mirrored(name):
        rows = []
        base = next((row.values for row in paper[name] if row.values["term"] == "base"), {})
        for row in paper[name]:
            values = dict(row.values)
            for column in ("elo", "entropy", "cov5", "score"):
                if column not in values or (row.values["term"] == "base" and name == "table1"):
                    continue
                null = 0.5 if column == "score" else base.get(column, 0.0)
                values[column] = 2 * null - values[column]
                for low, high in [(f"{column}_low", f"{column}_high")]:
                    if low in values:
                        values[low], values[high] = 2 * null - values[high], 2 * null - values[low]
            rows.append(Row(row.line, values))
        return rows

    turned = {**paper, **{name: mirrored(name) for name in ("table1", "table5")}}
    for claim, rule in TABLE_RULES.items():
        if claim.endswith((".elo", ".score", ".entropy", ".cov5")):
            mine = _verdict(rule, paper, paper)
            wanted = {SUPPORTED: CONTRADICTED, UNMEASURED: UNMEASURED}[mine]
            assert _verdict(rule, turned, paper) == wanted, claim


def test_every_statement_has_a_kind_a_home_and_a_rule_or_a_reason_for_none(root, statements):
    kinds = {"quantitative", "directional", "table value", "count", "analytic", "setting", "figure", "cited"}
    assert set(statements["kind"]) == kinds
    ruled = {claim.partition(".")[0] for claim in RULES}
    assert ruled <= set(statements.index)
    left = statements.loc[sorted(set(statements.index) - ruled)]
    assert set(left["kind"]) <= {"setting", "figure", "cited"}
    for home in set(statements["home"]) - {""}:
        assert (root / "data" / "paper" / home).exists() or (root / home).exists(), home
    at_home = statements[statements["home"] != ""]
    assert (at_home[["value", "interval"]] == "").all(axis=None)  # one home a number
    assert len(statements) == 202
    assert not any('"' in text or "“" in text for text in statements["statement"])


def test_at_least_120_claims_are_judged_and_the_headline_findings_are_among_them(root, paper, statements):
    params = _params(root)
    frame = claims_table(_frames(root, "mini"), paper, statements, params)
    assert list(frame.columns) == list(COLUMNS)
    assert set(frame["verdict"]) <= set(VERDICTS)
    text, tables = split_claims(frame)
    assert len(text) >= 120
    assert (frame["verdict"] != UNMEASURED).sum() >= 120
    assert frame.loc[frame["verdict"].isin([UNMEASURED, PREMISE]), "why"].ne("").all()
    assert len(text) + len(tables) == len(frame) == len(RULES)
    assert len(CLAIMS) < len(text)


@pytest.mark.parametrize("scale", RECORDED)
def test_the_recorded_claims_follow_from_the_committed_files(root, scale, tmp_path):
    reports, figures = tmp_path / "reports", root / "paper_figures" / scale
    reports.mkdir()
    for name in REPORTS:
        (reports / f"{name}.csv").symlink_to(root / "reports" / scale / f"{name}.csv")
    build_claims(_params(root, scale), root / "data" / "paper", reports, figures)
    for name in ("claims.csv", "claims.md"):
        assert (reports / name).read_text() == (root / "reports" / scale / name).read_text()


@pytest.mark.parametrize("scale", RECORDED)
def test_every_address_leads_to_a_number(root, scale):
    frame = read_claims(root / "reports" / scale / "claims.csv")
    read = {}
    for _, row in frame.iterrows():
        for address in filter(None, row["file"].split("; ")):
            path, lines, column = address.split(":", 2)
            if path not in read:
                read[path] = pd.read_csv(root / path)
            for line in lines.split(","):
                assert not pd.isna(read[path].loc[int(line) - 2, column]), (row["id"], address)
    alone = frame[~frame["file"].str.contains("[;,]") & frame["id"].isin(["C001", "C013", "C068", "C121"])]
    for _, row in alone.iterrows():
        path, line, column = row["file"].split(":", 2)
        assert abs(float(row["value"])) == pytest.approx(abs(read[path].loc[int(line) - 2, column]))
    assert len(alone) >= 3
    assert (frame.loc[frame["value"] != "", "file"] != "").sum() > 100


def test_a_claim_whose_premise_is_missing_is_told_apart(root, paper, statements):
    frames = _frames(root, "mini-maia")
    frame = claims_table(frames, paper, statements, _params(root, "mini-maia")).set_index("id")
    premises = set().union(*(one.claims for one in CLAIM_PREMISES))
    assert premises <= set(RULES)
    assert set(frame.index[frame["verdict"] == PREMISE]) == premises
    assert frame.at["C101", "as_measured"] in VERDICTS[:3]
    search = next(one for one in CLAIM_PREMISES if "search" in one.text)
    assert search.is_met(_params(root, "mini"), frames)


def test_nothing_measured_is_said_so(root, paper, statements, tmp_path):
    params = _params(root)
    frame = claims_table({}, paper, statements, params)
    analytic = {"C016", "C017", "C020", "C027", "C028", "C122", "C180"}
    assert set(frame.loc[frame["verdict"] != UNMEASURED, "id"]) == analytic
    assert frame.set_index("id").at["C001", "why"] == "table1.csv was not made"
    write_claims(frame, tmp_path / "claims", params)
    assert f"{len(RULES) - 7} {UNMEASURED}" in (tmp_path / "claims.md").read_text()


def _with_seeds(frames, shifts):
    """Every cell and match trained again, with another result."""
    more = dict(frames)
    for name, column in itertools.product(("cells",), ("main_accuracy",)):
        trained = [row for row in frames[name] if "seed" in row.values and column in row.values]
        for seed, shift in enumerate(shifts, 1):
            more[name] = [
                *more[name],
                *(
                    Row(row.line, {**row.values, "seed": seed, column: row.values[column] + shift})
                    for row in trained
                ),
            ]
    return more


def test_several_seeds_are_counted_and_must_agree(root, paper, statements, tmp_path):
    params, frames = _params(root), _frames(root, "mini")
    alike = claims_table(_with_seeds(frames, (0.001, -0.001)), paper, statements, params).set_index("id")
    assert alike.at["C001", "seeds"] == 3
    assert alike.at["C001", "verdict"] == SUPPORTED
    assert alike.at["C001", "seed_low"] < alike.at["C001", "seed_value"] < alike.at["C001", "seed_high"]
    apart = claims_table(_with_seeds(frames, (0.3, -0.3)), paper, statements, params)
    row = apart.set_index("id").loc["C001"]
    assert (row["verdict"], row["over_items"]) == (INCONCLUSIVE, SUPPORTED)
    write_claims(apart, tmp_path / "claims", params)
    assert "the t interval over seeds" in (tmp_path / "claims.md").read_text()
    assert "(one seed)" in (root / "reports" / "mini" / "claims.md").read_text()


def test_counts_add_up(root):
    frame = read_claims(root / "reports" / "mini" / "claims.csv")
    text = counts_of(frame)
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    assert numbers[0] == sum(numbers[1:]) == len(frame)
    assert text.startswith(f"{len(frame)} claims judged: ")


def test_the_report_names_the_rules_it_was_judged_by(root, monkeypatch):
    text = (root / "reports" / "mini" / "claims.md").read_text()
    digest = judged.rules_digest()
    assert digest in text
    monkeypatch.setattr(judged, "RULES", {**RULES, "C001": RULES["C002"]})
    assert judged.rules_digest() != digest


def test_a_doubled_statement_is_refused(root, tmp_path):
    text = (root / "data" / "paper" / "statements.csv").read_text()
    (tmp_path / "statements.csv").write_text(text + text.splitlines()[1] + "\n")
    with pytest.raises(ValueError, match=r"statements\.csv: an id stands twice"):
        read_statements(tmp_path)


def test_figures_and_reports_are_told_apart_in_addresses():
    files = judged._files(("table1.csv:3:elo", "table1.csv:5:elo", f"{FIGURES[0]}.csv:9:gain"), "mini")
    assert files == "reports/mini/table1.csv:3,5:elo; paper_figures/mini/figure6.csv:9:gain"
