"""Verdicts on the paper's claims: the paper's own numbers support them, opposite numbers do not."""

import re

import pandas as pd
import pytest

from searchless_rl.claims import finding_rules as rules
from searchless_rl.claims.deviations import PILOTED
from searchless_rl.claims.finding_rules import UNMEASURED
from searchless_rl.claims.findings import (
    CLAIMS,
    MEASURED,
    PREMISE,
    PREMISES,
    VERDICTS,
    findings,
    read_frames,
    summary_of,
    write_findings,
)
from searchless_rl.params import load_params

SUPPORTED, CONTRADICTED, INCONCLUSIVE = VERDICTS[:3]
TERMS = ("none", "entropy", "reverse_kl", "forward_kl")
FIXED = "forward_kl-fixed-0.01-s0"
PAPER_TERMS = {"frozen_base": "base", "puzzle_tuned": "control"}


@pytest.fixture(scope="module")
def root(pytestconfig):
    return pytestconfig.rootpath


@pytest.fixture(scope="module")
def mini(root):
    return load_params(root / "scales" / "mini-maia.yaml")


@pytest.fixture(scope="module")
def paper(root):
    """The paper's printed numbers in the columns of this project's tables."""
    read = {n: pd.read_csv(root / "data" / "paper" / f"table{n}.csv") for n in (1, 4, 5, 6)}
    table1 = read[1].assign(term=read[1]["term"].replace(PAPER_TERMS))
    table1["model"] = [
        term if term in ("base", "control") else f"{term}-{tau}-0.01-s0"
        for term, tau in zip(table1["term"], table1["tau"], strict=True)
    ]
    table1["elo_low"] = table1["elo"] - table1["elo_halfwidth"]
    table1["elo_high"] = table1["elo"] + table1["elo_halfwidth"]
    paired = [
        {"suite": suite, "a": "base", "b": row["model"], "n": n, "difference": -gain,
         "low": -gain - half, "high": -gain + half}
        for suite, column, n in (("main", "acc", 100_000), ("hard", "acc2400", 20_000))
        for _, row in table1.iterrows()
        for gain in [(row[f"{column}_pct"] - table1[f"{column}_pct"].iloc[0]) / 100]
        for half in [row[f"{column}_halfwidth"] / 100]
    ]  # fmt: skip
    table4 = read[4].assign(
        term=read[4]["term"].replace(PAPER_TERMS), statistic="geometric", main=read[4]["all_gm"]
    )
    table4 = table4.assign(model=table4["term"], main_low=table4["main"], main_high=table4["main"], main_n=1)
    table5 = read[5].assign(term=read[5]["term"].replace(PAPER_TERMS), kl_base_policy=read[5]["kl_base_p"])
    base = {"raw": "base-raw", "mu": "base-mu"}
    kinds = {"raw": "fixed", "mu": "adaptive"}
    table5["player"] = [
        base[how] if term == "base" else f"{term}-{kinds[how]}"
        for term, how in zip(table5["term"], table5["sampling"], strict=True)
    ]
    table5["elo_low"] = table5["elo"] - table5["elo_halfwidth"].fillna(0)
    table5["elo_high"] = table5["elo"] + table5["elo_halfwidth"].fillna(0)
    table5["positions"] = 1
    table6 = read[6].assign(selected=read[6]["selected"] == 1, n=10_000)
    table6["low"], table6["high"] = (table6["acc_pct"] + sign * table6["halfwidth"] for sign in (-1, 1))
    return {
        "table1": table1,
        "paired": pd.DataFrame(paired),
        "table4": table4,
        "table5": table5,
        "table6": table6,
        "coverage": _coverage(
            adaptive={"base": 15_000, "none": 1, "entropy": 4100, "reverse_kl": 700, "forward_kl": 1400},
            raw={"base": 22_000, "none": 1, "entropy": 3200, "reverse_kl": 640, "forward_kl": 1600},
            heaviest=0.999,
        ),
    }


def _coverage(adaptive, raw, heaviest=0.1):
    return pd.DataFrame(
        [
            {"model": f"{term}-{tau}", "term": term, "policy": policy, "position": "start",
             "draws_95_low": draws, "heaviest": heaviest}
            for policy, tau, arms in (("adaptive", "adaptive", adaptive), ("raw", "fixed", raw))
            for term, draws in arms.items()
        ]
    )  # fmt: skip


@pytest.mark.parametrize(
    "rule",
    [
        rules.strength_of_anchors,
        rules.dissociation,
        rules.control_trades,
        rules.selected_beta,
        rules.entropy_retention,
        rules.collapse,
        rules.coverage_order,
        rules.reverse_is_tighter,
        rules.divergence_order,
        rules.sampled_strength,
    ],
)
def test_the_papers_own_numbers_support_its_claim(rule, paper):
    assert rule(paper).verdict == SUPPORTED


