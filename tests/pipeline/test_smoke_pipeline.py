"""The whole pipeline at smoke scale in a clone of its own."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from searchless_rl.evaluation.intervals import wilson

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clone(tmp_path_factory, pytestconfig):
    """A clone with this checkout's files, committed or not, switched to smoke scale."""
    root, folder = pytestconfig.rootpath, tmp_path_factory.mktemp("clone")
    names = _run(root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, names):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    downloads = root / "data" / "downloads"
    if downloads.is_dir():  # spare the network where the base is at hand
        shutil.copytree(downloads, folder / "data" / "downloads")
    (folder / "dvc.lock").unlink(missing_ok=True)
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "A clone"]):
        _run(folder, "git", "-c", "user.name=Test", "-c", "user.email=test@example.org", *command)
    _run(folder, sys.executable, "-m", "searchless_rl", "scale", "smoke")
    return folder


def _run(folder: Path, *command: str) -> str:
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder / "src"),
    }
    environment.pop("MLFLOW_TRACKING_URI", None)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _stages_run(output: str) -> list[str]:
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")]


def test_repro_builds_every_output_and_then_has_nothing_to_do(clone):
    first = _stages_run(_run(clone, "dvc", "repro"))
    assert "train@forward_kl-adaptive-0.01-s0" in first
    assert "sync" in first
    reports = clone / "reports" / "smoke"
    table6 = pd.read_csv(reports / "table6.csv")
    assert table6["model"].tolist() == ["base", "forward_kl-adaptive-0.01-s0"]
    for row in table6.itertuples():
        assert (row.low, row.high) == pytest.approx(wilson(row.k, row.n), abs=1e-15)
        assert row.n == 120
    for name in ("table1", "table2", "table6"):
        for suffix in ("csv", "md", "tex"):
            assert (reports / f"{name}.{suffix}").stat().st_size > 100
    timings = json.loads((reports / "timings.json").read_text())
    assert all(stage["peak_memory_mib"] < 4096 for stage in timings["stages"].values())
    sync = json.loads((reports / "sync.json").read_text())
    assert sync["pending"] == []
    assert sync["done"]
    begun = time.monotonic()
    assert _stages_run(_run(clone, "dvc", "repro")) == []
    assert time.monotonic() - begun < 15


def test_an_edit_to_a_table_retrains_nothing(clone):
    path = clone / "src" / "searchless_rl" / "reports" / "tables.py"
    path.write_text(path.read_text() + "\n# edited\n")
    assert set(_stages_run(_run(clone, "dvc", "repro"))) <= {"tables", "sync"}


def test_everything_the_pipeline_makes_is_ignored_or_meant_for_git(clone):
    status = _run(clone, "git", "status", "--porcelain", "--untracked-files=all").splitlines()
    changed = {line[3:] for line in status}
    unexpected = {name for name in changed if not name.startswith("reports/smoke/")}
    assert unexpected == {"params.yaml", "dvc.lock", "src/searchless_rl/reports/tables.py"}
