"""The measured networks of a pipeline: the base and its fine-tuned cells."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from searchless_rl.cells import TERMS, Cell, Term

BASE = "base"
DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""The paper's grid; only these betas take part in selection and in Table 6 (section 3.1)."""

TERM_NAMES: dict[Term, str] = {
    "none": "No regularizer",
    "entropy": "Entropy bonus",
    "reverse_kl": "Reverse-KL anchor",
    "forward_kl": "Forward-KL prior",
}
TAU_NAMES = {"adaptive": "adaptive", "fixed": "τ ≡ 1"}


@dataclass(frozen=True)
class Measured:
    """A network and what the `tactics` stage found.

    Attributes:
        name: "base" or a cell id.
        cell: None for the base.
        suites: figures of `evaluation.tactics.summarize` by suite; empty where they are missing.
    """

    name: str
    cell: Cell | None
    suites: dict[str, dict[str, Any]]

    def figure(self, suite: str, key: str) -> Any:
        """One figure, None where the suite was not measured."""
        return self.suites.get(suite, {}).get(key)


def read_measured(tactics: Path, cells: Iterable[str]) -> list[Measured]:
    """The base and the named cells, in the order of the paper's tables; a cell without files stays empty."""
    parsed = sorted((Cell.parse(cell) for cell in cells), key=_table_order)
    models = [(BASE, None), *((cell.id, cell) for cell in parsed)]
    return [Measured(name, cell, _read_suites(tactics / name / "summary.json")) for name, cell in models]


def _table_order(cell: Cell) -> tuple[int, str, float, int]:
    return TERMS.index(cell.term), cell.tau, cell.beta, cell.seed


def _read_suites(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    try:
        suites: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["suites"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path}: not a summary of the tactics stage ({error}); delete it, run again"
        ) from error
    return suites


def select_cells(models: Iterable[Measured], suite: str = "selection") -> list[Measured]:
    """The model each arm carries into Table 1: its most accurate decade beta, of equals the smaller.

    Half-decade points never take part; an arm without a measured cell is left out.
    """
    best: dict[str, Measured] = {}
    for model in models:
        if model.cell is None or model.figure(suite, "k") is None:
            continue
        if model.cell.term != "none" and model.cell.beta not in DECADES:
            continue
        rival = best.get(model.cell.arm)
        # Models come in ascending beta: only a strictly better one takes the place.
        if rival is None or model.figure(suite, "k") > rival.figure(suite, "k"):
            best[model.cell.arm] = model
    return list(best.values())
