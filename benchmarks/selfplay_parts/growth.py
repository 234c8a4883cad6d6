"""Growth with the number of games and of steps, on a network so small that the rest shows.

Training steps of `tests/data/lc0/micro_bt4.pb.gz` in float32 from random games of different lengths. By
games: the median time of a step (sizes take turns) and the bytes per game in play, beside what they would be
if they grew in proportion from the smallest size. By steps: the median step and the resident memory of the
process in the last quarter of a long run, beside the second quarter (the first warms up); and how many bytes
Python and NumPy come to hold for each game in each step of the second half of another run: the games' moves,
eight bytes a ply, until they end. The ratio is value over baseline: 1 is proportional growth, or no drift.
"""

from __future__ import annotations

import gc
import statistics
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psutil
from shared.rows import Row
from tqdm import tqdm

from searchless_rl.board import GameBatch
from searchless_rl.cells import Cell
from searchless_rl.lc0 import load_network
from selfplay_parts.memory import batch_bytes
from selfplay_parts.settings import SMALL_NETWORK, Settings, random_games
from selfplay_parts.training import ClockedModule, StepTimes, run_steps, step_params

PART = "growth"
_CELL = Cell.parse("forward_kl-adaptive-0.01-s0")
_LONGEST_START = 120
_TURNS = 3
_STEPS_A_TURN = 4


def quarters(series: Sequence[float]) -> tuple[float, float]:
    """Medians of the second and of the last quarter."""
    quarter = len(series) // 4
    return statistics.median(series[quarter : 2 * quarter]), statistics.median(series[-quarter:])


def measure(settings: Settings) -> list[Row]:
    """Rows of this part."""
    largest = settings.growth_sizes[-1]
    moves, _ = random_games(largest, _LONGEST_START, seed=0)
    lengths = np.random.default_rng(1).integers(0, _LONGEST_START + 1, largest)
    started = [line[:length] for line, length in zip(moves, lengths.tolist(), strict=True)]
    total = _TURNS * _STEPS_A_TURN * len(settings.growth_sizes) + 2 * settings.drift_steps
    with tqdm(total=total, desc=PART, unit="step") as bar:
        return [
            *_by_games(settings, started, bar),
            *_by_steps(settings, started[: settings.growth_sizes[0]], bar),
        ]


def _by_games(settings: Settings, moves: list[list[int]], bar: tqdm[Any]) -> list[Row]:
    sizes = settings.growth_sizes
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(_TURNS):
        for size in sizes:
            seconds[size] += _step_seconds(moves[:size], bar)
    times = {size: 1e3 * statistics.median(seconds[size]) for size in sizes}
    held = {size: batch_bytes(moves[:size]) for size in sizes}
    rows = []
    for size in sizes:
        expected = times[sizes[0]] * size / sizes[0]
        rows.append(_row(f"a step, {size} games", times[size], "ms", expected, "ratio <= 1.1"))
    for size in sizes:
        rows.append(
            _row(f"in play, {size} games", held[size], "bytes per game", held[sizes[0]], "ratio <= 1.1")
        )
    return rows


def _step_seconds(moves: list[list[int]], bar: tqdm[Any]) -> list[float]:
    """Of each step of a short run but the first."""
    seconds: list[float] = []

    def after(step: StepTimes) -> None:
        seconds.append(step.whole)
        bar.update()

    _run(moves, _STEPS_A_TURN, after)
    return seconds[1:]


def _by_steps(settings: Settings, moves: list[list[int]], bar: tqdm[Any]) -> list[Row]:
    steps, count = settings.drift_steps, len(moves)
    seconds: list[float] = []
    resident: list[float] = []
    process = psutil.Process()

    def after(step: StepTimes) -> None:
        seconds.append(step.whole)
        resident.append(process.memory_info().rss / 2**20)
        bar.update()

    _run(moves, steps, after)
    label = f"last quarter of {steps} steps, {count} games"
    (early_time, late_time), (early, late) = quarters(seconds), quarters(resident)
    half, end = _held_after(moves, steps, bar)
    return [
        _row(f"a step, {label}", 1e3 * late_time, "ms", 1e3 * early_time, "ratio <= 1.1"),
        _row(f"resident memory, {label}", late, "MiB", early, "ratio <= 1.02"),
        Row(
            PART,
            f"held by Python and NumPy, second half of {steps} steps, {count} games",
            (end - half) / (steps - steps // 2) / count,
            "bytes per game and step",
            target="value <= 16",
        ),
    ]


def _held_after(moves: list[list[int]], steps: int, bar: tqdm[Any]) -> tuple[int, int]:
    """Bytes that tracemalloc counts after half of the steps and after all of them."""
    held: dict[int, int] = {}
    done = 0

    def after(_: StepTimes) -> None:
        nonlocal done
        done += 1
        if done in (steps // 2, steps):
            gc.collect()
            held[done] = tracemalloc.get_traced_memory()[0]
        bar.update()

    tracemalloc.start()
    try:
        _run(moves, steps, after)
    finally:
        tracemalloc.stop()
    return held[steps // 2], held[steps]


def _run(moves: list[list[int]], steps: int, after: Callable[[StepTimes], None]) -> None:
    games = GameBatch.replay([None] * len(moves), moves)
    module = ClockedModule(load_network(SMALL_NETWORK), games, _CELL, step_params(len(moves), steps))
    run_steps(module, bf16=False, after=after)


def _row(setting: str, value: float, unit: str, baseline: float, target: str) -> Row:
    return Row(PART, setting, value, unit, baseline, value / baseline, target)
