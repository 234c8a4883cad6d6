"""Games whose outcomes two known numbers made, in place of those that a network plays with itself."""

import numpy as np

from searchless_rl.evaluation.sampled_games import Forecasts
from searchless_rl.pipeline.calibrate import log_forecasts
from searchless_rl.statistics.calibration import Calibration

MADE_WITH = Calibration(2.5, 1.0)


def made_up_games(evaluator, count, *, seed, max_plies, progress):
    """Real forecasts of a network with random weights, and outcomes that two known numbers made of them."""
    generator = np.random.default_rng(seed)
    wdl = evaluator(generator.random((50 * count, 112, 8, 8), np.float32)).wdl
    logits = log_forecasts(wdl)
    spread = (logits - logits.mean(0)) / logits.std(0)
    wdl = Calibration(1, 0).apply(spread).astype(np.float32)
    chance = MADE_WITH.apply(spread)
    outcome = (generator.random(len(wdl))[:, None] > np.cumsum(chance, 1)).sum(1).clip(max=2)
    game = np.repeat(np.arange(count), 50)
    progress(count)
    return Forecasts(game, np.tile(np.arange(50), count), wdl, outcome)
