"""The tempered policy against that of self-play."""

import numpy as np
import torch

from searchless_rl.board import GameBatch
from searchless_rl.evaluation.policy import log_probabilities
from searchless_rl.evaluation.temperature import temper, wdl_entropy
from searchless_rl.selfplay import distributions


def test_the_ragged_temperature_is_the_one_of_self_play():
    games = GameBatch([None, "7k/8/5K2/6Q1/8/8/8/8 b - - 0 1", "8/P6k/8/8/8/8/8/K7 w - - 0 1"])
    legal = games.legal()
    logits = 20 * np.random.default_rng(1).standard_normal((3, 1858)).astype(np.float32)
    rows = distributions.LegalRows.of(legal)
    log_policy = rows.log_policy(torch.from_numpy(logits).double())
    for tau in (1.0986, 1.0, 0.3, 1e-3, 1e-9, 0.0):
        temperature = np.full(3, tau)
        expected = distributions.temper(log_policy, rows.mask, torch.from_numpy(temperature))
        found = temper(log_probabilities(logits, legal), legal, temperature)
        np.testing.assert_allclose(found, expected[rows.mask].numpy(), rtol=1e-9, atol=1e-12)


def test_zero_temperature_is_the_argmax_and_ties_share():
    legal = GameBatch([None, None]).legal()
    log_policy = np.log(np.full(40, 1e-4))
    log_policy[[3, 20, 31]] = 0.5, 0.2, 0.2
    mu = np.exp(temper(log_policy, legal, np.zeros(2)))
    assert np.flatnonzero(mu).tolist() == [3, 20, 31]
    assert mu[[3, 20, 31]].tolist() == [1.0, 0.5, 0.5]


def test_wdl_entropy_is_the_one_of_self_play():
    wdl = np.array([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0], [0.7, 0.2, 0.1]])
    expected = distributions.wdl_entropy(torch.from_numpy(wdl)).numpy()
    np.testing.assert_allclose(wdl_entropy(wdl), expected, rtol=1e-14)
