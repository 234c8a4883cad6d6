"""Calibration of win/draw/loss forecasts: two numbers fitted by maximum likelihood, and scores of forecasts.

A forecast with logits l = (w, d, l) becomes softmax(a·l + (0, b, 0)): one scale for its confidence and one
offset for draws, the least change that can mend both. The log-likelihood is concave in (a, b).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_STEPS = 100
_TOLERANCE = 1e-10
_FLAT = 1e-7
"""A likelihood as flat as this has no maximum that the positions tell."""


class CalibrationError(ValueError):
    """Outcomes that two numbers cannot be fitted to."""


@dataclass(frozen=True)
class Calibration:
    """The change softmax(scale·logits + (0, draw, 0))."""

    scale: float
    draw: float

    def apply(self, logits: np.ndarray) -> np.ndarray:
        """float64 [N, 3] calibrated probabilities of logits [N, 3]."""
        return _softmax(self.scale * logits + np.array([0.0, self.draw, 0.0]))


def fit_calibration(logits: np.ndarray, outcomes: np.ndarray) -> Calibration:
    """The scale and the draw offset under which the outcomes are likeliest (Newton's method).

    Args:
        logits: float [N, 3] of win, draw, loss, for the side to move; log-probabilities will do.
        outcomes: int [N], 0 won, 1 drawn, 2 lost, for the side to move.

    Raises:
        CalibrationError: no positions, logits that are no numbers, an outcome that never occurs, forecasts
            that say nothing of the outcomes (a scale of 0 or less), or that never err (no maximum).
    """
    logits = np.asarray(logits, np.float64)
    if not len(logits):
        raise CalibrationError("there are no positions to calibrate on")
    if not np.isfinite(logits).all():
        raise CalibrationError("a forecast is not a finite number")
    counts = np.bincount(outcomes, minlength=3)
    if (counts == 0).any():
        raise CalibrationError(
            f"of {len(logits)} positions {counts[0]} were won, {counts[1]} drawn and {counts[2]} lost: all "
            "three must occur; play more games"
        )
    centred = logits - logits.mean(1, keepdims=True)
    if centred.std() <= _FLAT:
        raise CalibrationError("the forecasts are all alike")
    features = np.stack([centred, np.broadcast_to([0.0, 1.0, 0.0], centred.shape)], 2)
    (scale, draw), information = _maximize(features, outcomes)
    if scale * centred.std() <= _FLAT:
        raise CalibrationError(
            f"the fitted scale is {scale:.3g}: these forecasts say nothing of the outcomes"
        )
    own = np.diag(information)
    if own.min() < _FLAT or np.linalg.det(information) < _FLAT * own.prod():
        raise CalibrationError("no two numbers fit best: these forecasts are never wrong; play more games")
    return Calibration(scale, draw)


def _maximize(features: np.ndarray, outcomes: np.ndarray) -> tuple[tuple[float, float], np.ndarray]:
    """The likeliest numbers and the observed information there, float64 [2, 2], of one position.

    Args:
        features: float64 [N, 3, 2]: the logits are features @ numbers.
        outcomes: int [N].
    """
    theta = np.array([1.0, 0.0])
    value = _log_likelihood(features, outcomes, theta)
    for _ in range(_STEPS):
        probability = _softmax(features @ theta)
        expected = (probability[..., None] * features).sum(1)
        chosen = features[np.arange(len(outcomes)), outcomes]
        gradient = (chosen - expected).mean(0)
        spread = features - expected[:, None]
        information = np.einsum("nk,nki,nkj->ij", probability, spread, spread) / len(outcomes)
        step = np.linalg.solve(information + 1e-12 * np.eye(2), gradient)
        while (better := _log_likelihood(features, outcomes, theta + step)) < value - 1e-15:
            step /= 2
        theta, value = theta + step, better
        if np.abs(step).max() < _TOLERANCE:
            break
    return (float(theta[0]), float(theta[1])), information


def log_forecasts(wdl: np.ndarray) -> np.ndarray:
    """float64 [N, 3] logits of forecasts; a probability that has underflowed is the smallest float32."""
    return np.log(np.maximum(wdl.astype(np.float64), np.finfo(np.float32).tiny))


def brier(probability: np.ndarray, outcomes: np.ndarray) -> float:
    """Mean of Σ (p - y)² over the three outcomes, 0 to 2.

    Args:
        probability: float [N, 3].
        outcomes: int [N], 0 to 2.
    """
    return float(((probability - np.eye(3)[outcomes]) ** 2).sum(1).mean())


def log_loss(probability: np.ndarray, outcomes: np.ndarray) -> float:
    """Mean of -log p(outcome) in nats."""
    chosen = probability[np.arange(len(outcomes)), outcomes]
    return float(-np.log(np.maximum(chosen, np.finfo(np.float64).tiny)).mean())


def reliability(forecast: np.ndarray, score: np.ndarray, bins: int = 10) -> list[tuple[float, float, int]]:
    """Mean forecast, mean observed score and count of the bins of [0, 1] that are not empty.

    Args:
        forecast: float [N] expected scores, 0 to 1.
        score: float [N] observed ones: 1 won, 0.5 drawn, 0 lost.
        bins: of equal width.
    """
    place = np.minimum((forecast * bins).astype(np.int64), bins - 1)
    return [
        (float(forecast[place == one].mean()), float(score[place == one].mean()), int((place == one).sum()))
        for one in range(bins)
        if (place == one).any()
    ]


def cross_validated(
    logits: np.ndarray, outcomes: np.ndarray, groups: np.ndarray, folds: int = 5
) -> np.ndarray:
    """float64 [N, 3]: each position calibrated by numbers fitted without its fold of games.

    Args:
        logits: float [N, 3].
        outcomes: int [N].
        groups: int [N] the game of each position; game g is in fold g modulo `folds`.
        folds: >= 2.

    Raises:
        CalibrationError: see `fit_calibration`.
    """
    result = np.empty((len(logits), 3))
    for fold in range(folds):
        held_out = groups % folds == fold
        result[held_out] = fit_calibration(logits[~held_out], outcomes[~held_out]).apply(logits[held_out])
    return result


def _softmax(logits: np.ndarray) -> np.ndarray:
    weight = np.exp(logits - logits.max(1, keepdims=True))
    probability: np.ndarray = weight / weight.sum(1, keepdims=True)
    return probability


def _log_likelihood(features: np.ndarray, outcomes: np.ndarray, theta: np.ndarray) -> float:
    logits = features @ theta
    top = logits.max(1)
    normal = top + np.log(np.exp(logits - top[:, None]).sum(1))
    return float((logits[np.arange(len(outcomes)), outcomes] - normal).mean())
