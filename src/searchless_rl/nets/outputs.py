"""What every policy-value network returns."""

from __future__ import annotations

from typing import NamedTuple

import torch


class NetOutput(NamedTuple):
    """One forward pass over B positions, everything from the point of view of the side to move.

    Tensors are float32, also under autocast (float64 for a network converted with ``.double()``).
    """

    policy: torch.Tensor
    """[B, 1858] raw logits of all move indices, legal or not, in the mover's frame."""
    wdl: torch.Tensor
    """[B, 3] probabilities of win, draw, loss; q of Lc0 is win - loss, its d is draw."""
    moves_left: torch.Tensor | None
    """[B] predicted plies to the end of the game, >= 0; None where the network has no such head."""
    value_logits: torch.Tensor
    """[B, 3] what ``wdl`` is the softmax of."""
