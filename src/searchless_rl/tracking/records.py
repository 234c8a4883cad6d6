"""What one run shows, read from the files of the pipeline."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from searchless_rl import layout
from searchless_rl.cells import Cell, format_beta
from searchless_rl.files import flatten, sha256_of
from searchless_rl.params import Params
from searchless_rl.results.curves import Curve, read_steps
from searchless_rl.results.document import (
    Document,
    MalformedFile,
    Suites,
    read_suites,
)
from searchless_rl.results.models import evaluated_folders
from searchless_rl.results.names import BASE, CONTROL
from searchless_rl.tracking.clock import Interval, ran
from searchless_rl.tracking.measured import strength_metrics

LARGEST_COPY = 8 * 2**20
"""Bytes of a network file that is copied into the store; larger ones stay in `data` alone."""
REPORT_SUFFIXES = {".csv", ".md", ".tex", ".json", ".pdf", ".png"}
SUITE_METRICS = {
    "accuracy": "accuracy",
    "low": "accuracy_low",
    "high": "accuracy_high",
    "geometric_mean": "solution_probability_gm",
    "arithmetic_mean": "solution_probability_am",
    "n": "n",
    "k": "k",
}


class MissingFile(Exception):
    """A file that its stage has not written yet."""


@dataclass(frozen=True)
class RunRecord:
    """One run.

    Attributes:
        name: run name: cell id, ``base`` or the pipeline's.
        key: hash of everything the run mirrors.
        params: MLflow parameters.
        tags: MLflow tags, without those that tie the run to a revision.
        metrics: final figures.
        curves: file of the learning curves.
        artifacts: files by their name among the artifacts.
        ran: when it was trained (the base: measured), where that is known.
    """

    name: str
    key: str
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    curves: Path | None
    artifacts: Mapping[str, Path]
    ran: Interval | None


def read_base(root: Path, params: Params) -> RunRecord:
    """The untrained base network.

    Raises:
        MissingFile: no summary of its tactics.
        MalformedFile: not a good one.
    """
    path = layout.tactics(BASE, root / layout.DATA) / layout.SUMMARY
    _require(root, path)
    summary = Document(path, root)
    more = _measured_elsewhere(root, params, BASE)
    return RunRecord(
        name="base",
        key=_hash_of("base", params.base, sha256_of(path), *_spelled(more)),
        params={"base": params.base},
        tags={"searchless.kind": "base", "searchless.arm": "base", **_weights(summary)},
        metrics=_suite_metrics(summary.suites()) | more,
        curves=None,
        artifacts={path.name: path},
        ran=ran(root, "tactics@base", path),
    )


def read_control(root: Path, params: Params) -> RunRecord:
    """The puzzle-tuned control; its curves are read by `read_curves`.

    Raises:
        MissingFile: a file of the control is absent.
        MalformedFile: one is not what its stage writes.
    """
    folder = layout.control(root / layout.DATA)
    manifest, metrics = folder / layout.CONTROL_MANIFEST, folder / layout.METRICS
    tactics = layout.evaluated(CONTROL, root / layout.DATA) / layout.SUMMARY
    for path in (manifest, metrics, tactics):
        _require(root, path)
    trained, summary = Document(manifest, root), Document(tactics, root)
    more = _measured_elsewhere(root, params, CONTROL)
    final = {f"final/{name}": value for name, value in trained.numbers("final").items()}
    hashes = map(sha256_of, (manifest, metrics, tactics))
    return RunRecord(
        name="control",
        key=_hash_of("control", params.base, *hashes, *_spelled(more)),
        params={"base": params.base, "precision": trained.text("precision")},
        tags={"searchless.kind": "control", "searchless.arm": "control", **_weights(summary)},
        metrics=_suite_metrics(summary.suites()) | final | more,
        curves=metrics,
        artifacts=_artifacts(manifest, tactics, folder),
        ran=ran(root, "control", manifest),
    )


def read_cell(root: Path, params: Params, cell: Cell) -> RunRecord:
    """A trained and measured cell, of the grid or the requested one; its curves are read by `read_curves`.

    Raises:
        MissingFile: a file of the cell is absent.
        MalformedFile: one is not what its stage writes.
    """
    data, in_grid = root / layout.DATA, cell.id in params.grid.cells
    folder = layout.cell(cell.id, data) if in_grid else layout.requested(data)
    metrics, manifest = folder / layout.METRICS, folder / layout.CELL_MANIFEST
    scores = layout.tactics(cell.id, data) if in_grid else layout.requested_tactics(data)
    tactics = scores / layout.SUMMARY
    for path in (manifest, metrics, tactics):
        _require(root, path)
    trained, summary = Document(manifest, root), Document(tactics, root)
    if trained.text("cell") != cell.id:
        trained.refuse(f"is about {trained.text('cell')}")
    final = {f"final/{name}": value for name, value in trained.numbers("final").items()}
    more = _measured_elsewhere(root, params, cell.id)
    hashes = map(sha256_of, (manifest, metrics, tactics))
    return RunRecord(
        name=cell.id,
        key=_hash_of("cell", cell.id, params.base, *hashes, *_spelled(more)),
        params={
            "term": cell.term,
            "tau": cell.tau,
            "beta": format_beta(cell.beta),
            "seed": str(cell.seed),
            "variant": cell.variant,
            "base": params.base,
            "precision": trained.text("precision"),
            **as_text(trained.mapping("params"), "selfplay"),
        },
        tags={
            "searchless.kind": "cell",
            "searchless.arm": cell.arm,
            "searchless.in_grid": str(in_grid).lower(),
            "searchless.base_sha256": trained.text("base_sha256"),
            "searchless.warm_start_sha256": trained.text("warm_start_sha256"),
            **_weights(summary),
        },
        metrics=_suite_metrics(summary.suites()) | final | more,
        curves=metrics,
        artifacts=_artifacts(manifest, tactics, folder),
        ran=ran(root, f"train@{cell.id}" if in_grid else "cell", manifest),
    )


def read_curves(path: Path, root: Path) -> dict[str, Curve]:
    """Every metric as (optimizer step, value), ``train/`` before its name.

    Raises:
        MalformedFile: as `read_steps`.
    """
    return {f"train/{name}": points for name, points in read_steps(path, root).items()}


def report_files(root: Path, scale: str) -> dict[str, Path]:
    """Tables, figures and params.yaml, by their name among the parent's artifacts."""
    found = {"params.yaml": root / "params.yaml"} if (root / "params.yaml").is_file() else {}
    for folder in (layout.REPORTS, layout.FIGURES):
        top = root / folder / scale
        for path in sorted(top.rglob("*")):
            # What a sync says of itself would change with every sync.
            if path.suffix in REPORT_SUFFIXES and path.is_file() and path.name != layout.SYNC_REPORT:
                found[f"{folder}/{path.relative_to(top).as_posix()}"] = path
    return found


