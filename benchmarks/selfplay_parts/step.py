"""Whole training steps, and what of them is network.

Steps run as in training (Lightning, the parameters of `scales/paper.yaml`), from the games that the base has
played as the paper's warm start has it. *Outside the network* is all time of a step that is neither in a
forward or backward pass nor in AdamW and the EMA; the backward pass through the losses counts as network. The
*bound* repeats each step's passes right after it, in the same order and batch shapes, on copies of the
networks, with ready-made planes and gradients, and one AdamW and EMA update. Value and baseline are positions
per second of the step and of the bound (medians); the ratio is the step's time over the bound's. `none-fixed`
is the cell with the fewest network passes, so the hardest for the share.
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from shared.rows import Row
from torch import nn
from tqdm import tqdm

from searchless_rl.board import GameBatch
from searchless_rl.cells import Cell
from searchless_rl.nets.precision import resolve_precision
from selfplay_parts.settings import Settings
from selfplay_parts.training import ClockedModule, NetworkBound, StepTimes, run_steps, step_params

PART = "step"
HEADLINE = Cell.parse("forward_kl-adaptive-0.01-s0")
FEWEST_PASSES = Cell.parse("none-fixed-0-s0")


def measure(settings: Settings, network: nn.Module, games: GameBatch) -> list[Row]:
    """Rows of this part; `games` are the warm-start games of the largest size."""
    cases = list(_cases(settings))
    rows = []
    with tqdm(total=len(cases) * (settings.steps + 1), desc=PART, unit="step") as bar:
        for cell, size, precision in cases:
            pairs = _run(settings, network, games.select(np.arange(size)), cell, precision == "bf16", bar)
            label = f"{cell.arm}, {size} games, {precision}"
            rows += _rows(label, size, pairs, largest=size == settings.sizes[-1])
    return rows


def _cases(settings: Settings) -> Iterator[tuple[Cell, int, str]]:
    """Cell, games, precision; bf16 where training would choose it here."""
    largest = settings.sizes[-1]
    for precision in dict.fromkeys(("float32", resolve_precision("auto"))):
        for size in settings.sizes:
            yield HEADLINE, size, precision
        yield FEWEST_PASSES, largest, precision


def _run(
    settings: Settings, network: nn.Module, games: GameBatch, cell: Cell, bf16: bool, bar: tqdm[Any]
) -> list[tuple[StepTimes, float]]:
    """Each step with the seconds of its bound; the first, which warms up, is left out."""
    params = step_params(len(games), settings.steps + 1)
    base = copy.deepcopy(network)
    module = ClockedModule(base, games, cell, params)
    planes = torch.from_numpy(games.planes(np.arange(min(len(games), params.micro_batch))))
    bound = NetworkBound(module, base, planes, bf16=bf16)
    pairs = []

    def after(step: StepTimes) -> None:
        pairs.append((step, bound.seconds(step.calls)))
        bar.update()

    run_steps(module, bf16=bf16, after=after)
    return pairs[1:]


def _rows(label: str, size: int, pairs: list[tuple[StepTimes, float]], *, largest: bool) -> list[Row]:
    whole = statistics.median(step.whole for step, _ in pairs)
    bound = statistics.median(seconds for _, seconds in pairs)
    outside = statistics.median(1 - (step.network + step.update) / step.whole for step, _ in pairs)
    update = statistics.median(step.update / step.whole for step, _ in pairs)
    target = "value <= 5" if largest else ""
    return [
        Row(PART, f"outside the network, {label}", 100 * outside, "% of the step", target=target),
        Row(PART, f"AdamW and EMA, {label}", 100 * update, "% of the step"),
        Row(
            PART,
            f"whole step beside its bound, {label}",
            size / whole,
            "positions/s",
            size / bound,
            whole / bound,
            "ratio <= 1.25",
        ),
    ]
