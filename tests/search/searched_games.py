"""Networks without weights, and random games, for the tests of the search."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from searchless_rl.board import GameBatch
from searchless_rl.nets.evaluator import Evaluation


class FakeNetwork:
    """Outputs that depend on the planes in a way that is exact in any batch; counts what it is asked."""

    def __init__(self, seed=0, sharpness=4.0):
        generator = np.random.default_rng(seed)
        self.policy = (generator.standard_normal((112, 1858)) * sharpness / 8).astype(np.float32)
        self.value = generator.standard_normal(112).astype(np.float32)
        self.asked = 0

    def __call__(self, planes):
        self.asked += len(planes)
        features = np.array([plane[:, ::2, 1::3].sum((1, 2)) for plane in planes]) % 3
        rows = [(row[:, None] * self.policy).sum(0) for row in features]
        values = [float(np.tanh((row * self.value).sum() / 8)) for row in features]
        wdl = np.array([[(1 + v) / 2, 0, (1 - v) / 2] for v in values], np.float32)
        return Evaluation(np.array(rows, np.float32).reshape(-1, 1858), wdl.reshape(-1, 3))


def uniform(planes):
    """A network that knows nothing."""
    count = len(planes)
    return Evaluation(np.zeros((count, 1858), np.float32), np.full((count, 3), 1 / 3, np.float32))


def hopeful(planes):
    """A network for which every side to move is winning, whatever the position."""
    count = len(planes)
    wdl = np.tile(np.array([0.875, 0.0, 0.125], np.float32), (count, 1))
    return Evaluation(np.zeros((count, 1858), np.float32), wdl)


def random_lines(count, longest, seed):
    """Lines of random legal moves as UCI, of several lengths."""
    generator = np.random.default_rng(seed)
    games, lines = GameBatch([None] * count), [[] for _ in range(count)]
    lengths = generator.integers(0, longest, count)
    for ply in range(longest):
        rows = np.array([r for r in range(count) if ply < lengths[r] and not games.over[r]], np.int64)
        if len(rows):
            legal = games.legal(rows)
            picks = [generator.choice(legal.index[a:b]) for a, b in pairwise(legal.start)]
            for row, pick in zip(rows.tolist(), picks, strict=True):
                lines[row].append(games.uci(row, pick))
            games.step(rows, np.array(picks))
    return lines


def batch(lines, fens=None):
    games = GameBatch(fens or [None] * len(lines))
    games.play(lines)
    return games


def counts(result, row):
    part = result.line(row)
    return dict(zip(result.move[part].tolist(), result.visits[part].tolist(), strict=True))
