"""Where the project keeps its files: the only module that spells the folders below data/.

dvc.yaml names the same places. Paths are relative to the project's root, in which every stage runs; `data` is
another folder only where a project is read from outside, and in tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

DATA = Path("data")
"""What stages write and read; in DVC, except for what is bundled in Git."""
REPORTS = Path("reports")
FIGURES = Path("paper_figures")
SCRATCH = Path("scratch")
"""Of the main checkout: unfinished cells, logs, timings. Neither in Git nor in DVC."""
TIMINGS = SCRATCH / "timings"
LOGS = SCRATCH / "logs"

WEIGHTS, METRICS = "weights.pb.gz", "metrics.jsonl"
"""What training leaves: an Lc0 network and one JSON object a step."""
CELL_MANIFEST, CONTROL_MANIFEST = "cell.json", "control.json"
"""Beside them: what a grid cell and the control were trained with, and their final metrics."""
SUMMARY = "summary.json"
"""Of a measurement: its figures and the hash of the weights measured."""
CALIBRATION, FORECASTS = "calibration.json", "forecasts.parquet"
"""Beside the base: the two numbers of its value head's calibration, and the forecasts they were fitted to."""
SUITES_REPORT = "report.json"
"""Of the stage `suites`: what became of every row, and the control's pool."""
POSITIONS, CANDIDATES = "positions.parquet", "candidates.csv"
"""Of the stage `recovery`: every solver position, and the moves of Figure 9."""
SYNC_REPORT = "sync.json"
"""Of the last synchronization, among the reports."""

Group = Literal["selected", "headline"]
"""The cells that each arm carries on: at its selected beta, and at the headline beta."""
_CHOICES: dict[Group, str] = {"selected": "selection.json", "headline": "headline.json"}
GROUPS = tuple(_CHOICES)


def downloads(data: Path = DATA) -> Path:
    """Files fetched by name."""
    return data / "downloads"


def bundled_network(name: str, data: Path = DATA) -> Path:
    """A network that this project made, in Git (`suites.sources.BUNDLED`)."""
    return data / "networks" / f"{name}.pb.gz"


def network_card(name: str, data: Path = DATA) -> Path:
    """What a bundled network is and was measured to be; pretrain/dvc.yaml writes it."""
    return data / "networks" / f"{name}.json"


def paper(data: Path = DATA) -> Path:
    """The paper's printed numbers."""
    return data / "paper"


def inputs(data: Path = DATA) -> Path:
    """Links to the files that params.yaml names."""
    return data / "inputs"


def fetched(data: Path = DATA) -> Path:
    """The base network as it was fetched."""
    return data / "fetched" / "base.pb.gz"


def base(data: Path = DATA) -> Path:
    """The frozen base network, its value head as `base_value` says."""
    return data / "base" / "base.pb.gz"


def visits(data: Path = DATA) -> Path:
    """Shards of games played by tree search (pretrain/dvc.yaml)."""
    return data / "visits"


def student(data: Path = DATA) -> Path:
    """The folder of the student distilled from them: weights, metrics and manifest (pretrain/dvc.yaml)."""
    return data / "student"


def priors(data: Path = DATA) -> Path:
    """The games of the priors with each other (pretrain/dvc.yaml)."""
    return data / "priors"


def suites(data: Path = DATA) -> Path:
    """The folder of the puzzle suites."""
    return data / "suites"


def suite(name: str, data: Path = DATA) -> Path:
    """A puzzle suite."""
    return suites(data) / f"{name}.csv"


def tabiyas(data: Path = DATA) -> Path:
    """The positions of trajectory coverage."""
    return data / "openings" / "tabiyas.csv"


def openings(data: Path = DATA) -> Path:
    """The arena's openings."""
    return data / "book" / "openings.csv"


def warm_start(seed: int, data: Path = DATA) -> Path:
    """The warm-start games of a seed."""
    return data / "warm_start" / f"s{seed}.json"


def cell(name: str, data: Path = DATA) -> Path:
    """The folder of a grid cell's weights, metrics and manifest."""
    return data / "cells" / name


def tactics(model: str, data: Path = DATA) -> Path:
    """The scores of the base or a grid cell."""
    return data / "tactics" / model


def control(data: Path = DATA) -> Path:
    """The folder of the control's weights, metrics and manifest."""
    return data / "control"


def requested(data: Path = DATA) -> Path:
    """The folder of the requested cell: files as of a grid cell, and folders of its measurements."""
    return data / "requested"


def requested_tactics(data: Path = DATA) -> Path:
    """The scores of the requested cell on every suite."""
    return requested(data) / "tactics"


def requested_games(data: Path = DATA) -> Path:
    """The games of the requested cell against the base."""
    return requested(data) / "games"


def choices(group: Group, data: Path = DATA) -> Path:
    """The manifest that says which cell each arm carries on."""
    return data / group / _CHOICES[group]


def chosen(model: str, data: Path = DATA) -> Path:
    """The network file behind "base", "control", "selected-ARM" and "headline-ARM"."""
    if model == "base":
        return base(data)
    if model == "control":
        return control(data) / WEIGHTS
    group, _, arm = model.partition("-")
    return data / group / f"{arm}.pb.gz"


def chosen_arms(group: Group, data: Path = DATA) -> dict[str, Path]:
    """Arm -> its network file, for the arms that have one, in alphabetical order."""
    return {path.name.removesuffix(".pb.gz"): path for path in sorted(data.glob(f"{group}/*.pb.gz"))}


def evaluated(model: str, data: Path = DATA) -> Path:
    """The scores of a chosen network (names as in `chosen`) on every suite."""
    return data / "evaluated" / model


def coverage(model: str, data: Path = DATA) -> Path:
    """Trajectory coverage of the base or of an arm."""
    return data / "coverage" / model


def recovery(data: Path = DATA) -> Path:
    """The folder of the base and the anchors side by side."""
    return data / "recovery"


def arena(name: str, data: Path = DATA) -> Path:
    """The games of an arena of the study: "argmax", "swept" or "sampled"."""
    return data / "arena" / name


def reports(scale: str) -> Path:
    """Tables, timings, sweeps and the report of the last synchronization."""
    return REPORTS / scale


def figures(scale: str) -> Path:
    """The figures, each with the CSV behind it."""
    return FIGURES / scale
