"""Games between two players: counts, score with its interval, likelihood of superiority (paper section 3.1).

A table of games is a data frame with one row per game and at least the columns white, black (names) and
result, one of "1-0", "1/2-1/2" and "0-1". Its order never matters.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pandas as pd

WHITE_POINTS = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
"""White's points for each result a game may have."""

_Z2 = NormalDist().inv_cdf(0.975) ** 2
_BISECTIONS = 60  # of [0, 1]: down to the last bit


class PlayedGames(NamedTuple):
    """A checked table of N games.

    Attributes:
        players: distinct names, sorted.
        white: int64 [N] places in `players`.
        black: int64 [N], different from `white`.
        points: float64 [N], what White scored: 1, 0.5 or 0.
    """

    players: list[str]
    white: np.ndarray
    black: np.ndarray
    points: np.ndarray


def read_games(games: pd.DataFrame) -> PlayedGames:
    """Check a table of games (columns white, black, result; others are ignored) and number its players.

    Raises:
        ValueError: a column is missing, a name is missing or no text, a result is none of the three (an
            unfinished "*", for example), or a player meets itself; the row is named by its index.
    """
    absent = [column for column in ("white", "black", "result") if column not in games.columns]
    if absent:
        present = ", ".join(map(str, games.columns))
        raise ValueError(f"table of games lacks the column {', '.join(absent)}; it has {present}")
    count = len(games)
    codes, names = pd.factorize(pd.concat([games["white"], games["black"]]).to_numpy(object))
    _refuse(games, codes[:count] < 0, "white", "a player's name")
    _refuse(games, codes[count:] < 0, "black", "a player's name")
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"players are named by text, got {name!r} ({type(name).__name__})")
    white, black = codes[:count], codes[count:]
    points = games["result"].map(WHITE_POINTS).to_numpy(np.float64)
    _refuse(games, np.isnan(points), "result", "one of " + ", ".join(WHITE_POINTS))
    _refuse(games, white == black, "black", "another player than White")
    order = np.argsort(names)
    place = np.argsort(order)
    return PlayedGames([str(names[index]) for index in order], place[white], place[black], points)


def _refuse(games: pd.DataFrame, wrong: np.ndarray, column: str, wanted: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"game {games.index[row]!r}: {column} must be {wanted}, got {games[column].iloc[row]!r}"
        )


def player_place(players: list[str], name: str) -> int:
    """Where a player stands in a list of names; ValueError with the names if it is not there."""
    if name not in players:
        raise ValueError(
            f"{name!r} played none of these games; the players are {', '.join(players) or 'none'}"
        )
    return players.index(name)


class HeadToHead(NamedTuple):
    """What `player` did against `opponent`.

    Attributes:
        wins, draws, losses: numbers of games.
        score: points per game, 0 to 1.
        low, high: `score_interval` of the score at 95 %, which takes the games to be independent.
        los: `likelihood_of_superiority`.
    """

    wins: int
    draws: int
    losses: int
    score: float
    low: float
    high: float
    los: float


def head_to_head(games: pd.DataFrame, player: str, opponent: str) -> HeadToHead:
    """The direct record of one player against another (paper, Table 1, W-D-L and LOS).

    The table may hold other players' games too. Two players who never met have zero counts, NaN for the score
    and its interval, and LOS 0.5.

    Raises:
        ValueError: as `read_games`; either name is in no game, or both are the same.
    """
    points = _record(read_games(games), player, opponent).points
    wins, draws, losses = (int(np.sum(points == value)) for value in (1.0, 0.5, 0.0))
    score = float(points.mean()) if len(points) else math.nan
    low, high = score_interval(points)
    return HeadToHead(wins, draws, losses, score, low, high, likelihood_of_superiority(wins, losses))


class _Record(NamedTuple):
    """The M games of a match: rows in the table, what the player scored, whether it had White."""

    rows: np.ndarray
    points: np.ndarray
    had_white: np.ndarray


def _record(played: PlayedGames, player: str, opponent: str) -> _Record:
    mine, theirs = player_place(played.players, player), player_place(played.players, opponent)
    if mine == theirs:
        raise ValueError(f"a match needs two players, got {player!r} twice")
    had_white = (played.white == mine) & (played.black == theirs)
    rows = np.flatnonzero(had_white | (played.white == theirs) & (played.black == mine))
    points = np.where(had_white, played.points, 1.0 - played.points)
    return _Record(rows, points[rows], had_white[rows])


