"""A cell on each kind of prior: people's moves, a scalar value head, a search's visits, the paper's family.

The networks are small ones with random weights, of the families that the real ones have.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
import random_networks
import torch
from made_up_games import made_up_games

from searchless_rl.cells import Cell
from searchless_rl.lc0 import describe, load_network
from searchless_rl.params import CalibrationParams, load_params
from searchless_rl.pipeline import calibrate
from searchless_rl.pretrain.records import read_shard, shards, write_shard
from searchless_rl.pretrain.settings import StudentParams, VisitParams
from searchless_rl.pretrain.stage import make_visits
from searchless_rl.pretrain.student_stage import train_student
from searchless_rl.selfplay.stage import train_cell
from searchless_rl.selfplay.warm_start import make_warm_start

CELL = Cell.parse("forward_kl-adaptive-0.01-s0")
VISITS = {
    **{"seed": 0, "games": 8, "games_per_shard": 4, "opening_plies": 4, "sampled_plies": 4, "max_plies": 10},
    **{"search": {"simulations": 4, "c_puct": 1.5, "unvisited_reduction": 0.25}, "precision": "float32"},
    **{"slots": 4, "batch_size": 8, "processes": 1},
}
STUDENT = {
    **{"filters": 20, "blocks": 2, "se_hidden": 4, "seed": 0, "steps": 4, "batch_size": 8},
    **{"learning_rate": 1e-3, "weight_decay": 1e-4, "warmup_steps": 2, "value_coefficient": 1.0},
    **{"outcome_share": 0.5, "surprise_share": 0.5, "validation_every": 4, "checkpoint_every": 4},
    **{"precision": "float32"},
}


def of_people(folder):
    """Maia's family: convolutions, win/draw/loss."""
    return random_networks.write(random_networks.conv_network(), folder / "people.pb.gz")


def of_a_scalar_head(folder):
    """The family of Mean Girl: convolutions, one value."""
    return random_networks.write(random_networks.conv_network(1, value=1), folder / "scalar.pb.gz")


def with_result(game, result):
    """The game as if it had ended so, and the search had felt it: random weights mate too rarely."""
    sign = (-1.0) ** game.plies.astype(float)  # White moves first
    return replace(game, result=result, values=(0.5 * game.values + 0.4 * result * sign).astype(np.float32))


def of_visits(folder):
    """A student distilled from games that another network played by tree search."""
    parent = random_networks.write(random_networks.conv_network(2), folder / "parent.pb.gz")
    make_visits(VisitParams(base=str(parent), **VISITS), folder / "downloads", folder / "games")
    for path in shards(folder / "games"):
        played = [with_result(game, number % 3 - 1) for number, game in enumerate(read_shard(path))]
        write_shard(path, played, {})
    out = folder / "student"
    train_student(
        StudentParams(**STUDENT), base=parent, games=folder / "games", out=out, scratch=folder / "scratch"
    )
    return out / "weights.pb.gz"


def of_the_paper(folder):
    """BT4's family: attention."""
    return random_networks.write(random_networks.attention_network(3), folder / "attention.pb.gz")


@pytest.mark.parametrize("value", ["file", "calibrated"])
@pytest.mark.parametrize("make", [of_people, of_a_scalar_head, of_visits, of_the_paper])
def test_a_cell_is_trained_on_it(make, value, tmp_path, monkeypatch, pytestconfig):
    monkeypatch.setattr(calibrate, "sample_games", made_up_games)
    fetched, base = make(tmp_path), tmp_path / "base" / "base.pb.gz"
    base.parent.mkdir()
    calibrate.calibrate_base(
        fetched,
        base,
        apply=value == "calibrated",
        params=CalibrationParams(games=20, seed=0, batch_size=32),
        max_plies=64,
        show_progress=False,
    )
    smoke = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml").selfplay
    params = smoke.model_copy(update={"steps": 3, "precision": "float32"})
    warm_start, out = tmp_path / "warm_start.json", tmp_path / "out"
    make_warm_start(base, warm_start, games=params.games, full_moves=3, seed=0, batch_size=8)
    train_cell(CELL, params, base=base, warm_start=warm_start, out=out, scratch=tmp_path / "cell")
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert all(np.isfinite(list(line.values())).all() for line in lines)
    assert lines[-1]["kl_base_policy"] > 0
    found = describe(out / "weights.pb.gz")
    assert (found["format"]["value"], found["unsupported"]) == ("WDL", None)
    moved = torch.cat([p.flatten() for p in load_network(out / "weights.pb.gz").value.parameters()])
    start = torch.cat([p.flatten() for p in load_network(base).value.parameters()])
    assert not torch.equal(moved, start)
