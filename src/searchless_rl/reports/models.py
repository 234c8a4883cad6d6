"""The measured networks of a pipeline: the base, the grid's cells and the requested one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from searchless_rl.cells import TAUS, TERMS, VARIANTS, Cell, Term
from searchless_rl.params import Params

BASE, CONTROL = "base", "control"
ARMS = tuple(f"{term}-{tau}" for term in TERMS for tau in TAUS)
"""Exploration term and temperature, in the order of the paper's tables."""

EVALUATED = (
    *(BASE, CONTROL),
    *(f"selected-{arm}" for arm in ARMS),
    *(f"headline-{term}-adaptive" for term in TERMS if term != "none"),
)
"""Networks of the stage `evaluate`; an unregularized one is the same at every beta."""
COVERED = (BASE, *ARMS)
"""Networks of the stage `coverage`, the arms at the headline beta."""

TERM_NAMES: dict[Term, str] = {
    "none": "No regularizer",
    "entropy": "Entropy bonus",
    "reverse_kl": "Reverse-KL anchor",
    "forward_kl": "Forward-KL prior",
}
TAU_NAMES = {"adaptive": "adaptive", "fixed": "τ ≡ 1"}


@dataclass(frozen=True)
class Measured:
    """A network and what its stages wrote.

    Attributes:
        name: "base", "control" or a cell id.
        cell: None for the first two.
        in_grid: a cell of `grid.cells`; the base is not.
        requested: the cell of the top-level keys.
        suites: figures of `evaluation.tactics.summarize` by suite; empty where they are missing.
        precision: number format it was trained in; None for the base or where missing.
        final: mean of every training metric over the last tenth of the steps; empty where missing.
        curves: its metrics.jsonl, which may be missing; None for the base.
    """

    name: str
    cell: Cell | None
    in_grid: bool = False
    requested: bool = False
    suites: dict[str, dict[str, Any]] = field(default_factory=dict)
    precision: str | None = None
    final: dict[str, float] = field(default_factory=dict)
    curves: Path | None = None

    def figure(self, suite: str, key: str) -> Any:
        """One figure, None where the suite was not measured."""
        return self.suites.get(suite, {}).get(key)

    @property
    def competes(self) -> bool:
        """A grid cell that takes part in selection: the full method at a decade beta, or unregularized."""
        return self.cell is not None and self.in_grid and self.cell.is_swept


def read_models(data: Path, params: Params) -> list[Measured]:
    """The base, then every cell in the order of the paper's tables; what is missing stays empty.

    A requested cell that is also in the grid appears once, with the grid's files.
    """
    grid = {Cell.parse(name) for name in params.grid.cells}
    deep = evaluated_folders(data)
    models = [Measured(BASE, None, suites=_suites(data / "tactics" / BASE, deep.get(BASE)))]
    for cell in sorted(grid | {params.cell}, key=_table_order):
        requested = cell == params.cell
        if cell in grid:
            folder, tactics = data / "cells" / cell.id, data / "tactics" / cell.id
        else:
            folder, tactics = data / "requested", data / "requested" / "tactics"
        # The stage `cell` measures on every suite, also a cell of the grid that was not chosen.
        evaluated = deep.get(cell.id) or (data / "requested" / "tactics" if requested else None)
        models.append(read_cell(folder, tactics, cell, evaluated, in_grid=cell in grid, requested=requested))
    return models


def read_control(data: Path) -> Measured:
    """The puzzle-tuned control."""
    return Measured(CONTROL, None, suites=_suites(data / "evaluated" / CONTROL, None))


def read_cell(
    folder: Path,
    tactics: Path,
    cell: Cell,
    evaluated: Path | None = None,
    *,
    in_grid: bool = False,
    requested: bool = False,
) -> Measured:
    """One cell from the folders of its training and of its measurements (the stages tactics and evaluate)."""
    return Measured(
        name=cell.id,
        cell=cell,
        in_grid=in_grid,
        requested=requested,
        suites=_suites(tactics, evaluated),
        precision=_read(folder / "cell.json", "precision") or None,
        final=_read(folder / "cell.json", "final") or {},
        curves=folder / "metrics.jsonl",
    )


