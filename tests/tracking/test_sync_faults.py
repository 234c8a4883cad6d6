"""What a sync leaves pending or half done, and that the next one completes it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fake_pipeline import (
    BEST,
    CELLS,
    sync_process,
    write_cell,
    write_json,
    write_summary,
    write_text,
)
from store_contents import all_runs, by_name, expected_curves, logged_curves

from searchless_rl.params import Params
from searchless_rl.tracking import default_store, sync


def test_a_killed_sync_is_completed_by_the_next(root: Path, params: Params) -> None:
    write_cell(root, params, BEST, steps=100)
    prelude = """
import os, signal
from mlflow import MlflowClient
whole, batches = MlflowClient.log_batch, 0
def log_batch(self, run_id, metrics=(), **others):
    global batches
    whole(self, run_id, metrics=metrics, **others)
    batches += len(metrics) == 1000
    if batches == 2:
        os.kill(os.getpid(), signal.SIGKILL)
MlflowClient.log_batch = log_batch
"""
    killed = sync_process(root, default_store(root), prelude)
    _, errors = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, errors
    left = by_name(root)
    assert left[BEST].info.status == "RUNNING"
    assert 0 < sum(map(len, logged_curves(root, left[BEST]).values())) < 100 * 22

    assert sync(params, root).pending == ()
    runs = by_name(root)
    assert runs.keys() >= left.keys()
    assert all(runs[name].info.run_id == left[name].info.run_id for name in left)
    assert {run.info.status for run in runs.values()} == {"FINISHED"}
    for cell in CELLS:
        assert logged_curves(root, runs[cell]) == expected_curves(root, cell)


def test_a_half_logged_run_whose_files_are_gone_is_closed(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_batch", fail)
        report = sync(params, root)
    assert "RuntimeError: cut off" in {item.what: item.why for item in report.pending}[BEST]
    write_cell(root, params, BEST, shift=0.5)
    sync(params, root)

    statuses = sorted(run.info.status for run in all_runs(root) if run.info.run_name == BEST)
    assert statuses == ["FINISHED", "KILLED"]


def test_missing_and_faulty_cells_wait_while_the_others_go_on(root: Path, params: Params) -> None:
    missing, torn, nan, good = CELLS
    (root / "data/tactics" / missing / "summary.json").unlink()
    lines = root / "data/cells" / torn / "metrics.jsonl"
    lines.write_text(lines.read_text()[:-20])
    lines = root / "data/cells" / nan / "metrics.jsonl"
    lines.write_text(lines.read_text().replace('"loss": 0.5', '"loss": NaN'))
    report = sync(params, root)

    assert report.done == ("base", "control", good, "pipeline")
    why = {item.what: item.why for item in report.pending}
    assert list(why) == [missing, torn, nan]
    assert why[missing].startswith(f"data/tactics/{missing}/summary.json is not made yet")
    assert why[torn].startswith(f"data/cells/{torn}/metrics.jsonl line 12: not JSON, or cut off")
    assert why[nan] == f"data/cells/{nan}/metrics.jsonl line 2: loss: nan is not a finite number"
    assert {run.info.status for run in all_runs(root)} == {"FINISHED"}
    assert report.message.startswith("sync: 3 of 7 runs pending in sqlite:///mlflow.db")
    assert "\n" not in report.message


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("summary.json", {"suites": {}}, "weights_sha256: expected a string, found None"),
        ("summary.json", [1], "expected an object, found list"),
        ("cell.json", {"cell": CELLS[0]}, f"is about {CELLS[0]}"),
        (
            "cell.json",
            {"cell": BEST, "final": {"entropy": "low"}},
            "final.entropy: 'low' is not a finite number",
        ),
    ],
)
def test_a_faulty_summary_is_named(root: Path, params: Params, name: str, value: object, why: str) -> None:
    folder = "cells" if name == "cell.json" else "tactics"
    write_json(root / "data" / folder / BEST / name, value)
    report = sync(params, root)

    assert [(item.what, item.why) for item in report.pending] == [
        (BEST, f"data/{folder}/{BEST}/{name}: {why}")
    ]


def test_steps_must_rise(root: Path, params: Params) -> None:
    path = root / "data/cells" / BEST / "metrics.jsonl"
    first = path.read_text().splitlines(keepends=True)[0]
    path.write_text(first + first)
    report = sync(params, root)

    assert [item.why for item in report.pending] == [
        f"data/cells/{BEST}/metrics.jsonl line 2: step 1 after step 1"
    ]


def test_what_was_pending_is_added_later(root: Path, params: Params) -> None:
    summary = root / "data/tactics" / BEST / "summary.json"
    summary.unlink()
    sync(params, root)
    write_summary(root, BEST, 0.62)

    assert sync(params, root).pending == ()
    assert set(CELLS) < by_name(root).keys()


def test_an_address_that_leads_out_of_the_artifacts_is_refused(root: Path, params: Params) -> None:
    import sqlite3

    sync(params, root)
    with sqlite3.connect(root / "mlflow.db") as database:
        database.execute("UPDATE runs SET artifact_uri = 'mlflow-artifacts:/../../outside'")
    write_text(root / "reports/smoke/table1.csv", "model,accuracy\nbase,0.9\n")
    (pending,) = sync(params, root).pending
    assert pending.what == "pipeline"
    assert "../../outside" in pending.why
    assert not (root.parent / "outside").exists()
