"""The stage `select`: each arm's beta, chosen on the selection suite, and the weights that go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path

from searchless_rl import layout
from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.params import Params
from searchless_rl.results.models import Measured, read_models
from searchless_rl.results.names import ARMS, SELECTION


def select_models(params: Params, data: Path) -> None:
    """Choose each arm's beta and copy weights to where later stages find them, whatever was chosen.

    Writes selected/ARM.pb.gz and selection.json, headline/ARM.pb.gz and headline.json into `data`. Of several
    seeds the first is copied.

    Raises:
        FileNotFoundError: the weights of a measured cell are missing.
        ValueError: an arm has no cell at the headline beta.
    """
    models = read_models(data, params)
    selected: dict[str, Measured] = {}
    for model in select_cells(models):
        assert model.cell is not None
        selected.setdefault(model.cell.arm, model)
    _copy_weights(selected, data, "selected")
    _copy_weights(headline_cells(models, params.headline_beta), data, "headline")


def _copy_weights(chosen: Mapping[str, Measured], data: Path, group: layout.Group) -> None:
    entries = {}
    for arm, model in chosen.items():
        weights = layout.cell(model.name, data) / layout.WEIGHTS
        write_atomically(layout.chosen(f"{group}-{arm}", data), weights.read_bytes())
        counts = {key: model.count(SELECTION, key) for key in ("k", "n")}
        entries[arm] = {"cell": model.name, **counts, "weights_sha256": sha256_of(weights)}
    write_json(layout.choices(group, data), entries)


def select_cells(models: Iterable[Measured]) -> list[Measured]:
    """The models each arm carries into Table 1: all seeds of its most accurate decade beta.

    Accuracy on the selection suite is pooled over the seeds of a beta; the smaller of equally accurate betas
    is taken. Half-decade points and the requested cell never take part; an arm without a measured cell is
    left out.
    """
    arms: dict[str, dict[float, list[Measured]]] = {}
    for model in models:
        if model.competes and model.count(SELECTION, "n"):
            assert model.cell is not None
            arms.setdefault(model.cell.arm, {}).setdefault(model.cell.beta, []).append(model)

    def accuracy(seeds: list[Measured]) -> Fraction:
        solved, asked = (sum(model.count(SELECTION, key) or 0 for model in seeds) for key in ("k", "n"))
        return Fraction(solved, asked)

    # max keeps the first of equals, and models come in ascending beta.
    return [model for betas in arms.values() for model in max(betas.values(), key=accuracy)]


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
