"""What a run shows: parameters, figures, times, and the views over all runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_pipeline import (
    BEST,
    CELLS,
    make_params,
    write_cell,
    write_json,
    write_summary,
    write_text,
)
from store_contents import by_name, fingerprint, open_store

from searchless_rl.params import Params
from searchless_rl.tracking import sync
from searchless_rl.tracking.shown import in_order, shortened


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
