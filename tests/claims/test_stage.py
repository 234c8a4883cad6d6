"""Deviations and findings are written beside the tables, also where nothing is measured yet."""

import json

import pandas as pd

from searchless_rl.claims.finding_rules import UNMEASURED
from searchless_rl.claims.stage import build_findings
from searchless_rl.params import load_params
from searchless_rl.reports.stage import build_tables


def test_findings_follow_the_tables(tmp_path, pytestconfig):
    root = pytestconfig.rootpath
    params = load_params(root / "scales" / "smoke.yaml")
    data, out = tmp_path / "data", tmp_path / "reports"
    (data / "control").mkdir(parents=True)
    (data / "control" / "control.json").write_text(json.dumps({"epochs": 4.25}))
    (data / "paper").symlink_to(root / "data" / "paper")
    build_tables(params, data, out)
    build_findings(params, data, out)
    assert set(pd.read_csv(out / "findings.csv")["verdict"]) == {UNMEASURED}
    deviations = pd.read_csv(out / "deviations.csv").set_index("item")["here"]
    assert "4.25 epochs" in deviations["Training of the control"]
    for name in ("findings.md", "deviations.md", "deviations.tex"):
        assert (out / name).read_text().strip()
