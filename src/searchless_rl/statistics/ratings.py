"""Ratings of a pool of players from their games, after BayesElo (paper Tables 1 and 5, appendix F).

The model stands in `rating_model`. Ratings are unscaled: BayesElo multiplies what it prints by a factor that
depends on its draw parameter (0.93 at its default); the paper's intervals fit the unscaled ones.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd

from searchless_rl.statistics.matches import PlayedGames, player_place, read_games
from searchless_rl.statistics.rating_model import (
    Counts,
    UnboundedRatings,
    maximize,
    rating_covariance,
    with_prior,
)

Z95 = 1.96
FITTABLE = ("advantage", "draw")


@dataclass(frozen=True)
class Ratings:
    """A rated pool. Series and frames are indexed by the players' names, sorted.

    Attributes:
        elo: Elo, of mean 0, or with the base at 0.
        interval: half-width of the 95 % interval, Elo: of the difference to the base, so 0 for the base
            itself; without a base, of the difference to the mean of the pool (BayesElo's `covariance`).
        los: ``los.loc[a, b]`` is the probability that a is stronger than b; 0.5 on the diagonal.
        advantage: what White's move is worth, Elo, given or fitted.
        draw_elo: draw parameter, Elo, given or fitted.
        games: number of games of each player.
        score: points per game of each player, 0 to 1.
        covariance: Elo², of the ratings of mean 0 whatever the base, with advantage and draw parameter taken
            as known. The difference of a and b has the variance ``S[a, a] + S[b, b] − 2 S[a, b]``.
    """

    elo: pd.Series
    interval: pd.Series
    los: pd.DataFrame
    advantage: float
    draw_elo: float
    games: pd.Series
    score: pd.Series
    covariance: pd.DataFrame


def bayeselo(
    games: pd.DataFrame,
    *,
    advantage: float = 32.8,
    draw_elo: float = 97.3,
    prior: float = 2.0,
    fit: Collection[str] = (),
    base: str | None = None,
) -> Ratings:
    """Rate every player of a table of games (paper appendix F). The defaults are BayesElo's.

    Args:
        games: one row per game: white and black (names), result ("1-0", "1/2-1/2" or "0-1"). Any order.
        advantage: what White's move is worth, Elo.
        draw_elo: draw parameter, Elo, > 0.
        prior: virtual draws that two players have who met only each other (`rating_model.with_prior`); 0 for
            none. With it a player who won or lost everything still gets a finite rating.
        fit: which of "advantage" and "draw" are fitted too; what is given for these does not matter then.
            With "draw" and no draw at all, virtual ones included, draw_elo is 0.
        base: the player to put at 0; None puts the mean at 0.

    Returns:
        Ratings and their uncertainty.

    Raises:
        ValueError: no games; what `matches.read_games` refuses; an unknown base; a parameter out of range;
            two groups of players without a game between them.
        UnboundedRatings: (a ValueError) no finite ratings are best: without a prior, some players won all
            their games against all the others; or the results do not bound a fitted parameter, as when every
            game was drawn.
    """
    _check_parameters(advantage, draw_elo, prior, fit)
    played = read_games(games)
    if not len(played.points):
        raise ValueError("there are no games to rate")
    reference = None if base is None else player_place(played.players, base)
    seen = _count(played)
    _check_links(played.players, seen, prior)
    counts = with_prior(seen, prior)
    if "draw" in fit and not (counts.white_wins.any() or counts.black_wins.any()):
        raise UnboundedRatings(
            "every game was drawn, so the draw parameter has no bound: leave it out of fit"
        )
    try:
        best = maximize(counts, advantage, draw_elo, fit).parameters
    except UnboundedRatings as error:
        raise UnboundedRatings(
            f"the {len(played.points)} games do not bound the ratings with fit = {tuple(fit)}, prior = "
            f"{prior:g}, as where a player never lost or every decided game fell to White: fit less"
            + (", or set a prior" if prior == 0 else "")
        ) from error
    return _ratings(played.players, seen, best, rating_covariance(counts, best), reference)


def _check_parameters(advantage: float, draw_elo: float, prior: float, fit: Collection[str]) -> None:
    if not math.isfinite(advantage):
        raise ValueError(f"advantage must be a finite number of Elo, got {advantage!r}")
    if not (math.isfinite(draw_elo) and draw_elo > 0):
        raise ValueError(f"draw_elo must be a finite number of Elo above 0, got {draw_elo!r}")
    if not (math.isfinite(prior) and prior >= 0):
        raise ValueError(f"prior must be a finite number of draws, 0 or more, got {prior!r}")
    if not set(fit) <= set(FITTABLE):
        raise ValueError(f"fit must be a tuple of none, one or both of {FITTABLE}, got {fit!r}")


def _count(played: PlayedGames) -> Counts:
    n = len(played.players)
    pair = played.white * n + played.black
    white_wins, draws, black_wins = (
        np.bincount(pair[played.points == points], minlength=n * n).reshape(n, n).astype(np.float64)
        for points in (1.0, 0.5, 0.0)
    )
    return Counts(white_wins, draws, black_wins)


def _check_links(players: list[str], seen: Counts, prior: float) -> None:
    """Refuse a pool that falls apart and, without a prior, one where some won every game against the rest."""
    met = seen.games + seen.games.T
    linked = _reachable(met > 0)
    if not linked.all():
        raise ValueError(
            f"the pool falls apart: no games link {_names(players, linked)} to {_names(players, ~linked)}; "
            "play games between them, or rate them apart"
        )
    if prior > 0:
        return
    # took[i, j]: i took at least half a point off j. Finite ratings need a chain from everyone to everyone.
    took = (seen.white_wins + seen.draws + (seen.black_wins + seen.draws).T) > 0
    for losers in (_reachable(took), ~_reachable(took.T)):
        if losers.any() and not losers.all():
            raise UnboundedRatings(
                f"without a prior no finite ratings are best: {_names(players, ~losers)} won every game "
                f"against {_names(players, losers)}; set a prior above 0"
            )


def _reachable(linked: np.ndarray) -> np.ndarray:
    """The first player and who is reached from there along links [n, n] (row to column), as bool [n]."""
    reached: np.ndarray = np.arange(len(linked)) == 0
    while (wider := reached | linked[reached].any(axis=0)).sum() > reached.sum():
        reached = wider
    return reached


def _names(players: list[str], chosen: np.ndarray) -> str:
    return ", ".join(player for player, here in zip(players, chosen, strict=True) if here)


def _ratings(
    players: list[str], seen: Counts, best: np.ndarray, covariance: np.ndarray, reference: int | None
) -> Ratings:
    n = len(players)
    elo, variance = best[:n], np.diag(covariance)
    difference = variance[:, None] + variance[None, :] - 2 * covariance
    np.fill_diagonal(difference, 1.0)  # whatever is positive: the numerator is 0
    los = np.vectorize(math.erfc)((elo[None, :] - elo[:, None]) / np.sqrt(2 * difference)) / 2
    np.fill_diagonal(difference, 0.0)
    if reference is not None:
        elo = elo - elo[reference]
        variance = difference[reference]
    games = seen.games.sum(axis=0) + seen.games.sum(axis=1)
    points = (seen.white_wins + seen.draws / 2).sum(axis=1) + (seen.black_wins + seen.draws / 2).sum(axis=0)
    return Ratings(
        elo=pd.Series(elo, players, name="elo"),
        interval=pd.Series(Z95 * np.sqrt(variance), players, name="interval"),
        los=pd.DataFrame(los, players, players),
        advantage=float(best[n]),
        draw_elo=float(best[n + 1]),
        games=pd.Series(games.astype(np.int64), players, name="games"),
        score=pd.Series(points / games, players, name="score"),
        covariance=pd.DataFrame(covariance, players, players),
    )
