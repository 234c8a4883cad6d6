"""What a sync writes: runs, curves, tags; and that it writes it once."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fake_pipeline import (
    BEST,
    CELLS,
    EmptyStore,
    make_params,
    sync_process,
    write_cell,
    write_json,
    write_summary,
    write_text,
)

from searchless_rl.params import Params
from searchless_rl.tracking import default_store, sync
from searchless_rl.tracking.records import LARGEST_COPY
from searchless_rl.tracking.shown import in_order, shortened


def open_store(root: Path) -> Any:
    """A client of the default store."""
    from mlflow import MlflowClient

    return MlflowClient(default_store(root))


def all_runs(root: Path) -> list[Any]:
    """Every run, deleted experiments aside."""
    client = open_store(root)
    experiment = client.get_experiment_by_name("searchless/smoke")
    return list(client.search_runs([experiment.experiment_id]))


def by_name(root: Path) -> dict[str, Any]:
    """Runs by name; two of a name are an error."""
    runs = all_runs(root)
    names = {run.info.run_name: run for run in runs}
    assert len(names) == len(runs)
    return names


def expected_curves(root: Path, cell: str) -> dict[str, list[tuple[int, float]]]:
    """The curves in a cell's file, read without the code under test."""
    curves: dict[str, list[tuple[int, float]]] = {}
    for line in (root / "data/cells" / cell / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        for name in record.keys() - {"step"}:
            curves.setdefault(f"train/{name}", []).append((record["step"], record[name]))
    return curves


def logged_curves(root: Path, run: Any) -> dict[str, list[tuple[int, float]]]:
    """The curves of a run, as the store has them."""
    client = open_store(root)
    names = [name for name in run.data.metrics if name.startswith("train/")]
    return {
        name: sorted((point.step, point.value) for point in client.get_metric_history(run.info.run_id, name))
        for name in names
    }


def fingerprint(root: Path) -> dict[str, Any]:
    """Everything the store says of its runs."""
    return {run.info.run_id: (dict(run.info), run.data.to_dictionary()) for run in all_runs(root)}


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


def test_a_cell_says_what_it_is_and_how_good(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVC_STAGE", "sync")
    monkeypatch.setenv("DVC_EXP_NAME", "hilly-boat")
    sync(params, root)

    run = by_name(root)[BEST]
    assert (
        run.data.params.items()
        >= {
            "term": "forward_kl",
            "tau": "adaptive",
            "beta": "0.1",
            "seed": "0",
            "base": params.base,
            "selfplay.games": str(params.selfplay.games),
            "selfplay.learning_rates.backbone": str(params.selfplay.learning_rates.backbone),
        }.items()
    )
    expected = {
        "selection/accuracy": 0.62,
        "selection/accuracy_low": 0.53,
        "selection/accuracy_high": 0.71,
        "main/solution_probability_gm": 0.31,
        "final/entropy": 1.5,
        "final/kl_base_policy": 0.012,
        "mate_5/n": 0,
    }
    assert {name: run.data.metrics[name] for name in expected} == pytest.approx(expected)
    assert "mate_5/accuracy" not in run.data.metrics
    # MLflow draws bars, one a run, only of what is at step 0.
    (point,) = open_store(root).get_metric_history(run.info.run_id, "selection/accuracy")
    assert point.step == 0
    assert (
        run.data.tags.items()
        >= {
            "searchless.kind": "cell",
            "searchless.arm": "forward_kl-adaptive",
            "searchless.scale": "smoke",
            "searchless.base_sha256": "b" * 64,
            "searchless.weights_sha256": "d" * 64,
            "dvc.stage": "sync",
            "dvc.exp_name": "hilly-boat",
        }.items()
    )
    assert len(run.data.tags["searchless.suites_sha256"]) == 64
    assert by_name(root).keys() >= {"pipeline-hilly-boat"}


def test_the_best_cell_comes_first_in_the_sorted_table(root: Path, params: Params) -> None:
    sync(params, root)

    client = open_store(root)
    experiment = client.get_experiment_by_name("searchless/smoke")
    best = client.search_runs(
        [experiment.experiment_id], order_by=["metrics.`selection/accuracy` DESC"], max_results=1
    )
    assert best[0].info.run_name == BEST


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


def test_changed_tables_reach_the_parent(root: Path, params: Params) -> None:
    sync(params, root)
    write_text(root / "reports/smoke/table1.csv", "model,accuracy\nbase,0.9\n")
    write_text(root / "reports/smoke/sync.json", "{}")
    sync(params, root)

    (table,) = root.glob("mlartifacts/**/reports/table1.csv")
    assert "0.9" in table.read_text()
    assert not list(root.glob("mlartifacts/**/sync.json"))


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


def test_chosen_models_show_every_suite_and_their_games(root: Path, params: Params) -> None:
    """What the stages evaluate and arena measured is part of a cell's run, and a change of it a new run."""
    chosen = {"forward_kl-adaptive": {"cell": BEST, "k": 1, "n": 2, "weights_sha256": "e" * 64}}
    write_json(root / "data/selected/selection.json", chosen)
    suites = {"mate2": {"accuracy": 0.75, "k": 3, "n": 4, "low": None}}
    folder = root / "data/evaluated/selected-forward_kl-adaptive"
    write_json(folder / "summary.json", {"weights_sha256": "e" * 64, "suites": suites})
    ladder = f"player,elo,elo_low,elo_high,points\n{BEST},12.5,-3.0,28.0,0.52\nbase,0,0,0,0.5\n"
    write_text(root / "reports/smoke/ladder.csv", ladder)
    assert sync(params, root).pending == ()
    runs = by_name(root)
    metrics = runs[BEST].data.metrics
    assert metrics["mate2/accuracy"] == 0.75
    assert "mate2/accuracy_low" not in metrics
    assert metrics["arena/elo"] == 12.5
    assert runs["base"].data.metrics["arena/points"] == 0.5
    assert "arena/elo" not in runs[CELLS[2]].data.metrics
    write_text(root / "reports/smoke/ladder.csv", "player,elo\nbase,0\n")
    assert {item.what for item in sync(params, root).pending} >= {BEST, "base"}


def test_a_run_lasts_as_long_as_its_training(root: Path, params: Params) -> None:
    """Sorting by date or duration must say something of the cells, not of the sync."""
    manifest = root / "data/cells" / BEST / "cell.json"
    ended = manifest.stat().st_mtime + 1
    write_json(root / f"scratch/timings/train@{BEST}.json", {"seconds": 50.0, "ended": ended})
    # An older record than the files: DVC has taken them from its cache, and nobody knows when they were made.
    write_json(root / f"scratch/timings/train@{CELLS[0]}.json", {"seconds": 50.0, "ended": ended - 1000})
    write_json(root / f"scratch/timings/train@{CELLS[2]}.json", {"seconds": "long"})
    sync(params, root)
    before = fingerprint(root)
    runs = by_name(root)

    run = runs[BEST].info
    assert run.end_time - run.start_time == 50_000
    assert run.end_time == round(1000 * ended)
    assert runs[BEST].data.tags["searchless.synced"].endswith("+00:00")
    for unknown in (CELLS[0], CELLS[2], "base"):
        assert runs[unknown].info.start_time > 1000 * (ended - 2)  # when it was logged
    sync(params, root)
    assert fingerprint(root) == before


def test_figures_are_rounded_and_the_decisive_ones_come_first(root: Path, params: Params) -> None:
    write_summary(root, BEST, 0.41733333333333333)
    summary = root / "data/tactics" / BEST / "summary.json"
    content = json.loads(summary.read_text())
    content["suites"]["main"] |= {"n": 123_456, "geometric_mean": 0.00512345678}
    write_json(summary, content)
    sync(params, root)

    metrics = by_name(root)[BEST].data.metrics
    assert metrics["selection/accuracy"] == 0.4173
    assert metrics["selection/accuracy_low"] == 0.3273
    assert metrics["main/solution_probability_gm"] == 0.005123
    assert metrics["main/n"] == 123_456
    assert json.loads(summary.read_text()) == content


def test_in_order() -> None:
    found = in_order({"train/loss": 1.0, "final/entropy": 1.23456, "main/accuracy": 0.5, "arena/elo": -12.0})
    assert list(found.items()) == [
        ("main/accuracy", 0.5),
        ("final/entropy", 1.235),
        ("arena/elo", -12.0),
        ("train/loss", 1.0),
    ]


@pytest.mark.parametrize(("words", "whole"), [(300, True), (301, True), (302, False), (5000, False)])
def test_long_parameters_are_cut_with_a_note(words: int, whole: bool) -> None:
    text = " ".join(f"{place:019d}" for place in range(words))[: 6020 if words == 301 else None]
    text = text[:6000] if words == 301 else text
    short = shortened(text, "params.yaml")
    assert len(short) <= 6000
    assert (short == text) == whole
    if not whole:
        kept, note = short.split(" ... ")
        assert text.startswith(kept + " ")
        assert note == f"({words} in all: params.yaml)"


def test_a_grid_too_long_for_a_parameter(root: Path) -> None:
    betas = [f"{place / 1000:g}" for place in range(1, 250)]
    cells = (*CELLS, *(f"forward_kl-fixed-{beta}-s0" for beta in betas if beta not in ("0.01", "0.1", "1")))
    params = make_params(cells)
    sync(params, root)

    parent = next(run for name, run in by_name(root).items() if name.startswith("pipeline"))
    value = parent.data.params["grid.cells"]
    assert len(" ".join(cells)) > 6000 >= len(value)
    assert value.endswith(f" ... ({len(cells)} in all: artifact params.yaml)")
    assert value.partition(" ... ")[0].split() == list(cells)[: len(value.partition(" ... ")[0].split())]


def test_small_weights_are_among_the_artifacts(root: Path, params: Params) -> None:
    (root / "data/cells" / BEST / "weights.pb.gz").write_bytes(b"a network")
    with (root / "data/cells" / CELLS[0] / "weights.pb.gz").open("wb") as file:
        file.truncate(LARGEST_COPY + 1)
    sync(params, root)

    (copy,) = root.glob("mlartifacts/**/weights.pb.gz")
    assert copy.read_bytes() == b"a network"


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


def test_two_views_are_offered_and_described(root: Path, params: Params) -> None:
    sync(params, root)
    later = params.model_copy(update={"headline_beta": 0.1})
    sync(later, root)

    client = open_store(root)
    experiment = client.get_experiment_by_name("searchless/smoke")
    note = experiment.tags["mlflow.note.content"]
    for key, runs in (("searchless", 6), ("searchless-all", 6)):
        assert f"#/experiments/{experiment.experiment_id}/runs?viewStateShareKey={key}" in note
        view = json.loads(experiment.tags[f"mlflow.sharedViewState.{key}"])
        state = json.loads(view["state"])
        found = client.search_runs([experiment.experiment_id], filter_string=state["searchFilter"])
        assert len(found) == runs
        assert "pipeline" not in {run.data.tags["searchless.kind"] for run in found}
    # A cell trained again leaves the revision, and both views show it once.
    write_cell(root, params, BEST, shift=0.5)
    sync(later, root)
    state = json.loads(json.loads(experiment.tags["mlflow.sharedViewState.searchless-all"])["state"])
    names = [
        run.info.run_name
        for run in client.search_runs([experiment.experiment_id], filter_string=state["searchFilter"])
    ]
    assert names.count(BEST) == 2  # of the first revision and of the later one
