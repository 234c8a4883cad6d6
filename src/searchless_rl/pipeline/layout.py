"""Where stages keep their files; dvc.yaml names the same places.

Paths are relative to the project's root, in which every stage runs; `data` is another folder only in tests.
"""

from __future__ import annotations

from pathlib import Path

DATA = Path("data")
REPORTS = Path("reports")
FIGURES = Path("paper_figures")
SCRATCH = Path("scratch")
"""Of the main checkout: unfinished cells, logs, timings. Neither in Git nor in DVC."""

INPUTS = DATA / "inputs"
BASE = DATA / "base" / "base.pb.gz"
SUITES = DATA / "suites"
TABIYAS = DATA / "openings" / "tabiyas.csv"
OPENINGS = DATA / "book" / "openings.csv"
CONTROL = DATA / "control"
REQUESTED = DATA / "requested"
RECOVERY = DATA / "recovery"

WEIGHTS = "weights.pb.gz"


def warm_start(seed: int) -> Path:
    """The warm-start games of a seed."""
    return DATA / "warm_start" / f"s{seed}.json"


def cell(name: str) -> Path:
    """The folder of a grid cell's weights, metrics and manifest."""
    return DATA / "cells" / name


def tactics(model: str) -> Path:
    """The scores of the base or a grid cell."""
    return DATA / "tactics" / model


def evaluated(model: str, data: Path = DATA) -> Path:
    """The scores of a chosen network on every suite."""
    return data / "evaluated" / model


def coverage(model: str) -> Path:
    """Trajectory coverage of the base or of an arm."""
    return DATA / "coverage" / model


def suite(name: str, data: Path = DATA) -> Path:
    """A puzzle suite."""
    return data / "suites" / f"{name}.csv"


def selection(data: Path = DATA) -> Path:
    """Which cell each arm carries on."""
    return data / "selected" / "selection.json"


def chosen(model: str, data: Path = DATA) -> Path:
    """The network file behind "base", "control", "selected-ARM" and "headline-ARM"."""
    if model == "base":
        return data / "base" / "base.pb.gz"
    if model == "control":
        return data / "control" / WEIGHTS
    group, _, arm = model.partition("-")
    return data / group / f"{arm}.pb.gz"


def reports(scale: str) -> Path:
    """Tables, timings, sweeps and the report of the last synchronization."""
    return REPORTS / scale


def figures(scale: str) -> Path:
    """The figures, each with the CSV behind it."""
    return FIGURES / scale
