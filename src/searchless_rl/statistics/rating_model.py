"""BayesElo's likelihood of game results (Hunter 2004; Coulom's program), its derivatives and its maximum.

With ratings r, White's advantage a and the draw parameter d, all in Elo, D = r_white − r_black and
f(x) = 1 / (1 + 10^(−x/400)):

    P(White wins) = f(D + a − d)      P(Black wins) = f(−D − a − d)      P(draw) = the rest

The rest is (10^(2d/400) − 1) times the product of the other two, so the log-likelihood is a sum of concave
terms in r, a and d together, and Newton's method with halved steps finds its maximum from anywhere.

Parameters are one vector [n + 2] in Elo: n ratings, a, d.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np

_NATURAL = math.log(10) / 400  # natural-log units per Elo
_FIRST_DRAW = 100.0  # Elo; from near 0 the first steps would be short
_CONVERGED = 1e-6  # Elo; the last step squares what error is left
_MAX_STEPS = 100
_SINGULAR = 1e-12  # least share of the greatest eigenvalue; finite ratings have far more


class UnboundedRatings(ValueError):
    """The likelihood grows for ever along some direction, so there is nothing to report."""


class Counts(NamedTuple):
    """Numbers of games, float64 [n, n], row: the player with White, column: the one with Black.

    Virtual games may be fractions. The diagonals are zero.
    """

    white_wins: np.ndarray
    draws: np.ndarray
    black_wins: np.ndarray

    @property
    def games(self) -> np.ndarray:
        """float64 [n, n], all results together."""
        total: np.ndarray = self.white_wins + self.draws + self.black_wins
        return total


class Derivatives(NamedTuple):
    """First and second derivatives by the parameters.

    Attributes:
        gradient: float64 [n + 2].
        information: float64 [n + 2, n + 2], minus the matrix of second derivatives.
    """

    gradient: np.ndarray
    information: np.ndarray


class Maximum(NamedTuple):
    """Where the likelihood is greatest.

    Attributes:
        parameters: float64 [n + 2], ratings of mean 0.
        steps: Newton steps it took.
    """

    parameters: np.ndarray
    steps: int


def with_prior(counts: Counts, prior: float) -> Counts:
    """Add BayesElo's virtual draws: prior / 2 for every player, spread over its opponents as its games are.

    They are entered for both players and half with each colour; two players who met only each other get
    `prior` draws in all.
    """
    met = counts.games + counts.games.T
    share = met / met.sum(axis=1, keepdims=True)
    return counts._replace(draws=counts.draws + prior / 4 * (share + share.T))


def log_likelihood(counts: Counts, parameters: np.ndarray) -> float:
    """Natural logarithm of the probability of the results, −inf where draws were seen and d <= 0."""
    white, black, draw = _logits(counts, parameters)
    drawn = counts.draws.sum()
    if drawn and draw <= 0:
        return -math.inf
    decided = (counts.white_wins + counts.draws) * _log_sigmoid(white)
    decided += (counts.black_wins + counts.draws) * _log_sigmoid(black)
    odds = drawn * (2 * draw + math.log(-math.expm1(-2 * draw))) if drawn else 0.0
    return float(decided.sum() + odds)


def derivatives(counts: Counts, parameters: np.ndarray) -> Derivatives:
    """Derivatives of `log_likelihood` where it is finite."""
    white, black, draw = _logits(counts, parameters)
    n = len(counts.draws)
    # Of the two kinds of terms, log f(D + a − d) and log f(−D − a − d): slope, and minus the curvature.
    white_slope = (counts.white_wins + counts.draws) * np.exp(_log_sigmoid(-white))
    black_slope = (counts.black_wins + counts.draws) * np.exp(_log_sigmoid(-black))
    white_bend = white_slope * np.exp(_log_sigmoid(white))
    black_bend = black_slope * np.exp(_log_sigmoid(black))

    gradient = np.empty(n + 2)
    by_margin = white_slope - black_slope  # by D + a of each pair and colour
    gradient[:n] = by_margin.sum(axis=1) - by_margin.sum(axis=0)
    gradient[n] = by_margin.sum()
    gradient[n + 1] = -white_slope.sum() - black_slope.sum()

    information = np.empty((n + 2, n + 2))
    bend, mixed = white_bend + black_bend, black_bend - white_bend
    both = bend + bend.T
    information[:n, :n] = np.diag(both.sum(axis=1)) - both
    information[:n, n] = information[n, :n] = bend.sum(axis=1) - bend.sum(axis=0)
    information[:n, n + 1] = information[n + 1, :n] = mixed.sum(axis=1) - mixed.sum(axis=0)
    information[n, n] = information[n + 1, n + 1] = bend.sum()
    information[n, n + 1] = information[n + 1, n] = mixed.sum()
    if drawn := counts.draws.sum():
        rest = -math.expm1(-2 * draw)
        gradient[n + 1] += 2 * drawn / rest
        information[n + 1, n + 1] += 4 * drawn * (1 - rest) / rest**2
    return Derivatives(_NATURAL * gradient, _NATURAL**2 * information)


def maximize(counts: Counts, advantage: float, draw: float, fit: Collection[str]) -> Maximum:
    """The ratings, and the parameters named in `fit`, of greatest likelihood.

    Args:
        counts: of a pool linked by games and, where the draw parameter is fitted, not of draws alone.
        advantage: a in Elo; of no effect where fitted.
        draw: d in Elo, above 0; of no effect where fitted.
        fit: of "advantage" and "draw". Without a single draw the fitted d is 0.

    Raises:
        UnboundedRatings: there is no maximum.
    """
    n = len(counts.draws)
    parameters, free = np.zeros(n + 2), np.ones(n + 2, bool)
    if "advantage" not in fit:
        parameters[n], free[n] = advantage, False
    if "draw" not in fit:
        parameters[n + 1], free[n + 1] = draw, False
    elif counts.draws.any():
        parameters[n + 1] = _FIRST_DRAW
    else:
        free[n + 1] = False
    value = log_likelihood(counts, parameters)
    for steps in range(1, _MAX_STEPS + 1):
        gradient, information = derivatives(counts, parameters)
        # Only differences of ratings matter. This makes the matrix invertible and keeps their mean at 0.
        information[:n, :n] += information[:n, :n].trace() / n**2
        inner = information[np.ix_(free, free)]
        spectrum = np.linalg.eigvalsh(inner)
        if spectrum[0] < _SINGULAR * spectrum[-1]:
            break
        step = np.zeros(n + 2)
        step[free] = np.linalg.solve(inner, gradient[free])
        longest = np.abs(step).max()
        while (after := log_likelihood(counts, parameters + step)) < value - 1e-12 * abs(value):
            step /= 2
        parameters, value = parameters + step, after
        if longest < _CONVERGED:
            return Maximum(parameters, steps)
    raise UnboundedRatings("the likelihood has no greatest value")


def rating_covariance(counts: Counts, parameters: np.ndarray) -> np.ndarray:
    """float64 [n, n] covariance of the ratings, in Elo²; rows and columns sum to 0.

    The inverse of the ratings' observed information on the ratings of mean 0. As in BayesElo a and d count as
    known, whether or not they were fitted.
    """
    n = len(counts.draws)
    information = derivatives(counts, parameters).information[:n, :n]
    weight = information.trace() / n**2  # of the mean, which the games do not tell
    covariance: np.ndarray = np.linalg.inv(information + weight) - 1 / (weight * n**2)
    return covariance


def _logits(counts: Counts, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """D + a − d and −D − a − d [n, n], and d, in natural-log units."""
    n = len(counts.draws)
    natural = _NATURAL * parameters
    ratings, advantage, draw = natural[:n], natural[n], float(natural[n + 1])
    margin = ratings[:, None] - ratings[None, :] + advantage
    return margin - draw, -margin - draw, draw


def _log_sigmoid(x: np.ndarray) -> np.ndarray:
    value: np.ndarray = -np.logaddexp(0.0, -x)
    return value
