"""A real MLflow server: killed, restarted, and looked at with a browser."""

from __future__ import annotations

import html.parser
import json
import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest
from fake_pipeline import BEST, CELLS
from mlflow_server import free_port, mlflow_server

from searchless_rl.params import Params
from searchless_rl.tracking import default_store, sync

CHROMIUM = shutil.which("chromium")


@pytest.mark.slow
def test_a_killed_server_is_completed_after_its_restart(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{port}")
    (root / "data/tactics" / BEST / "summary.json").rename(root / "kept.json")
    with mlflow_server(root, port):
        assert [item.what for item in sync(params, root).pending] == [BEST]
    (root / "kept.json").rename(root / "data/tactics" / BEST / "summary.json")

    dead = sync(params, root)
    assert dead.done == ()
    assert len(dead.pending) == len(CELLS) + 3

    with mlflow_server(root, port) as address:
        report = sync(params, root)
        assert report.done == ("base", "control", *CELLS, "pipeline")
        assert report.tracking_uri == address
        from mlflow import MlflowClient

        client = MlflowClient(address)
        experiment = client.get_experiment_by_name("searchless/smoke")
        runs = client.search_runs([experiment.experiment_id])
        assert len(runs) == len(CELLS) + 3
        (best,) = [run for run in runs if run.info.run_name == BEST]
        served = client.download_artifacts(best.info.run_id, "cell.json", str(root))
        assert json.loads(Path(served).read_text())["cell"] == BEST


@pytest.mark.slow
def test_a_store_filled_directly_goes_on_behind_a_server(root: Path, params: Params) -> None:
    first = sync(params, root)
    assert first.pending == ()
    with mlflow_server(root, free_port()) as address:
        assert sync(params, root, tracking_uri=address).done == first.done
        from mlflow import MlflowClient

        client = MlflowClient(address)
        experiment = client.get_experiment_by_name("searchless/smoke")
        runs = client.search_runs([experiment.experiment_id])
        assert len(runs) == len(CELLS) + 3
        for run in runs:
            assert client.list_artifacts(run.info.run_id), run.info.run_name
    assert default_store(root) == f"sqlite:///{root}/mlflow.db"


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (Debian: chromium)")
def test_the_run_table_answers_which_term_and_which_beta(root: Path, params: Params, tmp_path: Path) -> None:
    sync(params, root)
    with mlflow_server(root, free_port()) as address:
        found = urllib.request.urlopen(
            f"{address}/api/2.0/mlflow/experiments/get-by-name?experiment_name=searchless/smoke"
        )
        experiment = json.load(found)["experiment"]
        note = next(tag["value"] for tag in experiment["tags"] if tag["key"] == "mlflow.note.content")
        link = re.search(r"\((#/experiments/[^)]+)\)", note)
        assert link is not None
        page = _rendered(f"{address}/{link[1]}", tmp_path / "profile")

    table = _RunTable()
    table.feed(page)
    rows = [table.rows[index] for index in sorted(table.rows)]
    assert [row["attributes.`Run Name`"] for row in rows] == [
        BEST,
        CELLS[3],
        CELLS[2],
        CELLS[0],
        "base",
        "control",
    ]
    assert (
        rows[0].items()
        >= {
            "params.`term`": "forward_kl",
            "params.`tau`": "adaptive",
            "params.`beta`": "0.1",
            "metrics.`selection/accuracy`": "0.62",
            "metrics.`selection/accuracy_low`": "0.53",
            "metrics.`main/accuracy`": "0.62",
        }.items()
    )
    base, control = rows[-2:]
    assert base["metrics.`selection/accuracy`"] == "0.4"
    assert control["metrics.`selection/accuracy`"] == "-"  # measured on `main` alone


class _RunTable(html.parser.HTMLParser):
    """Rows of MLflow's run table by their place: the last text of each cell by its column."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[int, dict[str, str]] = {}
        self._row, self._column = -1, ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if found.get("role") == "row" and found.get("row-id"):
            self._row = int(found["row-index"] or -1)
        elif found.get("role") in ("row", "columnheader"):
            self._row = -1
        elif found.get("role") == "gridcell":
            self._column = found["col-id"] or ""

    def handle_data(self, data: str) -> None:
        if self._row >= 0:
            self.rows.setdefault(self._row, {})[self._column] = data


def _rendered(address: str, profile: Path) -> str:
    assert CHROMIUM is not None
    switches = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync --window-size=2600,1200 --virtual-time-budget=30000"
    )
    command = [CHROMIUM, *switches.split(), f"--user-data-dir={profile}", "--dump-dom", address]
    environment = os.environ | {"no_proxy": "127.0.0.1"}
    answer = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    return answer.stdout
