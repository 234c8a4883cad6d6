"""The arena's stages: a round-robin, and the shape of the policies played in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from tqdm import tqdm

from searchless_rl.arena.finished_games import FinishedGames
from searchless_rl.arena.match_runner import Outcome, play_games
from searchless_rl.arena.openings import read_openings
from searchless_rl.arena.players import Player
from searchless_rl.arena.pools import SampledPool
from searchless_rl.arena.results import results_frame, summarize_games, write_pgn
from searchless_rl.arena.schedule import Game, round_robin
from searchless_rl.arena.shape import measure_shape
from searchless_rl.code import code_of
from searchless_rl.files import sha256_of, write_atomically, write_json, write_parquet
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.results.names import GAMES
from searchless_rl.unfinished import exclusive

PGN, SUMMARY = "games.pgn", "summary.json"


@dataclass(frozen=True, kw_only=True)
class ArenaSettings:
    """What is played in an arena, and how.

    Attributes:
        games, base, games_against_base, apart: see `schedule.round_robin`.
        seed: seed of sampled moves.
        batch_size: positions per forward pass, the only shape that a network sees.
        max_plies, in_flight, max_loaded: see `match_runner.play_games`; the last two change no result.
    """

    games: int
    base: str | None = None
    games_against_base: int | None = None
    apart: Collection[str] = ()
    seed: int
    batch_size: int
    max_plies: int = 512
    in_flight: int = 4096
    max_loaded: int | None = None


def run_arena(
    players: Sequence[Player],
    openings: Path,
    out: Path,
    settings: ArenaSettings,
    *,
    scratch: Path,
    show_progress: bool = False,
) -> None:
    """Play a round-robin and write games.parquet, games.pgn and summary.json into `out`.

    A killed run continues with the games that were not finished.

    Args:
        players: who plays.
        openings: a file of openings (see `openings.write_openings`).
        out: folder of the results.
        settings: what is played.
        scratch: folder of the finished games until the results are written.
        show_progress: draw a progress bar.

    Raises:
        Busy: another process plays in `scratch`.
        ValueError: bad inputs, or `scratch` holds an unfinished run with others.
        RuntimeError: a player is left without any game.
    """
    schedule = round_robin(
        players,
        read_openings(openings),
        games=settings.games,
        base=settings.base,
        games_against_base=settings.games_against_base,
        apart=settings.apart,
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    inputs = _inputs(players, openings, settings)
    machine = {"threads": torch.get_num_threads(), "device": device}
    with exclusive(scratch), closing(FinishedGames(scratch, inputs | machine, _code())) as finished:
        with tqdm(total=len(schedule), desc=out.name, unit="game", disable=not show_progress) as bar:
            outcomes = _play(schedule, players, settings, finished, device, bar)
        frame = results_frame(schedule, outcomes, players)
        summary = summarize_games(schedule, outcomes, players, frame)
        write_parquet(frame, out / GAMES)
        write_pgn(frame, out / PGN, event=out.name)
        write_json(out / SUMMARY, {"inputs": inputs} | summary)
        finished.remove()


def _inputs(players: Sequence[Player], openings: Path, settings: ArenaSettings) -> dict[str, Any]:
    """Everything beside code and machine that decides the games."""
    sha256 = {weights: sha256_of(weights) for weights in {player.weights for player in players}}
    return {
        "players": {
            player.name: {"weights_sha256": sha256[player.weights], "temperature": player.temperature}
            for player in players
        },
        "openings_sha256": sha256_of(openings),
        "games": settings.games,
        "base": settings.base,
        "games_against_base": settings.games_against_base,
        "apart": sorted(settings.apart),
        "seed": settings.seed,
        "max_plies": settings.max_plies,
        "batch_size": settings.batch_size,
    }


def _play(
    schedule: Sequence[Game],
    players: Sequence[Player],
    settings: ArenaSettings,
    finished: FinishedGames,
    device: str,
    bar: tqdm[Any],
) -> list[Outcome]:
    """Outcomes in the order of the schedule; those not yet finished are played."""
    outcomes = dict(finished.outcomes)
    left = [game for game in schedule if game.number not in outcomes]
    bar.update(len(schedule) - len(left))
    for outcome in play_games(
        left,
        players,
        lambda weights: Evaluator(load_network(weights), settings.batch_size, device),
        seed=settings.seed,
        max_plies=settings.max_plies,
        in_flight=settings.in_flight,
        max_loaded=settings.max_loaded,
    ):
        outcomes[outcome.number] = outcome
        if not outcome.failed:  # another run may fare better
            finished.append(outcome)
        bar.update()
    return [outcomes[game.number] for game in schedule]


def run_shape(
    arena: Path,
    pool: SampledPool,
    base: Path,
    out: Path,
    *,
    positions: int,
    seed: int,
    batch_size: int,
    show_progress: bool = False,
) -> None:
    """Measure the policies that players played in an arena and write `shape.measure_shape`'s rows as CSV.

    A player of the closed pool is measured in its games of that pool, whoever else played.

    Args:
        arena: the folder that `run_arena` wrote.
        pool: who played there.
        base: weights of the base.
        positions: positions of each player (see `shape.measure_shape`).
        seed: seed of the sample of positions.
        out: the CSV file, one row per player.
        batch_size: positions per forward pass.
        show_progress: draw a progress bar.
    """
    games = pd.read_parquet(arena / GAMES)
    names = [player.name for player in pool.closed]
    inside = games[games["white"].isin(names) & games["black"].isin(names)]
    count = len(pool.closed) + len(pool.apart)
    with tqdm(total=count, desc=out.name, unit="player", disable=not show_progress) as bar:
        shapes = [
            measure_shape(
                played,
                players,
                base,
                lambda weights: Evaluator(load_network(weights), batch_size),
                positions=positions,
                seed=seed,
                on_player=bar.update,
            )
            for played, players in ((inside, pool.closed), (games, pool.apart))
            if players
        ]
    write_atomically(out, pd.concat(shapes).to_csv(index=False, lineterminator="\n"))


def _code() -> str:
    """Fingerprint of the code that decides a game."""
    return code_of(__name__)