def hash_of_files(files: Mapping[str, Path]) -> str:
    """SHA-256 of names and contents."""
    return _hash_of(*(part for name in sorted(files) for part in (name, sha256_of(files[name]))))


def as_text(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested parameters as dotted keys and the text MLflow stores."""
    return {key: _text(leaf) for key, leaf in flatten(value, prefix).items()}


def _text(leaf: Any) -> str:
    if isinstance(leaf, (list, tuple)):
        return " ".join(map(str, leaf))
    return leaf if isinstance(leaf, str) else json.dumps(leaf)


def _suite_metrics(suites: Suites) -> dict[str, float]:
    return {
        f"{suite}/{SUITE_METRICS[name]}": value
        for suite, figures in suites.items()
        for name, value in figures.items()
        if name in SUITE_METRICS
    }


def _measured_elsewhere(root: Path, params: Params, model: str) -> dict[str, float]:
    """Figures of the stages `evaluate` and `arena`, of models that were chosen or played."""
    folder = evaluated_folders(root / layout.DATA).get(model)
    suites = {} if folder is None else read_suites(folder / layout.SUMMARY, root)
    try:
        return _suite_metrics(suites) | strength_metrics(root, params, model)
    except ValueError as error:
        raise MalformedFile(str(error)) from error


def _spelled(metrics: Mapping[str, float]) -> list[str]:
    return [f"{name}={value!r}" for name, value in sorted(metrics.items())]


def _weights(summary: Document) -> dict[str, str]:
    return {"searchless.weights_sha256": summary.text("weights_sha256")}


def _artifacts(manifest: Path, tactics: Path, folder: Path) -> dict[str, Path]:
    """Files by their names, with the network file where a copy of it costs little."""
    weights = folder / layout.WEIGHTS
    copied = weights.exists() and weights.stat().st_size <= LARGEST_COPY
    return {path.name: path for path in (manifest, tactics, *([weights] if copied else []))}


def _require(root: Path, path: Path) -> None:
    if not path.exists():
        raise MissingFile(f"{_relative(root, path)} is not made yet (`dvc repro` makes it)")


def _hash_of(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
