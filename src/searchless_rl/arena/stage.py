"""The arena's stages: openings, a round-robin, the shape of the policies played."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pandas as pd
import torch
from tqdm import tqdm

from searchless_rl.arena.journal import Journal
from searchless_rl.arena.match_runner import play_games
from searchless_rl.arena.openings import draw_openings, read_openings, write_openings
from searchless_rl.arena.players import Player
from searchless_rl.arena.results import results_frame, summarize_games, write_pgn
from searchless_rl.arena.schedule import round_robin
from searchless_rl.arena.shape import measure_shape
from searchless_rl.code import code_of
from searchless_rl.files import sha256_of, write_atomically, write_json, write_parquet
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.results.names import GAMES
from searchless_rl.unfinished import exclusive

PGN, SUMMARY = "games.pgn", "summary.json"


def sample_openings(book: Path, out: Path, *, count: int, seed: int) -> None:
    """Draw openings from a book and write them (see `openings.draw_openings`)."""
    write_openings(out, draw_openings(book, count=count, seed=seed).openings)


def run_arena(
    players: Sequence[Player],
    openings: Path,
    out: Path,
    *,
    scratch: Path,
    games: int,
    base: str | None = None,
    games_against_base: int | None = None,
    seed: int,
    batch_size: int,
    max_plies: int = 512,
    in_flight: int = 4096,
    max_loaded: int | None = None,
    show_progress: bool = False,
) -> None:
    """Play a round-robin and write games.parquet, games.pgn and summary.json into `out`.

    A killed run continues with the games that were not finished; the finished ones are in `scratch` until the
    results are written.

    Args:
        players, games, base, games_against_base: see `schedule.round_robin`.
        openings: a file of openings (see `openings.write_openings`).
        seed, max_plies, in_flight, max_loaded: see `arena.play_games`.
        batch_size: positions per forward pass, the only shape that a network sees.

    Raises:
        Busy: another process plays in `scratch`.
        ValueError: bad inputs, or `scratch` holds an unfinished run with others.
        RuntimeError: a player is left without any game.
    """
    schedule = round_robin(
        players, read_openings(openings), games=games, base=base, games_against_base=games_against_base
    )
    device = "cuda" if torch.cuda.is_available() else "cpu"
    sha256 = {weights: sha256_of(weights) for weights in {player.weights for player in players}}
    inputs = {
        "players": {
            player.name: {"weights_sha256": sha256[player.weights], "temperature": player.temperature}
            for player in players
        },
        "openings_sha256": sha256_of(openings),
        "games": games,
        "base": base,
        "games_against_base": games_against_base,
        "seed": seed,
        "max_plies": max_plies,
        "batch_size": batch_size,
    }
    machine = {"threads": torch.get_num_threads(), "device": device}
    with exclusive(scratch), closing(Journal(scratch, inputs | machine, _code())) as journal:
        outcomes = dict(journal.outcomes)
        left = [game for game in schedule if game.number not in outcomes]
        with tqdm(
            total=len(schedule),
            initial=len(schedule) - len(left),
            desc=out.name,
            unit="game",
            disable=not show_progress,
        ) as bar:
            for outcome in play_games(
                left,
                players,
                lambda weights: Evaluator(load_network(weights), batch_size, device),
                seed=seed,
                max_plies=max_plies,
                in_flight=in_flight,
                max_loaded=max_loaded,
            ):
                outcomes[outcome.number] = outcome
                if not outcome.failed:  # another run may fare better
                    journal.append(outcome)
                bar.update()
        ordered = [outcomes[game.number] for game in schedule]
        frame = results_frame(schedule, ordered, players)
        summary = summarize_games(schedule, ordered, players, frame)
        write_parquet(frame, out / GAMES)
        write_pgn(frame, out / PGN, event=out.name)
        write_json(out / SUMMARY, {"inputs": inputs} | summary)
        journal.remove()


def run_shape(
    arena: Path,
    players: Sequence[Player],
    base: Path,
    out: Path,
    *,
    positions: int,
    seed: int,
    batch_size: int,
    show_progress: bool = False,
) -> None:
    """Measure the policies that players played in an arena and write them to `out`, a CSV of a row each.

    Args:
        arena: the folder that `run_arena` wrote.
        players, base, positions, seed: see `shape.measure_shape`.
        batch_size: positions per forward pass.
    """
    frame = pd.read_parquet(arena / GAMES)
    with tqdm(total=len(players), desc=out.name, unit="player", disable=not show_progress) as bar:
        shape = measure_shape(
            frame,
            players,
            base,
            lambda weights: Evaluator(load_network(weights), batch_size),
            positions=positions,
            seed=seed,
            advance=bar.update,
        )
    write_atomically(out, shape.to_csv(index=False, lineterminator="\n"))


def _code() -> str:
    """Fingerprint of what decides a game."""
    return code_of(__name__)
