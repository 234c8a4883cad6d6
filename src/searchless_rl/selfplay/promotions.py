"""The released trainer's reading of promotions: one from-to slot for four moves.

In Lc0's policy head the logit of a queen, rook or bishop promotion is that of the from-to pair, l, plus an
offset of the piece; the knight's is l itself. The released losses add all offsets to the one slot:
l + q + r + b. The sampler and the importance weight keep four moves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from searchless_rl.board import MOVES, POLICY_SIZE
from searchless_rl.selfplay.distributions import LegalRows, log_normalize

_INDEX = {move: index for index, move in enumerate(MOVES)}
_FROM_TO = np.array([_INDEX[move[:4]] for move in MOVES])
"""int64 [1858] policy index of each move's from-to pair; its own but for three promotions."""


@dataclass(frozen=True)
class MergedRows:
    """Legal moves of B positions with the promotions of a from-to pair in one slot.

    Attributes:
        moves: the legal moves themselves.
        slot: int64 [B, L] column of each move's slot, which is the knight promotion's.
        weight: [B, L] share of each move's logit in its slot: l + q + r + b = l_q + l_r + l_b − 2·l.
        mask: bool [B, L], True at slots.
    """

    moves: LegalRows
    slot: Tensor
    weight: Tensor
    mask: Tensor

    @classmethod
    def of(cls, moves: LegalRows) -> MergedRows:
        """Slots of padded legal moves, whose indices ascend in each row."""
        index, mask = moves.index.cpu().numpy(), moves.mask.cpu().numpy()
        column = np.broadcast_to(np.arange(index.shape[1]), index.shape)
        column_of = np.zeros((len(index), POLICY_SIZE), np.int64)
        row = np.nonzero(mask)[0]
        column_of[row, index[mask]] = column[mask]
        slot = np.where(mask, np.take_along_axis(column_of, _FROM_TO[index], 1), column)
        is_slot = mask & (slot == column)
        weight = mask.astype(np.float32)
        np.subtract.at(weight, (row, slot[mask]), (~is_slot[mask]).astype(np.float32))
        device = moves.index.device
        return cls(moves, *(torch.from_numpy(part).to(device) for part in (slot, weight, is_slot)))

    def log_policy(self, logits: Tensor) -> Tensor:
        """float32 [B, L] log-probabilities of the slots from raw logits [B, 1858]; 0 elsewhere."""
        wide = logits if logits.dtype == torch.float64 else logits.float()
        scores = wide.gather(1, self.moves.index) * self.weight.to(wide.dtype)
        return log_normalize(torch.zeros_like(scores).scatter_add(1, self.slot, scores), self.mask)

    def column(self, action: Tensor) -> Tensor:
        """int64 [B] slot column of the moves in columns `action`."""
        return self.slot.gather(1, action[:, None]).squeeze(1)
