"""The study's arenas as stages: who plays, from where, and where the games go."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pandas as pd

from searchless_rl.arena.line_ups import argmax_ladder, sampled_ladder, swept_line_up
from searchless_rl.arena.players import Player
from searchless_rl.arena.results import COLUMNS
from searchless_rl.arena.shape import measure_shape
from searchless_rl.arena.stage import SUMMARY, run_arena
from searchless_rl.cells import Cell
from searchless_rl.files import write_atomically, write_json, write_parquet
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.params import Params
from searchless_rl.results.names import BASE, GAMES, SHAPES

StudyArena = Literal["argmax", "swept", "sampled"]


def run_study_arena(
    name: StudyArena,
    params: Params,
    data: Path,
    openings: Path,
    *,
    scratch: Path,
    show_progress: bool = False,
) -> None:
    """Play one arena into `data`/arena/NAME.

    * argmax: the closed ladder of Table 1 (base, control, and the selected or all swept cells);
    * swept: the swept cells outside that ladder, against the base alone;
    * sampled: the ladder of Table 5, and the shape of the policies it played (shapes.csv).

    Args:
        name: which.
        params: of the experiment.
        data: where the stages before left their files.
        openings: see `openings.prepare_openings`.
        scratch: holds finished games of an unfinished run.

    Raises:
        ValueError: something of the stages before is missing or bad (named).
    """
    arena = params.arena
    out = data / "arena" / name
    base = data / "base" / "base.pb.gz"
    common = {"scratch": scratch, "seed": arena.seed, "batch_size": arena.batch_size}
    common |= {"max_plies": arena.max_plies, "show_progress": show_progress}
    if name == "sampled":
        arms = {path.name.removesuffix(".pb.gz"): path for path in sorted(data.glob("headline/*.pb.gz"))}
        players = sampled_ladder(base, arms, arena.base_temperatures)
        run_arena(players, openings, out, games=arena.sampled_games, **common)  # type: ignore[arg-type]
        _measure_shapes(players, base, out, params)
        return
    pool = _pool(params, data)
    if name == "argmax":
        players = argmax_ladder(base, data / "control" / "weights.pb.gz", pool)
        counts = {"games": arena.games, "games_against_base": arena.games_against_base}
        run_arena(players, openings, out, base=BASE, **counts, **common)  # type: ignore[arg-type]
        return
    players = swept_line_up(base, _swept(params, data), pool)
    if not players or not arena.games_swept:
        write_parquet(pd.DataFrame(columns=list(COLUMNS)).astype(COLUMNS), out / GAMES)
        write_json(out / SUMMARY, {"games_played": 0})
        return
    counts = {"games": 0, "games_against_base": arena.games_swept}
    run_arena(players, openings, out, base=BASE, **counts, **common)  # type: ignore[arg-type]


def _swept(params: Params, data: Path) -> dict[str, Path]:
    """Grid cells that take part in selection: id -> weights."""
    swept = [name for name in params.grid.cells if Cell.parse(name).is_swept]
    return {name: data / "cells" / name / "weights.pb.gz" for name in swept}


def _pool(params: Params, data: Path) -> dict[str, Path]:
    """Players of the ladder beside base and control: cell id -> weights."""
    if params.arena.pool == "swept":
        return _swept(params, data)
    selection = data / "selected" / "selection.json"
    try:
        chosen = json.loads(selection.read_text(encoding="utf-8"))
        return {entry["cell"]: data / "selected" / f"{arm}.pb.gz" for arm, entry in chosen.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{selection}: not readable ({error!r}); run the stage select") from error


def _measure_shapes(players: list[Player], base: Path, out: Path, params: Params) -> None:
    shapes = measure_shape(
        pd.read_parquet(out / GAMES),
        players,
        base,
        lambda weights: Evaluator(load_network(weights), params.evaluation.batch_size),
        positions=params.arena.shape_positions,
        seed=params.arena.seed,
    )
    write_atomically(out / SHAPES, shapes.to_csv(index=False, lineterminator="\n"))
