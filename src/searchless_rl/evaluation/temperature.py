"""Tempered policies as ragged float64 arrays: what `selfplay.distributions` does in padded Torch rows."""

from __future__ import annotations

import numpy as np

from searchless_rl.board import LegalMoves

COLDEST = 1e-8
"""Temperatures below are taken as this one: the argmax, without overflow."""


def wdl_entropy(wdl: np.ndarray) -> np.ndarray:
    """The adaptive temperature τ(s) of section 2.3: entropy in nats of win/draw/loss probabilities.

    Args:
        wdl: [N, 3] probabilities.

    Returns:
        float64 [N] in 0 to ln 3.
    """
    wide = wdl.astype(np.float64)
    entropy: np.ndarray = -(wide * np.log(np.where(wide > 0, wide, 1.0))).sum(1)
    return entropy


def temper(log_policy: np.ndarray, legal: LegalMoves, tau: np.ndarray) -> np.ndarray:
    """Log-probabilities of the behavior policy μ ∝ π^(1/τ) (section 2.3), float64 [M].

    Args:
        log_policy: float64 [M] log-probabilities of the legal moves of N positions.
        legal: these moves.
        tau: float64 [N] temperatures >= 0; towards 0 the argmax (ties share), without overflow; at 1 the
            policy itself, to the bit.
    """
    first = legal.start[:-1]
    top = np.maximum.reduceat(log_policy, first)
    scores = (log_policy - top[legal.row]) / np.maximum(tau, COLDEST)[legal.row]
    scores -= np.log(np.add.reduceat(np.exp(scores), first))[legal.row]
    return np.where((tau == 1)[legal.row], log_policy, scores)
