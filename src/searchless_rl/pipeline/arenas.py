"""The study's arenas as stages: who plays, from where, and where the games go."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Literal

import pandas as pd

from searchless_rl import layout
from searchless_rl.arena.pools import argmax_pool, sampled_pool, swept_players
from searchless_rl.arena.results import COLUMNS
from searchless_rl.arena.stage import SUMMARY, ArenaSettings, run_arena, run_shape
from searchless_rl.cells import Cell
from searchless_rl.files import write_json, write_parquet
from searchless_rl.params import Params
from searchless_rl.results.names import BASE, CONTROL, GAMES, SHAPES

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
    * sampled: the closed pool of Table 5 and the tempered bases that play it from outside, and the shape of
      the policies they played (shapes.csv).

    Args:
        name: which.
        params: of the experiment.
        data: where the stages before left their files.
        openings: see `openings.prepare_openings`.
        scratch: holds finished games of an unfinished run.
        show_progress: draw progress bars.

    Raises:
        ValueError: something of the stages before is missing or bad (named).
    """
    arena = params.arena
    out = layout.arena(name, data)
    base, control = layout.chosen(BASE, data), layout.chosen(CONTROL, data)
    if name == "sampled":
        sampled = sampled_pool(base, layout.chosen_arms("headline", data), arena.base_temperatures)
        players = [*sampled.closed, *sampled.apart]
        settings = _settings(params, arena.sampled_games, apart=[player.name for player in sampled.apart])
    elif name == "argmax":
        players = argmax_pool(base, control, _pool(params, data))
        settings = _settings(params, arena.games, base=BASE, games_against_base=arena.games_against_base)
    else:
        players = swept_players(base, _swept(params, data), _pool(params, data))
        settings = _settings(params, 0, base=BASE, games_against_base=arena.games_swept)
        if not players or not arena.games_swept:
            write_parquet(pd.DataFrame(columns=list(COLUMNS)).astype(COLUMNS), out / GAMES)
            write_json(out / SUMMARY, {"games_played": 0})
            return
    run_arena(players, openings, out, settings, scratch=scratch, show_progress=show_progress)
    if name == "sampled":
        run_shape(
            out,
            sampled,
            base,
            out / SHAPES,
            positions=arena.shape_positions,
            seed=arena.seed,
            batch_size=params.evaluation.batch_size,
            show_progress=show_progress,
        )


def _settings(
    params: Params,
    games: int,
    *,
    base: str | None = None,
    games_against_base: int | None = None,
    apart: Collection[str] = (),
) -> ArenaSettings:
    """What every arena of the study has in common, and the counts of this one."""
    arena = params.arena
    return ArenaSettings(
        games=games,
        base=base,
        games_against_base=games_against_base,
        apart=apart,
        seed=arena.seed,
        batch_size=arena.batch_size,
        max_plies=arena.max_plies,
    )


def _swept(params: Params, data: Path) -> dict[str, Path]:
    """Grid cells that take part in selection: id -> weights."""
    swept = [name for name in params.grid.cells if Cell.parse(name).is_swept]
    return {name: layout.cell(name, data) / layout.WEIGHTS for name in swept}


def _pool(params: Params, data: Path) -> dict[str, Path]:
    """Players of the ladder beside base and control: cell id -> weights."""
    if params.arena.pool == "swept":
        return _swept(params, data)
    selection = layout.choices("selected", data)
    try:
        chosen = json.loads(selection.read_text(encoding="utf-8"))
        return {entry["cell"]: layout.chosen(f"selected-{arm}", data) for arm, entry in chosen.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{selection}: not readable ({error!r}); run the stage select") from error
