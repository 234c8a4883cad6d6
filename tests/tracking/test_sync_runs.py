"""What a sync writes: runs, curves, artifacts; and that it writes it once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from fake_pipeline import (
    BEST,
    CELLS,
    EmptyStore,
    write_cell,
    write_text,
)
from store_contents import all_runs, by_name, expected_curves, fingerprint, logged_curves

from searchless_rl.params import Params
from searchless_rl.tracking import sync
from searchless_rl.tracking.records import LARGEST_COPY


def test_one_run_per_cell_under_one_parent(root: Path, params: Params) -> None:
    report = sync(params, root)

    assert report.pending == ()
    assert report.done == ("base", "control", *CELLS, "pipeline")
    runs = by_name(root)
    parent = runs.pop(next(name for name in runs if name.startswith("pipeline-no-git-")))
    assert set(runs) == {"base", "control", *CELLS}
    assert {run.data.tags["mlflow.parentRunId"] for run in runs.values()} == {parent.info.run_id}
    assert {run.info.status for run in (parent, *runs.values())} == {"FINISHED"}
    assert parent.data.params["selfplay.learning_rates.backbone"] == str(
        params.selfplay.learning_rates.backbone
    )
    assert parent.data.tags["searchless.cells"] == "4 of 4"


def test_curves_read_back_equal_the_files(root: Path, params: Params) -> None:
    write_cell(root, params, BEST, steps=100)  # more than one call's worth
    sync(params, root)

    runs = by_name(root)
    for cell in CELLS:
        assert logged_curves(root, runs[cell]) == expected_curves(root, cell)


def test_artifacts_lie_beside_the_database_under_addresses_that_travel(root: Path, params: Params) -> None:
    sync(params, root)

    for run in by_name(root).values():
        assert run.info.artifact_uri.startswith("mlflow-artifacts:/searchless-smoke/")
        assert str(root) not in str(run.to_dictionary())
        folder = root / "mlartifacts" / run.info.artifact_uri.removeprefix("mlflow-artifacts:/")
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        kind = run.data.tags["searchless.kind"]
        assert (
            found
            == {
                "base": {"summary.json"},
                "control": {"control.json", "summary.json"},
                "cell": {"cell.json", "summary.json"},
                "pipeline": {"params.yaml", "reports/table1.csv", "paper_figures/figure5.csv"},
            }[kind]
        )


def test_a_second_sync_changes_nothing(root: Path, params: Params) -> None:
    first = sync(params, root)
    before = fingerprint(root)

    assert sync(params, root) == first
    assert fingerprint(root) == before


def test_new_parameters_give_a_parent_that_refers_to_the_unchanged_runs(root: Path, params: Params) -> None:
    sync(params, root)
    before = {run.info.run_id for run in all_runs(root)}
    later = params.model_copy(update={"headline_beta": 0.1})
    sync(later, root)

    runs = all_runs(root)
    (parent,) = [run for run in runs if run.info.run_id not in before]
    assert parent.data.tags["searchless.kind"] == "pipeline"
    revision = parent.data.tags["searchless.revisions"]
    members = [run for run in runs if revision in run.data.tags["searchless.revisions"].split(",")]
    assert {run.info.run_name for run in members} >= {"base", "control", *CELLS}
    children = [run for run in members if run is not parent]
    assert all(run.data.tags["mlflow.parentRunId"] != parent.info.run_id for run in children)


def test_a_cell_trained_again_replaces_the_old_run_in_its_revision(root: Path, params: Params) -> None:
    sync(params, root)
    old = by_name(root)[BEST]
    write_cell(root, params, BEST, shift=0.5)
    sync(params, root)

    same = [run for run in all_runs(root) if run.info.run_name == BEST]
    tags = {run.info.run_id: run.data.tags["searchless.revisions"] for run in same}
    assert len(same) == 2
    assert tags.pop(old.info.run_id) == ""
    assert next(iter(tags.values())) != ""


def test_changed_tables_reach_the_parent(root: Path, params: Params) -> None:
    sync(params, root)
    write_text(root / "reports/smoke/table1.csv", "model,accuracy\nbase,0.9\n")
    write_text(root / "reports/smoke/sync.json", "{}")
    sync(params, root)

    (table,) = root.glob("mlartifacts/**/reports/table1.csv")
    assert "0.9" in table.read_text()
    assert not list(root.glob("mlartifacts/**/sync.json"))


def test_the_report_is_the_same_every_time_and_on_every_machine(root: Path, params: Params) -> None:
    first = sync(params, root).to_json()

    assert sync(params, root).to_json() == first
    assert str(root) not in first
    assert json.loads(first) == {
        "tracking_uri": "sqlite:///mlflow.db",
        "experiment": "searchless/smoke",
        "done": ["base", "control", *CELLS, "pipeline"],
        "pending": [],
    }


def test_the_commit_is_part_of_the_revision(root: Path, params: Params) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    answer = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    commit = answer.stdout.strip()
    sync(params, root)

    runs = by_name(root)
    assert runs[BEST].data.tags["mlflow.source.git.commit"] == commit
    assert any(name.startswith(f"pipeline-{commit[:7]}-") for name in runs)


def test_making_a_database_leaves_logging_and_folder_alone(empty_store: EmptyStore) -> None:
    assert empty_store.logging_after == empty_store.logging_before
    assert [path.name for path in empty_store.database.parent.iterdir()] == ["mlflow.db"]


def test_small_weights_are_among_the_artifacts(root: Path, params: Params) -> None:
    (root / "data/cells" / BEST / "weights.pb.gz").write_bytes(b"a network")
    with (root / "data/cells" / CELLS[0] / "weights.pb.gz").open("wb") as file:
        file.truncate(LARGEST_COPY + 1)
    sync(params, root)

    (copy,) = root.glob("mlartifacts/**/weights.pb.gz")
    assert copy.read_bytes() == b"a network"
