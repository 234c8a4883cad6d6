"""Where the pipeline keeps its files: the only module that spells data/... and reports/....

Paths are relative to the project's root, in which every stage runs.
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
SELECTION = DATA / "selected" / "selection.json"

WEIGHTS = "weights.pb.gz"
SUFFIX = ".pb.gz"


def warm_start(seed: int) -> Path:
    """The warm-start games of a seed."""
    return DATA / "warm_start" / f"s{seed}.json"


def cell(name: str) -> Path:
    """The folder of a grid cell's weights, metrics and manifest."""
    return DATA / "cells" / name


def tactics(model: str) -> Path:
    """The scores of the base or a grid cell."""
    return DATA / "tactics" / model


def evaluated(model: str) -> Path:
    """The scores of a chosen network on every suite."""
    return DATA / "evaluated" / model


def coverage(model: str) -> Path:
    """Trajectory coverage of the base or of an arm."""
    return DATA / "coverage" / model


def arena(name: str) -> Path:
    """The games of one of the study's arenas."""
    return DATA / "arena" / name


def chosen(model: str) -> Path:
    """The network file behind "base", "control", "selected-ARM" and "headline-ARM"."""
    if model == "base":
        return BASE
    if model == "control":
        return CONTROL / WEIGHTS
    group, _, arm = model.partition("-")
    return DATA / group / f"{arm}{SUFFIX}"


def reports(scale: str) -> Path:
    """Tables, timings and the report of the last synchronization."""
    return REPORTS / scale


def figures(scale: str) -> Path:
    """The figures."""
    return FIGURES / scale
