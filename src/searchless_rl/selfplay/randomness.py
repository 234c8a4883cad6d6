"""Random numbers by address: nothing to save, nothing shared between games or processes."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What a stream of numbers is for; part of its address."""

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
