"""Tempered policies as ragged float64 arrays: what `selfplay.distributions` does in padded Torch rows."""

from __future__ import annotations

import numpy as np

from searchless_rl.board import LegalMoves


def wdl_entropy(wdl: np.ndarray) -> np.ndarray:
    """Entropy in nats, 0 to ln 3, of win/draw/loss probabilities [N, 3]: the adaptive τ (section 2.3)."""
    wide = wdl.astype(np.float64)
    return -(wide * np.log(wide, where=wide > 0, out=np.zeros_like(wide))).sum(1)


def temper(log_policy: np.ndarray, legal: LegalMoves, tau: np.ndarray) -> np.ndarray:
    """log μ with μ ∝ π^(1/τ) over the legal moves of each position (section 2.3).

    Args:
        log_policy: float64 [M] log π, aligned with `legal.index`.
        legal: legal moves of N positions, at least one each.
        tau: [N] temperatures >= 0; towards 0 the argmax (ties share), without overflow.

    Returns:
        float64 [M].
    """
    begin, row = legal.start[:-1], legal.row
    scores = log_policy - np.maximum.reduceat(log_policy, begin)[row]
    scores /= np.maximum(tau, 1e-8)[row]
    return scores - np.log(np.add.reduceat(np.exp(scores), begin))[row]
