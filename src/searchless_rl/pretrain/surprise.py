"""Which positions a student sees how often: more of those where the search changed the network's mind.

A position whose visits are what the prior said teaches little. With the share s its weight is
(1 - s) + s · KL(π‖p) / mean KL, π the visits and p the prior of the network that searched; an epoch holds
every position floor(weight) or ceil(weight) times, the mean of the draws being the weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.pretrain.dataset import Positions

LARGEST_WEIGHT = 20.0
_AT_ONCE = 2048
_STREAM = 21
"""First part of the address of the draws; the other is the seed."""


def surprises(
    evaluate: Evaluator, positions: Positions, progress: Callable[[int], Any] = lambda count: None
) -> np.ndarray:
    """float64 [N] KL(π‖p) in nats of the targets π and a network's policy p over legal moves.

    Args:
        evaluate: the network.
        positions: N of them.
        progress: called with the number of positions just done.
    """
    found = np.empty(len(positions))
    for begin in range(0, len(positions), _AT_ONCE):
        rows = np.arange(begin, min(begin + _AT_ONCE, len(positions)))
        part = positions.select(rows)
        logits = evaluate(part.encoded.planes(np.arange(len(rows)))).policy
        found[rows] = _divergence(part, logits)
        progress(len(rows))
    return found


def _divergence(part: Positions, logits: np.ndarray) -> np.ndarray:
    row, begins = part.legal.row, part.legal.start[:-1]
    score = logits[row, part.legal.index].astype(np.float64)
    score -= np.maximum.reduceat(score, begins)[row]
    log_policy = score - np.log(np.add.reduceat(np.exp(score), begins))[row]
    target = part.target.astype(np.float64)
    log_target = np.log(np.where(target > 0, target, 1))
    return np.add.reduceat(target * (log_target - log_policy), begins)


def epoch_rows(surprise: np.ndarray, share: float, seed: int) -> np.ndarray:
    """int64 [n] the positions of an epoch, in ascending order, each as often as its weight says.

    Args:
        surprise: float64 [N] of each position, >= 0, not all 0.
        share: 0 (every position once) to 1.
        seed: of the draws between floor and ceil.
    """
    weight = np.minimum((1 - share) + share * surprise / surprise.mean(), LARGEST_WEIGHT)
    drawn = np.random.default_rng([_STREAM, seed]).random(len(weight))
    return np.repeat(np.arange(len(weight)), np.floor(weight + drawn).astype(np.int64))
