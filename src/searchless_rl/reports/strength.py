"""Playing strength as frames: the ladder of a pool, and every cell's record against the base."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl import layout
from searchless_rl.reports.formats import MISSING, Source, signed, write_table
from searchless_rl.results.models import Measured
from searchless_rl.results.names import GAMES, identity
from searchless_rl.statistics.matches import head_to_head, pair_interval
from searchless_rl.statistics.rating_model import UnboundedRatings
from searchless_rl.statistics.ratings import bayeselo

_RECORD = ("wins", "draws", "losses", "score", "score_low", "score_high", "los")
_RATING = ("elo", "elo_low", "elo_high", "elo_half_width", "elo_games")
_COUNTS = {"games": "Int64", "wins": "Int64", "draws": "Int64", "losses": "Int64"}


def read_games(folder: Path) -> pd.DataFrame | None:
    """Games of an arena; None where it was not played, or had nothing to play."""
    path = folder / GAMES
    if not path.exists():
        return None
    try:
        games = pd.read_parquet(path, columns=["white", "black", "result", "opening", "repeat_of"])
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"{path}: not games of an arena ({error}); delete it and run again") from error
    return games if len(games) else None


def record(games: pd.DataFrame | None, player: str, base: str) -> dict[str, Any]:
    """A player's games against the base.

    Columns: wins, draws, losses; score (points per game) with score_low and score_high, the 95 % interval
    over pairs of games that share an opening; los, the likelihood of superiority. Empty where none was
    played.
    """
    met = pd.DataFrame() if games is None else games[games["white"].isin([player, base])]
    met = met if met.empty else met[met["black"].isin([player, base])]
    if met.empty or player == base:
        return dict.fromkeys(_RECORD)
    direct = head_to_head(met, player, base)
    low, high = pair_interval(met, player, base)
    figures = (direct.wins, direct.draws, direct.losses, direct.score, low, high, direct.los)
    return dict(zip(_RECORD, figures, strict=True))


def ladder(games: pd.DataFrame | None, base: str) -> pd.DataFrame:
    """A closed pool rated by BayesElo, the strongest first.

    Args:
        games: of every pair of players.
        base: the player whose rating is 0.

    Returns:
        Columns player, elo (difference to the base, unscaled), elo_low, elo_high (95 %), games, points (per
        game), then the record against the base (`record`), advantage, draw_elo, fitted (both were fitted to
        these games; too few of them leave BayesElo's defaults).
    """
    columns = ["player", "elo", "elo_low", "elo_high", "games", "points", *_RECORD]
    columns += ["advantage", "draw_elo", "fitted"]
    if games is None:
        return pd.DataFrame(columns=columns).astype(_COUNTS)
    try:
        ratings, fitted = bayeselo(games, fit=("advantage", "draw"), base=base), True
    except UnboundedRatings:
        ratings, fitted = bayeselo(games, base=base), False
    rows = [
        {
            "player": player,
            "elo": elo,
            "elo_low": elo - ratings.interval[player],
            "elo_high": elo + ratings.interval[player],
            "games": ratings.games[player],
            "points": ratings.score[player],
            **record(games, player, base),
            "advantage": ratings.advantage,
            "draw_elo": ratings.draw_elo,
            "fitted": fitted,
        }
        for player, elo in zip(map(str, ratings.elo.index), ratings.elo, strict=True)
    ]
    frame = pd.DataFrame(rows, columns=columns).astype(_COUNTS)
    return frame.sort_values("elo", ascending=False, kind="stable", ignore_index=True)


def strength(models: list[Measured], data: Path, base: str) -> pd.DataFrame:
    """Every cell's strength over the base, from whichever arena it played in.

    A cell of the closed ladder has its rating of that ladder. Any other cell met the base alone; the cells of
    such an arena are rated by one fit around the base, so that a rating follows from the cell's own games,
    and only first-move advantage and draw parameter from those of all.

    Args:
        models: cells and others, which are left out; so is a cell that played no game against the base.
        data: where the arenas left their games.
        base: the player whose rating is 0.

    Returns:
        Columns model, term, tau, beta, seed, variant; arena ("argmax", "swept", "requested"); pool ("closed"
        where the rating is of the closed ladder, "base only" where it is of games against the base alone);
        elo (difference to the base) with its 95 % interval elo_low, elo_high and half of its length,
        elo_half_width; elo_games (that the rating rests on); games (against the base); the columns of
        `record`, which are of these; repeats (of these: games that another repeats move by move).
    """
    arenas = {
        "argmax": read_games(layout.arena("argmax", data)),
        "swept": read_games(layout.arena("swept", data)),
        "requested": read_games(layout.requested_games(data)),
    }
    ratings = {arena: ladder(games, base).set_index("player") for arena, games in arenas.items()}
    rows = []
    for model in models:
        cell = model.cell
        if cell is None:
            continue
        for arena, games in arenas.items():
            if arena == "requested" and not model.requested:
                continue
            found = record(games, model.name, base)
            if games is None or found["wins"] is None:
                continue
            mine = games[(games["white"] == model.name) | (games["black"] == model.name)]
            against = mine[(mine["white"] == base) | (mine["black"] == base)]
            where = {"variant": cell.variant, "arena": arena}
            where |= {"pool": "closed" if arena == "argmax" else "base only"}
            where |= _rating(ratings[arena], model.name) | {"games": len(against)}
            repeats = {"repeats": int((against["repeat_of"] >= 0).sum())}
            rows.append(identity(model.name) | where | found | repeats)
            break
    columns = ["model", "term", "tau", "beta", "seed", "variant", "arena", "pool", *_RATING, "games"]
    counts = _COUNTS | dict.fromkeys(("seed", "elo_games", "repeats"), "Int64")
    return pd.DataFrame(rows, columns=[*columns, *_RECORD, "repeats"]).astype(counts)


def _rating(ladder: pd.DataFrame, player: str) -> dict[str, Any]:
    row: Any = ladder.loc[player]
    half_width = (row["elo_high"] - row["elo_low"]) / 2
    figures = (row["elo"], row["elo_low"], row["elo_high"], half_width, row["games"])
    return dict(zip(_RATING, figures, strict=True))


def elo_text(row: pd.Series, anchor: tuple[float, float] | None = None) -> str:
    """``Δ +9.8 ± 8.2``; of the base 0, or the outside rating it is anchored to."""
    if pd.isna(row["elo"]):
        return MISSING
    half = (row["elo_high"] - row["elo_low"]) / 2
    if half == 0:
        return "0" if anchor is None else f"{anchor[0]:g} ± {anchor[1]:g}"
    return f"Δ {signed(row['elo'], 1)} ± {half:.1f}"


def record_text(row: pd.Series) -> str:
    """``326–351–323``: wins, draws, losses."""
    return MISSING if pd.isna(row["wins"]) else f"{row['wins']}–{row['draws']}–{row['losses']}"


def score_text(row: pd.Series) -> str:
    """``0.50 [0.45, 0.55]``."""
    if pd.isna(row["score"]):
        return MISSING
    return f"{row['score']:.2f} [{row['score_low']:.2f}, {row['score_high']:.2f}]"


def write_ladder(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `ladder`'s frame as CSV, Markdown and LaTeX."""
    fitted = "" if frame.empty else _fit_text(frame.iloc[0])
    write_table(
        frame,
        stem,
        title="searchless ladder",
        source=source,
        note="Closed round-robin of the most likely moves, BayesElo, differences to the base with 95 % "
        f"intervals.{fitted} The score against the base has an interval over pairs of games that share an "
        "opening.",
        columns={
            "Player": lambda row: row["player"],
            "Elo": elo_text,
            "Games": lambda row: row["games"],
            "Points": lambda row: f"{row['points']:.3f}",
            "W–D–L vs base": record_text,
            "Score vs base": score_text,
        },
    )


def _fit_text(row: pd.Series) -> str:
    how = "fitted" if row["fitted"] else "BayesElo's defaults, since these games do not bound them"
    return f" First-move advantage {row['advantage']:.1f}, draw parameter {row['draw_elo']:.1f} ({how})."
