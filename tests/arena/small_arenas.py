"""Arenas of small random networks, for several test files."""

import chess
import pandas as pd

from searchless_rl.arena.match_runner import play_games
from searchless_rl.arena.openings import Opening
from searchless_rl.arena.stage import ArenaSettings, run_arena
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator

BATCH = 4
PLIES = 40
BLACK_TO_MOVE = "r1bq1rk1/pp1pn1bp/2n3p1/2p1pp2/4PP2/2PP2PN/PP4BP/RNBQ1RK1 b - - 1 9"
OPENINGS = [
    Opening("lines:1", None, ("e2e4", "e7e5", "g1f3", "b8c6")),
    Opening("lines:2", None, ("d2d4", "d7d5")),
    Opening("black:1", BLACK_TO_MOVE),
    Opening("black:2", BLACK_TO_MOVE, ("d7d6", "c1e3")),
]
OUTPUTS = ("games.parquet", "games.pgn", "summary.json")


def evaluator_of(path):
    return Evaluator(load_network(path), BATCH)


def arena(players, openings, out, **changes):
    settings = {"games": 4, "seed": 5, "batch_size": BATCH, "max_plies": PLIES} | changes
    scratch = out.parent / f"{out.name}-scratch"
    run_arena(players, openings, out, ArenaSettings(**settings), scratch=scratch)
    return pd.read_parquet(out / "games.parquet")


def play(games, players, **changes):
    settings = {"seed": 5, "max_plies": PLIES, "in_flight": 100} | changes
    return {outcome.number: outcome for outcome in play_games(games, players, evaluator_of, **settings)}


def board_of(row):
    return chess.Board(row.fen) if row.fen else chess.Board()


def bytes_of(folder):
    return {name: (folder / name).read_bytes() for name in OUTPUTS}
