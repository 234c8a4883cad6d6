"""Move distributions over legal moves only, in float32 log space, and the random numbers of their draws.

A position's L legal moves sit in columns 0..L-1 of a padded row; padding has log-probability 0 and is
taken out by the mask, so that nothing is infinite and no gradient is NaN. Random numbers have addresses:
there is no state to save, and nothing that games or processes share.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import torch
from torch import Tensor

from searchless_rl.board import LegalMoves


@dataclass(frozen=True)
class LegalRows:
    """Legal moves of B positions as padded rows.

    Attributes:
        index: int64 [B, L] policy indices, 0 in the padding.
        mask: bool [B, L], True at legal moves.
    """

    index: Tensor
    mask: Tensor

    @classmethod
    def of(cls, legal: LegalMoves, device: torch.device | str = "cpu") -> LegalRows:
        """The padded rows of a batch of positions, each with at least one legal move."""
        counts = np.diff(legal.start)
        column = np.arange(len(legal.index)) - legal.start[legal.row]
        index = np.zeros((len(counts), int(counts.max())), np.int64)
        mask = np.zeros(index.shape, bool)
        index[legal.row, column] = legal.index
        mask[legal.row, column] = True
        return cls(torch.from_numpy(index).to(device), torch.from_numpy(mask).to(device))

    def log_policy(self, logits: Tensor) -> Tensor:
        """float32 [B, L] log-probabilities of the legal moves from raw logits [B, 1858] (float64 is kept)."""
        wide = logits if logits.dtype == torch.float64 else logits.float()
        return log_normalize(wide.gather(1, self.index), self.mask)

    def column(self, action: Tensor) -> Tensor:
        """int64 [B] column of the moves in columns `action`: itself (`MergedRows` has others)."""
        return action


def log_normalize(scores: Tensor, mask: Tensor) -> Tensor:
    """Log-softmax over the masked columns of [B, L] scores; 0 elsewhere."""
    normal: Tensor = torch.log_softmax(scores.masked_fill(~mask, -torch.inf), dim=1)
    return normal.masked_fill(~mask, 0.0)


def entropy(log_policy: Tensor, mask: Tensor) -> Tensor:
    """H(π) = −Σ π log π in nats, [B] (paper section 2.1)."""
    return -(log_policy.exp() * log_policy * mask).sum(1)


def kl_divergence(log_p: Tensor, log_q: Tensor, mask: Tensor) -> Tensor:
    """KL(p‖q) = Σ p log(p/q) in nats, [B]: the expectation under the first argument (paper section 2.2)."""
    return (log_p.exp() * (log_p - log_q) * mask).sum(1)


def wdl_entropy(wdl: Tensor) -> Tensor:
    """τ(s) = H(p(s)) in nats, 0 to ln 3, of win/draw/loss probabilities [B, 3] (paper equation 5), [B]."""
    total: Tensor = torch.special.entr(wdl).sum(1)
    return total


def temper(log_policy: Tensor, mask: Tensor, tau: Tensor) -> Tensor:
    """Behavior policy μ ∝ π^(1/τ) as log μ, [B, L] (paper equation 6).

    Args:
        log_policy: [B, L] log π.
        mask: bool [B, L].
        tau: [B] temperatures >= 0; towards 0 the argmax (ties share), without overflow.
    """
    top = log_policy.masked_fill(~mask, -torch.inf).amax(1, keepdim=True)
    return log_normalize((log_policy - top) / tau.clamp(min=1e-8)[:, None], mask)


class Stream(IntEnum):
    """What a stream of random numbers is for; part of its address."""

    WARM_START_LENGTH = 1
    WARM_START_MOVES = 2
    SELF_PLAY = 3
    ROOT_LENGTH = 4
    ROOT_MOVES = 5


def uniforms(stream: Stream, seed: int, step: int, count: int, ply: int | None = None) -> np.ndarray:
    """float64 [count] in [0, 1): the numbers of one step, game by game.

    They depend on (stream, seed, step, ply where there are several in a step) and the game's place alone, so
    that a run that is interrupted and resumed, or split over processes, draws the same.
    """
    address = [int(stream), seed, step] + ([] if ply is None else [ply])
    return np.random.default_rng(address).random(count)


def sample(log_mu: Tensor, mask: Tensor, uniform: np.ndarray) -> Tensor:
    """One column per row by inverting the cumulative distribution.

    Args:
        log_mu: [B, L] log-probabilities.
        mask: bool [B, L].
        uniform: float64 [B] in [0, 1), one number per game, so that a game's moves do not depend on how
            many games share the batch.

    Returns:
        int64 [B] columns.
    """
    cumulative = (log_mu.double().exp() * mask).cumsum(1)
    total = cumulative[:, -1:]
    threshold = torch.from_numpy(uniform).to(log_mu.device)[:, None] * total
    # Never past the last move that has mass, even where the product rounds up to the whole sum.
    return ((cumulative <= threshold) & (cumulative < total)).sum(1)


def prior_coverage(log_policy: Tensor, log_base: Tensor, mask: Tensor, moves: int = 5) -> Tensor:
    """The policy's mass on the base's `moves` most likely moves, [B] (cov5 of paper Table 5)."""
    ranked = log_base.masked_fill(~mask, -torch.inf)
    best = ranked.topk(min(moves, mask.shape[1]), dim=1).indices
    return (log_policy.exp() * mask).gather(1, best).sum(1)
