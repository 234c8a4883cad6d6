"""dvc.yaml says what the code does: its stages, models, sources and outputs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from searchless_rl import layout
from searchless_rl.arena.stage import SUMMARY
from searchless_rl.claims import frames
from searchless_rl.claims.judged_stage import build_claims
from searchless_rl.claims.stage import build_findings
from searchless_rl.cli import _parser
from searchless_rl.params import load_params
from searchless_rl.pipeline import stages
from searchless_rl.pipeline.timing import label, stage_labels, write_timings
from searchless_rl.reports.stage import build_tables
from searchless_rl.results.names import ARMS, COVERED, EVALUATED
from searchless_rl.selfplay.stage import RESULTS as CELL_FILES
from searchless_rl.suites.build import REPORT_NAME
from searchless_rl.supervised.control_stage import RESULTS as CONTROL_FILES


@pytest.fixture(scope="module")
def pipeline(pytestconfig):
    return YAML(typ="safe").load(pytestconfig.rootpath / "dvc.yaml")


@pytest.fixture(scope="module")
def pretraining(pytestconfig):
    return YAML(typ="safe").load(pytestconfig.rootpath / "pretrain" / "dvc.yaml")


def _bodies(pipeline):
    return {name: stage.get("do", stage) for name, stage in pipeline["stages"].items()}


def test_every_stage_is_a_command_whose_cost_is_recorded(pipeline, pretraining):
    bodies = [*_bodies(pipeline).values(), *_bodies(pretraining).values()]
    commands = {body["cmd"].split()[3].replace("-", "_") for body in bodies}
    public = {
        name for name in vars(stages) if getattr(vars(stages)[name], "__module__", "") == stages.__name__
    }
    helpers = {"scratch", "set_threads", "timings", "interactive", "_chosen_weights"}
    assert commands == public - helpers


def test_the_models_measured_are_those_that_the_reports_read(pipeline):
    assert tuple(pipeline["stages"]["evaluate"]["foreach"]) == EVALUATED
    assert tuple(pipeline["stages"]["coverage"]["foreach"]) == COVERED
    assert len(ARMS) == 8


def test_dependencies_are_those_that_the_source_has(pytestconfig):
    command = [sys.executable, "tools/write_dependencies.py", "--check"]
    done = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _outs(body):
    return [out if isinstance(out, str) else next(iter(out)) for out in body["outs"]]


def test_the_layout_is_that_of_the_pipeline(pipeline, pretraining):
    """Where readers look is where dvc.yaml says that stages write."""
    bodies = _bodies(pipeline)
    outs = {name: [Path(out) for out in _outs(body)] for name, body in bodies.items()}
    cell = layout.cell("${key}")
    assert outs["train"] == [cell / layout.WEIGHTS, cell / layout.METRICS, cell / layout.CELL_MANIFEST]
    assert outs["warm_start"] == [layout.warm_start(0).with_name("${key}.json")]
    assert {path.parent for path in outs["inputs"]} == {layout.inputs()}
    assert outs["fetch"] == [layout.fetched().parent]
    assert outs["calibrate"] == [layout.base().parent]
    assert outs["suites"] == [layout.suites()] == [layout.suite("main").parent]
    assert outs["tactics_base"] + outs["tactics"] == [layout.tactics("base"), layout.tactics("${key}")]
    assert outs["openings"] == [layout.openings().parent]
    assert outs["control"] == [layout.control()]
    assert outs["cell"] == [layout.requested()]
    assert outs["select"] == [layout.choices(group).parent for group in layout.GROUPS]
    assert outs["evaluate"] == [layout.evaluated("${key}")]
    assert outs["coverage"] == [layout.coverage("${key}")]
    assert outs["recovery"] == [layout.recovery()]
    for name in ("argmax", "swept", "sampled"):
        assert outs[f"arena_{name}"] == [layout.arena(name)]
    made = {name: [Path(out) for out in _outs(body)] for name, body in _bodies(pretraining).items()}
    places = [layout.priors(), layout.bundled_network("visits").parent]
    places += [layout.reports("pretrain"), layout.figures("pretrain")]
    assert made == {"visits": [layout.visits()], "student": [layout.student()], "priors": places}
    assert outs["figures"] == [layout.figures("${scale}")]
    assert outs["sync"] == [layout.reports("${scale}") / layout.SYNC_REPORT]


def test_the_networks_measured_are_the_files_that_are_chosen(pipeline):
    for model, item in pipeline["stages"]["evaluate"]["foreach"].items():
        assert layout.chosen(model) == layout.DATA / item
    for arm, item in pipeline["stages"]["coverage"]["foreach"].items():
        assert layout.chosen(arm if arm == "base" else f"headline-{arm}") == layout.DATA / item


def test_readers_and_writers_call_files_the_same():
    assert CELL_FILES == (layout.WEIGHTS, layout.METRICS, layout.CELL_MANIFEST)
    assert CONTROL_FILES == (layout.WEIGHTS, layout.METRICS, layout.CONTROL_MANIFEST)
    assert (REPORT_NAME, SUMMARY) == (layout.SUITES_REPORT, layout.SUMMARY)


def test_every_file_that_the_tables_write_is_an_output(pipeline, pytestconfig, tmp_path):
    params = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml")
    shutil.copytree(pytestconfig.rootpath / "data" / "paper", tmp_path / "data" / "paper")
    build_tables(params, tmp_path / "data", tmp_path / "out")
    build_findings(params, tmp_path / "data", tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {Path(out).name for out in _outs(pipeline["stages"]["tables"])} == written


def test_claims_depend_on_every_file_that_they_read(pipeline, pytestconfig, tmp_path):
    root, stage = pytestconfig.rootpath, pipeline["stages"]["claims"]
    build_claims(load_params(root / "params.yaml"), root / "data" / "paper", tmp_path, tmp_path)
    assert {Path(out).name for out in _outs(stage)} == {path.name for path in tmp_path.iterdir()}
    folder = layout.reports("${scale}")
    assert {Path(dep) for dep in stage["deps"] if not dep.startswith("src/")} == {
        *(layout.paper(), layout.figures("${scale}")),
        *(folder / f"{name}.csv" for name in frames.REPORTS),
    }


def test_results_are_kept_out_of_git_and_reports_in_it(pipeline, pytestconfig):
    for name, body in _bodies(pipeline).items():
        for out in _outs(body):
            path = out.replace("${key}", "x").replace("${scale}", "mini")
            is_report = path.startswith(("reports/", "paper_figures/")) and "sync.json" not in path
            path = path if "." in Path(path).name else f"{path}/x"  # a folder that need not exist yet
            ignored = subprocess.run(
                ["git", "check-ignore", "-q", path], cwd=pytestconfig.rootpath, check=False
            )
            assert (ignored.returncode == 0) != is_report, f"{name}: {path}"


def test_timings_list_each_stage_by_the_name_it_is_recorded_under(pipeline, pytestconfig, tmp_path):
    params = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml")
    labels = stage_labels(pipeline["stages"], params)
    assert len(labels) == len(set(labels))
    cells = list(params.grid.cells)
    assert [name for name in labels if name.startswith("train@")] == [f"train@{cell}" for cell in cells]
    assert {"inputs", "warm-start@0", "tactics@base", "arena@swept", "coverage@none-fixed", "sync"} <= set(
        labels
    )
    for name in labels:
        assert label(_parser().parse_args(name.split("@"))) == name
    (tmp_path / "records").mkdir()
    record = {"seconds": 2.0, "peak_memory_mib": 5}
    for name in ("train@" + cells[0], "train@of-another-scale", "sync", "fan-out"):
        (tmp_path / "records" / f"{name}.json").write_text(json.dumps(record))
    write_timings(tmp_path / "records", tmp_path, params, pytestconfig.rootpath / "dvc.yaml")
    written = json.loads((tmp_path / "timings.json").read_text())
    assert written["sum_seconds"] == 4.0
    assert list(written["stages"]) == ["fan-out", f"train@{cells[0]}", "sync"]