@pytest.mark.parametrize("suite", ["main", "hard"])
def test_the_papers_own_accuracies_support_its_claim(suite, paper):
    found = rules.accuracy_gain(paper, suite)
    assert found.verdict == SUPPORTED
    assert found.value == pytest.approx({"main": 1.02, "hard": 2.66}[suite])


def _changed(frames, table, where, **values):
    frame = frames[table].copy()
    for column, value in values.items():
        frame[column] = frame[column].astype(object)
        frame.loc[where(frame), column] = value
    return {**frames, table: frame}


def test_opposite_numbers_contradict(paper):
    weaker = _changed(paper, "table1", lambda f: f["model"] == FIXED, elo_low=-9.0, elo_high=-1.0)
    assert rules.strength_of_anchors(weaker).verdict == CONTRADICTED
    unsure = _changed(paper, "table1", lambda f: f["model"] == FIXED, elo_low=-1.0)
    assert rules.strength_of_anchors(unsure).verdict == INCONCLUSIVE
    stronger = _changed(paper, "table1", lambda f: f["term"] == "control", elo_low=1.0, elo_high=9.0)
    assert rules.control_trades(stronger).verdict == CONTRADICTED
    assert rules.dissociation(stronger).verdict == CONTRADICTED
    diverse = _changed(paper, "coverage", lambda f: f["term"] == "none", heaviest=0.5)
    assert rules.collapse(diverse).verdict == CONTRADICTED
    loose = _changed(paper, "coverage", lambda f: f["term"] == "reverse_kl", draws_95_low=5000)
    assert rules.reverse_is_tighter(loose).verdict == CONTRADICTED
    assert rules.coverage_order(loose).verdict == CONTRADICTED
    near = _changed(paper, "table5", lambda f: f["player"] == "entropy-fixed", kl_base_policy=0.1)
    assert rules.divergence_order(near).verdict == CONTRADICTED
    soft = _changed(paper, "table5", lambda f: f["player"] == "base-mu", elo_low=-9.0)
    assert rules.sampled_strength(soft).verdict == INCONCLUSIVE
    kept = _changed(paper, "table4", lambda f: f["term"] == "entropy", main_low=0.7, main_high=0.8)
    assert rules.entropy_retention(kept).verdict == CONTRADICTED


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.1, 1.5, SUPPORTED), (0.8, 0.9, CONTRADICTED), (0.9, 1.1, INCONCLUSIVE), (1.0, 1.2, INCONCLUSIVE)],
)
def test_an_interval_must_lie_on_one_side(low, high, verdict):
    row = {"statistic": "forward / reverse", "hard": 1.0, "hard_low": low, "hard_high": high, "hard_n": 600}
    frames = {"table4": pd.DataFrame([row])}
    assert rules.forward_over_reverse(frames, "hard").verdict == verdict


@pytest.mark.parametrize(
    ("accuracies", "verdict"),
    [
        ({0.0: 0.40, 0.001: 0.42, 0.01: 0.50, 1.0: 0.41}, SUPPORTED),
        ({0.0: 0.40, 0.001: 0.42, 0.01: 0.42, 1.0: 0.41}, INCONCLUSIVE),
        ({0.0: 0.40, 0.001: 0.42, 0.01: 0.45, 1.0: 0.60}, CONTRADICTED),
        ({0.0: 0.40, 0.001: 0.60, 0.01: 0.45, 1.0: 0.41}, CONTRADICTED),
    ],
)
def test_a_u_has_its_minimum_inside_and_apart_from_both_ends(accuracies, verdict):
    cells = pd.DataFrame(
        [
            {"term": "forward_kl" if beta else "none", "tau": "adaptive", "variant": "full", "in_grid": True,
             "beta": beta, "main_accuracy": rate, "main_low": rate - 0.02, "main_high": rate + 0.02,
             "main_n": 2000}
            for beta, rate in accuracies.items()
        ]
    )  # fmt: skip
    assert rules.u_shape({"cells": cells}).verdict == verdict


def test_recovery_rises_with_the_bases_probability():
    def frames(values):
        rows = [
            {"statistic": f"recovered, solution at {label}", "model": model, "value": value, "k": 1, "n": 10,
             "low": value - 0.02, "high": value + 0.02}
            for model in ("reverse_kl-adaptive-0.01-s0", "forward_kl-adaptive-0.01-s0")
            for label, value in zip(("<0.05", "0.05–0.15", "0.15–0.3", "≥0.3"), values, strict=True)
        ]  # fmt: skip
        other = {"statistic": "recovered, solution at rank 2", "model": rows[0]["model"], "value": 0.9}
        return {"recovery": pd.DataFrame([*rows, other])}

    assert rules.recovery_gate(frames((0.0, 0.04, 0.21, 0.41))).verdict == SUPPORTED
    assert rules.recovery_gate(frames((0.4, 0.3, 0.2, 0.1))).verdict == CONTRADICTED
    assert rules.recovery_gate(frames((0.1, 0.3, 0.2, 0.4))).verdict == INCONCLUSIVE