def pair_interval(
    games: pd.DataFrame, player: str, opponent: str, *, pair: str = "opening"
) -> tuple[float, float]:
    """95 % interval of the score when every opening was played twice, once with each colour.

    Games of a pair share their opening, so they are not independent; pairs are. The interval is
    `score_interval` of the pairs' mean points (0, 1/4, ..., 1); their mean is the score itself.

    Args:
        games: also has the column `pair`, whatever names the opening or the pair.
        player: whose score it is.
        opponent: the other one.
        pair: name of that column.

    Returns:
        ``(low, high)`` as fractions; ``(nan, nan)`` for players who never met.

    Raises:
        ValueError: as `head_to_head`; the column is absent or has a gap, or a pair is not exactly one game
            with each colour.
    """
    if pair not in games.columns:
        raise ValueError(f"table of games lacks the column {pair}, which tells the pairs")
    record = _record(read_games(games), player, opponent)
    match = games.iloc[record.rows]
    _refuse(match, match[pair].isna().to_numpy(), pair, "the name of a pair")
    number, names = pd.factorize(match[pair].to_numpy(object))
    with_white = np.bincount(number[record.had_white], minlength=len(names))
    with_black = np.bincount(number[~record.had_white], minlength=len(names))
    uneven = np.flatnonzero((with_white != 1) | (with_black != 1))
    if len(uneven):
        first = uneven[0]
        raise ValueError(
            f"{pair} {names[first]!r}: {player} has {with_white[first]} games with White and "
            f"{with_black[first]} with Black against {opponent}; a pair is one of each"
        )
    return score_interval(np.bincount(number, record.points, minlength=len(names)) / 2)


def score_interval(points: np.ndarray) -> tuple[float, float]:
    """95 % score interval of the mean of independent results in [0, 1].

    It holds the means θ that Pearson's chi-square test does not reject. Of the distributions on the results
    seen, and on 0 and 1, let p̂ be the likeliest one with mean θ: p̂_k = c_k / (n (1 + λ (x_k − θ))). The
    statistic is n λ (x̄ − θ), to be at most z². With results 0 and 1 alone this is Wilson's interval; draws,
    which vary less, make it shorter, and it has a length even when all results are equal.

    Args:
        points: [N] results of single games or mean results of independent groups of games.

    Returns:
        ``(low, high)`` with ``0 <= low <= mean <= high <= 1``; ``(nan, nan)`` for no results.
    """
    if not len(points):
        return math.nan, math.nan
    return _score_bound(points, 0.0), _score_bound(points, 1.0)


def _score_bound(points: np.ndarray, end: float) -> float:
    """The furthest mean towards `end`, 0 or 1, that the test of `score_interval` accepts, by bisection."""
    values, counts = np.unique(points, return_counts=True)
    mean = float(points.mean())
    if mean == end:
        return end
    accepted, rejected = mean, end
    for _ in range(_BISECTIONS):
        theta = (accepted + rejected) / 2
        # λ at which the statistic is z². Where the constraint's own λ is nearer to 0, or ends before it
        # (all of p̂ that was not seen then lies on 0 or 1), the statistic is smaller.
        tilt = _Z2 / (len(points) * (mean - theta))
        offset = values - theta
        if (
            tilt * theta >= 1.0
            or tilt * (theta - 1.0) >= 1.0
            or (mean - theta) * (counts * offset / (1.0 + tilt * offset)).sum() <= 0
        ):
            accepted = theta
        else:
            rejected = theta
    return accepted


def likelihood_of_superiority(wins: int, losses: int) -> float:
    """Φ((W − L) / √(W + L)): the probability that the player is the stronger one, given the record.

    The likelihood of superiority (LOS) of the paper's Table 1, all nine of whose values it gives. Draws do
    not enter; 0.5 without a decisive game.
    """
    decided = wins + losses
    return NormalDist().cdf((wins - losses) / math.sqrt(decided)) if decided else 0.5


def format_los(los: float) -> str:
    """A likelihood of superiority as the paper prints it: two digits, but never 1.00 or 0.00.

    What would round to these is ``>0.99`` or ``<0.01``. (The paper's two such entries are 0.9997 and 0.0000,
    so where exactly it changes over is open.) NaN is a dash.
    """
    if math.isnan(los):
        return "–"
    if not 0.0 <= los <= 1.0:
        raise ValueError(f"a likelihood of superiority lies between 0 and 1, got {los!r}")
    text = f"{los:.2f}"
    return {"1.00": ">0.99", "0.00": "<0.01"}.get(text, text)
