"""The results of an arena: a row per game, a PGN file, counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.arena.match_runner import Outcome
from searchless_rl.arena.pgn import game_text
from searchless_rl.arena.players import Player
from searchless_rl.arena.schedule import Game
from searchless_rl.files import atomic_writer

COLUMNS = {
    "game": "int64",
    "pair": "int64",
    "opening": "str",
    "fen": "str",
    "white": "str",
    "black": "str",
    "result": "str",
    "reason": "str",
    "plies": "int64",
    "opening_plies": "int64",
    "ties": "int64",
    "repeat_of": "int64",
    "moves": "str",
}
_FAILURES_SHOWN = 20


def results_frame(
    schedule: Sequence[Game], outcomes: Sequence[Outcome], players: Sequence[Player]
) -> pd.DataFrame:
    """One row per game that counts; a pair of games of which one failed is left out whole.

    Columns: game, pair (numbers of the schedule), opening (id), fen (first position, empty for the standard
    start position), white, black (names), result, reason, plies (from the standard start position on),
    opening_plies (moves of the opening among `moves`), ties (argmax moves that another move tied), repeat_of
    (an earlier game of the same players with the same moves, else -1), moves (UCI from `fen` on).
    """
    lost = {game.pair for game, outcome in zip(schedule, outcomes, strict=True) if outcome.failed}
    earlier: dict[tuple[Any, ...], int] = {}
    rows = []
    for game, outcome in zip(schedule, outcomes, strict=True):
        if game.pair in lost:
            continue
        opening, moves = game.opening, (*game.opening.moves, *outcome.moves)
        row = {
            "game": game.number,
            "pair": game.pair,
            "opening": opening.id,
            "fen": opening.fen or "",
            "white": players[game.white].name,
            "black": players[game.black].name,
            "result": outcome.result,
            "reason": outcome.reason,
            "plies": opening.plies + len(outcome.moves),
            "opening_plies": len(opening.moves),
            "ties": outcome.ties,
            "repeat_of": earlier.setdefault((game.white, game.black, opening.fen, moves), game.number),
            "moves": " ".join(moves),
        }
        row["repeat_of"] = -1 if row["repeat_of"] == game.number else row["repeat_of"]
        rows.append(row)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def write_pgn(frame: pd.DataFrame, path: Path, *, event: str) -> None:
    """Write the games of a results frame as PGN, without dates: the same games give the same bytes."""
    with atomic_writer(path) as stream:
        for row in frame.to_dict("records"):
            moves = row["moves"].split()
            headers = {
                "Event": event,
                "Site": "?",
                "Date": "????.??.??",
                "Round": f"{row['pair'] + 1}.{row['game'] + 1}",
                "White": row["white"],
                "Black": row["black"],
                "Result": row["result"],
                "Opening": row["opening"],
                "PlyCount": str(len(moves)),
                "Termination": row["reason"],
                "TimeControl": "-",
                "WhiteType": "program",
                "BlackType": "program",
            }
            stream.write(game_text(headers, row["fen"] or None, moves, row["result"]).encode())


def summarize_games(
    schedule: Sequence[Game], outcomes: Sequence[Outcome], players: Sequence[Player], frame: pd.DataFrame
) -> dict[str, Any]:
    """Counts of finished games and of those that broke off, with the reasons.

    Args:
        schedule: the games of the arena.
        outcomes: how they ended, in the same order.
        players: the players that the schedule refers to.
        frame: `results_frame` of these.

    Raises:
        RuntimeError: a player of the schedule is left without any game.
    """
    failures = [f"game {outcome.number}: {outcome.reason}" for outcome in outcomes if outcome.failed]
    scheduled = {players[place].name for game in schedule for place in (game.white, game.black)}
    idle = scheduled - set(frame["white"]) - set(frame["black"])
    if idle:
        shown = "".join(f"\n  {failure}" for failure in failures[:3])
        raise RuntimeError(f"no game of {', '.join(sorted(idle))} could be played to its end{shown}")
    return {
        "games_played": len(frame),
        "results": dict(sorted(Counter(frame["result"]).items())),
        "reasons": dict(sorted(Counter(frame["reason"]).items())),
        "mean_plies": float(frame["plies"].mean()),
        "ties": int(frame["ties"].sum()),
        "repeats": int((frame["repeat_of"] >= 0).sum()),
        "games_failed": len(failures),
        "games_dropped": len(schedule) - len(frame),
        "failures": failures[:_FAILURES_SHOWN],
    }