def _suites(tactics: Path, evaluated: Path | None) -> dict[str, dict[str, Any]]:
    suites: dict[str, dict[str, Any]] = dict(_read(tactics / "summary.json", "suites") or {})
    return suites | ({} if evaluated is None else _read(evaluated / "summary.json", "suites") or {})


def headline_cells(models: Iterable[Measured], beta: float) -> dict[str, Measured]:
    """Arm -> its grid cell at the headline beta (the unregularized one has none), of several seeds the first.

    Raises:
        ValueError: an arm without such a cell (named).
    """
    cells: dict[str, Measured] = {}
    for model in models:
        cell = model.cell
        if cell is not None and model.competes and (cell.term == "none" or cell.beta == beta):
            cells.setdefault(cell.arm, model)
    missing = [arm for arm in ARMS if arm not in cells]
    if missing:
        raise ValueError(
            f"headline_beta {beta:g}: the grid has no such cell of {', '.join(missing)}; "
            "add it to grid.cells or choose another headline_beta"
        )
    return {arm: cells[arm] for arm in ARMS}


def evaluated_folders(data: Path) -> dict[str, Path]:
    """Where the stage `evaluate` put the models it measured: "base" or cell id -> folder.

    The base, each arm's selected cell, then cells at the headline beta that were not selected.
    """
    folders = {BASE: data / "evaluated" / BASE}
    for group, file in (("selected", "selection.json"), ("headline", "headline.json")):
        for arm, entry in _read_all(data / group / file).items():
            folder = data / "evaluated" / f"{group}-{arm}"
            if folder.exists():
                folders.setdefault(entry["cell"], folder)
    return {model: folder for model, folder in folders.items() if folder.exists()}


def chosen_cells(data: Path, group: str) -> dict[str, str]:
    """Arm -> cell id, as the stage `select` chose it; `group` is "selected" or "headline"."""
    file = {"selected": "selection.json", "headline": "headline.json"}[group]
    return {arm: entry["cell"] for arm, entry in _read_all(data / group / file).items()}


def _table_order(cell: Cell) -> tuple[int, str, float, int, int]:
    return TERMS.index(cell.term), cell.tau, cell.beta, VARIANTS.index(cell.variant), cell.seed


def _read(path: Path, key: str) -> Any:
    """One part of a stage's JSON file; None where the file is missing."""
    if not path.exists():
        return None
    try:
        return _read_all(path)[key]
    except KeyError as error:
        raise ValueError(f"{path}: not a file of its stage ({error!r}); delete it and run again") from error


def _read_all(path: Path) -> dict[str, Any]:
    """A stage's JSON object; empty where the file is missing."""
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise TypeError(f"a {type(content).__name__}")
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path}: not a file of its stage ({error!r}); delete it and run again") from error
    return content


def select_cells(models: Iterable[Measured], suite: str = "selection") -> list[Measured]:
    """The models each arm carries into Table 1: all seeds of its most accurate decade beta.

    Accuracy is pooled over the seeds of a beta; of equals the smaller beta is taken. Half-decade points and
    the requested cell never take part; an arm without a measured cell is left out.
    """
    arms: dict[str, dict[float, list[Measured]]] = {}
    for model in models:
        if model.competes and model.figure(suite, "k") is not None:
            assert model.cell is not None
            arms.setdefault(model.cell.arm, {}).setdefault(model.cell.beta, []).append(model)

    def accuracy(seeds: list[Measured]) -> Fraction:
        solved = sum(model.figure(suite, "k") for model in seeds)
        return Fraction(solved, sum(model.figure(suite, "n") for model in seeds))

    # max keeps the first of equals, and models come in ascending beta.
    return [model for betas in arms.values() for model in max(betas.values(), key=accuracy)]
