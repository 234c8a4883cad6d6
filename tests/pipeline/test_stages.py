"""dvc.yaml says what the code does: its stages, models, sources and outputs."""

import subprocess

import pytest
from ruamel.yaml import YAML

from searchless_rl.pipeline import stages
from searchless_rl.results.names import ARMS, COVERED, EVALUATED


@pytest.fixture(scope="module")
def pipeline(pytestconfig):
    return YAML(typ="safe").load(pytestconfig.rootpath / "dvc.yaml")


def _bodies(pipeline):
    return {name: stage.get("do", stage) for name, stage in pipeline["stages"].items()}


def test_every_stage_is_a_command_whose_cost_is_recorded(pipeline):
    commands = {body["cmd"].split()[3] for body in _bodies(pipeline).values()}
    assert commands == set(stages.STAGES)


def test_the_models_measured_are_those_that_the_reports_read(pipeline):
    assert tuple(pipeline["stages"]["evaluate"]["foreach"]) == EVALUATED
    assert tuple(pipeline["stages"]["coverage"]["foreach"]) == COVERED
    assert len(ARMS) == 8


def test_sources_that_stages_depend_on_exist(pipeline, pytestconfig):
    for name, body in _bodies(pipeline).items():
        for dependency in body["deps"]:
            if dependency.startswith("src/"):
                assert (pytestconfig.rootpath / dependency).exists(), f"{name}: {dependency}"


def test_results_are_kept_out_of_git_and_reports_in_it(pipeline, pytestconfig):
    for name, body in _bodies(pipeline).items():
        for out in body["outs"]:
            path = out if isinstance(out, str) else next(iter(out))
            path = path.replace("${key}", "x").replace("${scale}", "mini")
            path = f"{path}/x" if path.startswith("data/") else path  # a folder that need not exist yet
            ignored = subprocess.run(
                ["git", "check-ignore", "-q", path], cwd=pytestconfig.rootpath, check=False
            )
            is_report = path.startswith(("reports/", "paper_figures/")) and "sync.json" not in path
            assert (ignored.returncode == 0) != is_report, f"{name}: {path}"