def test_nothing_measured_is_said_so(tmp_path, mini):
    frame = findings(read_frames(tmp_path), mini)
    assert set(frame["verdict"]) == {UNMEASURED}
    write_findings(frame, tmp_path / "findings", mini)
    assert f"{len(CLAIMS)} {UNMEASURED}" in (tmp_path / "findings.md").read_text()


def test_a_claim_whose_premise_is_missing_is_not_judged_but_shown(root, mini):
    frame = findings(read_frames(root / "reports" / "mini-maia"), mini).set_index("id")
    assert frame.at["forward-mate4", "verdict"] == PREMISE
    assert frame.at["forward-mate4", "as_measured"] == CONTRADICTED
    assert frame.at["collapse", "premise"] == "training takes Table 2's steps"
    met = mini.model_copy(
        update={"base": "bt4", "selfplay": mini.selfplay.model_copy(update={"steps": 2000})}
    )
    judged = findings(read_frames(root / "reports" / "mini-maia"), met).set_index("id")
    assert judged.at["forward-mate4", "verdict"] == CONTRADICTED
    assert PREMISE not in set(judged["verdict"])


@pytest.mark.parametrize(
    ("base", "is_met"),
    [("maia-1900", False), ("meangirl-8", True), ("data/networks/visits.pb.gz", True), ("my.pb.gz", False)],
)
def test_a_base_is_distilled_from_a_search_or_not(mini, base, is_met):
    assert PREMISES["search"][1](mini.model_copy(update={"base": base})) is is_met


@pytest.mark.parametrize("name", ["mini", "mini-maia", "paper"])
def test_settings_that_a_pilot_chose_are_told_with_the_verdicts(root, name):
    params = load_params(root / "scales" / f"{name}.yaml")
    told = "chosen in a pilot" in summary_of(findings(read_frames(root / "none"), params), params)
    assert told is (name in PILOTED)


def test_the_recorded_run_is_read_as_its_tables_say(root, mini):
    """A gain recomputed from the counts of McNemar's table."""
    frames = read_frames(root / "reports" / "mini-maia")
    frame = findings(frames, mini).set_index("id")
    chosen = frames["table1"].query("term == 'forward_kl' and tau == 'adaptive'")["model"]
    paired = frames["paired"]
    row = paired[(paired["suite"] == "main") & (paired["a"] == "base") & paired["b"].isin(chosen)].iloc[0]
    assert frame.at["accuracy", "value"] == pytest.approx(100 * (row["only_b"] - row["only_a"]) / row["n"])
    assert frame.at["accuracy", "n"] == row["n"]


def test_every_claim_has_a_name_a_rule_and_the_papers_numbers(root, tmp_path, mini):
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) >= 12
    frame = findings(read_frames(root / "reports" / "mini-maia"), mini)
    assert set(frame["verdict"]) <= set(VERDICTS)
    assert (frame[["claim", "paper", "measured", "rule"]] != "").all(axis=None)
    write_findings(frame, tmp_path / "findings", mini)
    text = (tmp_path / "findings.md").read_text()
    assert text.count("\n| ") == 2 * (len(CLAIMS) + 1)
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "findings.csv", keep_default_na=False)[["id", "verdict"]],
        frame[["id", "verdict"]],
    )


def test_the_papers_numbers_are_those_of_its_tables(root):
    """What the claims quote of Tables 1, 3, 4 and 5 stands in data/paper."""
    folder = root / "data" / "paper"
    known = " ".join((folder / f"table{n}.csv").read_text() for n in (1, 3, 4, 5)).replace("-", " ")
    quoted = {"accuracy", "accuracy-hard", "accuracy-mate4", "entropy-retention", "divergence"}
    for claim in CLAIMS:
        if claim.id in quoted:
            for number in re.findall(r"\d+\.\d+", claim.paper):
                assert number in known, (claim.id, number)


def test_a_rating_that_was_not_measured_is_no_verdict(paper, root, mini, tmp_path):
    unrated = _changed(paper, "table1", lambda f: f["model"] == FIXED, elo_low=float("nan"))
    with pytest.raises(KeyError):
        rules.strength_of_anchors(unrated)
    for name in MEASURED:
        pd.read_csv(root / "reports" / "mini-maia" / f"{name}.csv").to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    table = pd.read_csv(tmp_path / "table1.csv").assign(elo=None, elo_low=None, elo_high=None)
    table.to_csv(tmp_path / "table1.csv", index=False)
    frame = findings(read_frames(tmp_path), mini).set_index("id")
    assert set(frame.loc[["strength", "dissociation", "control"], "verdict"]) == {UNMEASURED}
    assert frame.at["accuracy", "verdict"] == SUPPORTED
