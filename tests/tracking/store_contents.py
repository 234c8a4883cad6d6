"""What a store holds after a sync, read without the code under test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from searchless_rl.tracking import default_store


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
