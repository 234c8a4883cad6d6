"""Positions are drawn by how much the search changed the network's mind: held to sums over python floats."""

import math

import numpy as np
import pytest
from test_dataset import LINES, labelled

from searchless_rl.nets.evaluator import Evaluation
from searchless_rl.pretrain.dataset import positions_of
from searchless_rl.pretrain.surprise import LARGEST_WEIGHT, epoch_rows, surprises


def test_surprise_is_the_divergence_of_the_visits_from_the_prior():
    positions = positions_of([labelled(line, result) for line, result in LINES.values()])
    generator = np.random.default_rng(0)
    logits = generator.normal(0, 3, (len(positions), 1858)).astype(np.float32)
    asked = []

    def evaluate(planes):
        begin = sum(asked)
        asked.append(len(planes))
        return Evaluation(logits[begin : begin + len(planes)], np.zeros((len(planes), 3), np.float32))

    found = surprises(evaluate, positions)
    for row in range(len(positions)):
        own = slice(positions.legal.start[row], positions.legal.start[row + 1])
        score = [float(logits[row, move]) for move in positions.legal.index[own]]
        normal = math.log(sum(map(math.exp, score)))
        expected = sum(
            float(target) * (math.log(float(target)) - (value - normal))
            for target, value in zip(positions.target[own], score, strict=True)
            if target > 0
        )
        assert found[row] == pytest.approx(expected, rel=1e-5)


def test_an_epoch_holds_each_position_as_often_as_its_weight_says():
    surprise = np.array([0.0, 0.5, 1.0, 2.5, 400.0] + [1.0] * 95)
    weight = np.minimum(0.5 + 0.5 * surprise / surprise.mean(), LARGEST_WEIGHT)
    counts = np.mean([np.bincount(epoch_rows(surprise, 0.5, seed), minlength=100) for seed in range(800)], 0)
    np.testing.assert_allclose(counts, weight, atol=0.08)
    assert counts[4] == LARGEST_WEIGHT
    one, same, other = (epoch_rows(surprise, 0.5, seed) for seed in (3, 3, 4))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert (np.diff(one) >= 0).all()


def test_without_a_share_every_position_is_seen_once():
    assert epoch_rows(np.array([3.0, 0.0, 1.0]), 0.0, 0).tolist() == [0, 1, 2]
