"""The measured networks of a pipeline: the base, the grid's cells and the requested one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from searchless_rl import layout
from searchless_rl.cells import TERMS, VARIANTS, Cell
from searchless_rl.params import Params
from searchless_rl.results.document import Document, Suites, read_suites
from searchless_rl.results.names import BASE, CONTROL


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
    suites: Suites = field(default_factory=dict)
    precision: str | None = None
    final: dict[str, float] = field(default_factory=dict)
    curves: Path | None = None

    def figure(self, suite: str, key: str) -> float | None:
        """One figure, None where the suite was not measured."""
        return self.suites.get(suite, {}).get(key)

    def count(self, suite: str, key: str) -> int | None:
        """The figure "k" (puzzles solved) or "n" (puzzles), None where the suite was not measured."""
        value = self.figure(suite, key)
        return None if value is None else int(value)

    @property
    def competes(self) -> bool:
        """A grid cell that takes part in selection: the full method at a decade beta, or unregularized."""
        return self.cell is not None and self.in_grid and self.cell.is_swept


def read_models(data: Path, params: Params) -> list[Measured]:
    """The base, then every cell in the order of the paper's tables; what is missing stays empty.

    A requested cell that is also in the grid appears once, with the grid's files.

    Args:
        data: folder of the stages' results.
        params: the grid, and the requested cell.

    Raises:
        MalformedFile: a file is not what its stage writes (named).
    """
    grid = {Cell.parse(name) for name in params.grid.cells}
    deep = evaluated_folders(data)
    models = [Measured(BASE, None, suites=_suites(layout.tactics(BASE, data), deep.get(BASE)))]
    for cell in sorted(grid | {params.cell}, key=_table_order):
        requested = cell == params.cell
        if cell in grid:
            folder, tactics = layout.cell(cell.id, data), layout.tactics(cell.id, data)
        else:
            folder, tactics = layout.requested(data), layout.requested_tactics(data)
        # The stage `cell` measures on every suite, also a cell of the grid that was not chosen.
        evaluated = deep.get(cell.id) or (layout.requested_tactics(data) if requested else None)
        models.append(read_cell(folder, tactics, cell, evaluated, in_grid=cell in grid, requested=requested))
    return models


def read_control(data: Path) -> Measured:
    """The puzzle-tuned control.

    Raises:
        MalformedFile: as `read_models`.
    """
    return Measured(CONTROL, None, suites=_suites(layout.evaluated(CONTROL, data), None))


def read_cell(
    folder: Path,
    tactics: Path,
    cell: Cell,
    evaluated: Path | None = None,
    *,
    in_grid: bool = False,
    requested: bool = False,
) -> Measured:
    """One cell from the folders of its training and of its measurements (the stages tactics and evaluate).

    Raises:
        MalformedFile: as `read_models`.
    """
    path = folder / layout.CELL_MANIFEST
    manifest = Document(path) if path.exists() else None
    return Measured(
        name=cell.id,
        cell=cell,
        in_grid=in_grid,
        requested=requested,
        suites=_suites(tactics, evaluated),
        precision=None if manifest is None else manifest.text("precision"),
        final={} if manifest is None else manifest.numbers("final"),
        curves=folder / layout.METRICS,
    )


def _suites(tactics: Path, evaluated: Path | None) -> Suites:
    """Figures of the stage `tactics`, and over them those of `evaluate`."""
    more = {} if evaluated is None else read_suites(evaluated / layout.SUMMARY)
    return read_suites(tactics / layout.SUMMARY) | more


def evaluated_folders(data: Path) -> dict[str, Path]:
    """Where the stage `evaluate` put the models it measured: "base", "control" or cell id -> folder.

    The base, the control, each arm's selected cell, then cells at the headline beta that were not selected.
    """
    folders = {name: layout.evaluated(name, data) for name in (BASE, CONTROL)}
    for group in layout.GROUPS:
        for arm, cell in chosen_cells(data, group).items():
            folder = layout.evaluated(f"{group}-{arm}", data)
            if folder.exists():
                folders.setdefault(cell, folder)
    return {model: folder for model, folder in folders.items() if folder.exists()}


def chosen_cells(data: Path, group: layout.Group) -> dict[str, str]:
    """Arm -> cell id, as the stage `select` chose it.

    Empty before that stage.

    Raises:
        MalformedFile: the manifest is not that stage's.
    """
    path = layout.choices(group, data)
    if not path.exists():
        return {}
    manifest = Document(path)
    cells = {arm: manifest.mapping(arm).get("cell") for arm in manifest.keys()}  # noqa: SIM118
    if not all(isinstance(cell, str) for cell in cells.values()):
        manifest.refuse(f"expected a cell of each arm, found {cells}")
    return {arm: str(cell) for arm, cell in cells.items()}


def _table_order(cell: Cell) -> tuple[int, str, float, int, int]:
    return TERMS.index(cell.term), cell.tau, cell.beta, VARIANTS.index(cell.variant), cell.seed
