"""Schedules and the EMA in closed form."""

import pytest
import torch
from torch import nn

from searchless_rl.selfplay.optimizer import beta_at, update_ema, warmup_factor


def test_warm_up_reaches_the_peak_at_its_last_step():
    assert [warmup_factor(step, 4) for step in range(7)] == [0.25, 0.5, 0.75, 1, 1, 1, 1]
    assert [warmup_factor(step, 0) for step in range(3)] == [1, 1, 1]


def test_beta_is_linear_to_its_final_share_at_the_last_step(params):
    params = params.model_copy(update={"steps": 5, "beta_final": 0.2})
    assert [beta_at(step, 0.5, params) for step in range(5)] == pytest.approx([0.5, 0.4, 0.3, 0.2, 0.1])
    constant = params.model_copy(update={"beta_final": 1.0})
    assert {beta_at(step, 0.5, constant) for step in range(5)} == {0.5}
    assert beta_at(0, 0.5, params.model_copy(update={"steps": 1})) == 0.5


def test_ema_averages_parameters_and_copies_buffers():
    ema, online = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
    with torch.no_grad():
        online.weight.fill_(5.0)
        online.running_mean.fill_(7.0)
    update_ema(ema, online, 0.75)
    assert ema.weight.tolist() == [2.0] * 3  # 0.75 · 1 + 0.25 · 5
    assert ema.running_mean.tolist() == [7.0] * 3
    assert online.weight.tolist() == [5.0] * 3
