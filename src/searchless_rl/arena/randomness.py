"""Random numbers by address for play and for samples: nothing to save, nothing shared between games."""

from __future__ import annotations

import hashlib
from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a stream of numbers is for; part of its address. Self-play has the numbers below 10."""

    ARENA = 11
    OPENING_SAMPLE = 12
    BOOK = 13
    SHAPE = 14
    SINGLE_GAME = 15


def generator(stream: Stream, seed: int, key: str = "") -> np.random.Generator:
    """A generator of its own for what `key` names, whatever else is drawn."""
    digest = hashlib.sha256(key.encode()).digest()[:16]
    return np.random.default_rng([int(stream), seed, int.from_bytes(digest, "big")])


def game_uniforms(stream: Stream, seed: int, game: str, plies: int) -> np.ndarray:
    """float64 [plies] in [0, 1): one number per ply of a game.

    They depend on (stream, seed, game, ply) alone, so that a game is the same whatever runs beside it.

    Args:
        stream: what the game is for.
        seed: of the whole.
        game: what tells the game from the others of its stream.
        plies: how many; a larger number continues the same sequence.
    """
    return generator(stream, seed, game).random(plies)
