"""Lc0's 112 input planes (input format 1, classical) from bitboards.

Plane 13*i + k, i = 0..7 plies back, all seen by the side to move now: k = 0..5 own pawns, knights,
bishops, rooks, queens, king; 6..11 the opponent's; 12 all ones if that position had occurred before.
104 / 105 own queenside / kingside castling right, 106 / 107 the opponent's, 108 all ones if Black is to
move, 109 the half-move clock (raw), 110 zeros, 111 ones. Row 0 is the mover's first rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

HISTORY = 8
PLANES = 112


@dataclass(frozen=True)
class Encoded:
    """What N positions' planes are made of, about 800 bytes a position (planes: 28,672).

    Attributes: the arguments of `encode_planes`.
    """

    frames: np.ndarray
    repeated: np.ndarray
    castling: np.ndarray
    clock: np.ndarray
    is_white: np.ndarray

    def __len__(self) -> int:
        return len(self.frames)

    def planes(self, rows: np.ndarray) -> np.ndarray:
        """float32 [n, 112, 8, 8] of some rows."""
        return encode_planes(*(part[rows] for part in self._parts()))

    def select(self, rows: np.ndarray) -> Encoded:
        """Some rows, in their order."""
        return Encoded(*(part[rows] for part in self._parts()))

    @classmethod
    def concatenate(cls, parts: Sequence[Encoded]) -> Encoded:
        """The rows of all parts, one part after the other."""
        return cls(*(np.concatenate(columns) for columns in zip(*(p._parts() for p in parts), strict=True)))

    def _parts(self) -> tuple[np.ndarray, ...]:
        return self.frames, self.repeated, self.castling, self.clock, self.is_white


def encode_planes(
    frames: np.ndarray, repeated: np.ndarray, castling: np.ndarray, clock: np.ndarray, is_white: np.ndarray
) -> np.ndarray:
    """Planes of a batch of positions.

    Args:
        frames: uint64 [N, 8, 12] bitboards, newest first, White's pieces then Black's.
        repeated: bool [N, 8]: that frame's position had occurred before in the game.
        castling: bool [N, 4]: White kingside, White queenside, Black kingside, Black queenside.
        clock: int [N] half-moves since a capture or pawn move.
        is_white: bool [N]: White is to move.

    Returns:
        float32 [N, 112, 8, 8].
    """
    count = len(frames)
    is_black = ~is_white
    own_first = frames.copy()
    # Flipping the ranks of a bitboard is reversing its bytes.
    own_first[is_black] = np.roll(frames[is_black], 6, axis=2).byteswap()
    planes = np.zeros((count, PLANES, 64), np.float32)
    history = planes[:, : 13 * HISTORY].reshape(count, HISTORY, 13, 64)
    octets = own_first.astype("<u8", copy=False).view(np.uint8)
    history[:, :, :12] = np.unpackbits(octets, axis=-1, bitorder="little").reshape(count, HISTORY, 12, 64)
    history[:, :, 12] = repeated[:, :, None]
    own_castling = np.where(is_white[:, None], castling, castling[:, [2, 3, 0, 1]])
    planes[:, 104:108] = own_castling[:, [1, 0, 3, 2], None]
    planes[:, 108] = is_black[:, None]
    planes[:, 109] = clock[:, None]
    planes[:, 111] = 1
    return planes.reshape(count, PLANES, 8, 8)
