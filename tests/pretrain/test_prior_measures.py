"""Priors side by side: entropies position by position, the marks of a default base, tables and figure."""

import numpy as np
import pandas as pd
import pytest
import torch
from test_student import random_game

from searchless_rl.figures.priors import draw_priors
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.se_resnet import ConvHeadConfig, SEResNet, SEResNetConfig
from searchless_rl.pipeline.priors import marks
from searchless_rl.pretrain.dataset import positions_of
from searchless_rl.pretrain.priors import DECIDED, by_decidedness
from searchless_rl.reports.formats import Source
from searchless_rl.reports.priors import priors_table, write_decidedness, write_priors


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    torch.manual_seed(3)
    path = tmp_path_factory.mktemp("net") / "small.pb.gz"
    save_network(SEResNet(SEResNetConfig(filters=8, blocks=1, se_hidden=2, value=ConvHeadConfig(4, 8))), path)
    return path


def test_entropies_by_decidedness_are_means_over_the_positions_of_a_bin(network):
    positions = positions_of([random_game(seed, seed % 3 - 1) for seed in range(6)])
    frame = by_decidedness(positions, {"small": network})
    assert frame["positions"].sum() == len(positions)
    assert frame["share"].sum() == pytest.approx(1)
    module = load_network(network)
    for _, row in frame.iterrows():
        size = np.abs(positions.value)
        inside = np.flatnonzero((size >= row["low"]) & (size < row["high"]))
        assert len(inside) == row["positions"]
        if not len(inside):
            continue
        visits, entropy, tau = [], [], []
        for place in inside:
            own = slice(positions.legal.start[place], positions.legal.start[place + 1])
            target = positions.target[own].astype(float)
            visits.append(-(target * np.log(target)).sum())
            with torch.no_grad():
                out = module(torch.from_numpy(positions.encoded.planes(np.array([place]))))
            logits = out.policy[0].double().numpy()[positions.legal.index[own]]
            policy = np.exp(logits) / np.exp(logits).sum()
            entropy.append(-(policy * np.log(policy)).sum())
            wdl = out.wdl[0].double().numpy()
            tau.append(-(wdl * np.log(wdl)).sum())
        found = row["visits"], row["small_entropy"], row["small_tau"]
        assert found == pytest.approx([np.mean(visits), np.mean(entropy), np.mean(tau)], abs=1e-5)
    assert (frame["low"].tolist(), frame["high"].tolist()) == (list(DECIDED[:-1]), list(DECIDED[1:]))


def figures(accuracy, entropy, brier):
    suite = {"k": 7, "n": 20, "accuracy": accuracy, "low": 0.2, "high": 0.5, "entropy": entropy}
    suite |= {"geometric_mean": 0.05, "geometric_low": 0.04, "geometric_high": 0.06}
    value = {"brier_file": 1.0, "brier_calibrated": brier, "brier_constant": 0.6, "scale": 0.4, "draw": 5.0}
    return {"selection": suite, "main": suite, "hard": suite, "value": value}


def test_marks_say_what_is_met():
    found = marks(figures(0.35, 1.2, 0.6), -20.0)
    assert {name: mark["met"] for name, mark in found.items()} == {
        "accuracy on the main suite": True,
        "entropy at solver positions, nats": False,
        "Elo against its parent": True,
        "Brier out of sample": True,
    }
    assert not marks(figures(0.339, 1.4, 0.61), -21.0)["Elo against its parent"]["met"]


def test_tables_and_figure_are_written(tmp_path, pytestconfig, network):
    rated = pd.DataFrame(
        {
            "player": ["meangirl-8", "visits"],
            "elo": [0.0, -12.0],
            "elo_low": [0.0, -30.0],
            "elo_high": [0.0, 6.0],
        }
    ).assign(games=400)
    measured = {"meangirl-8": figures(0.28, 1.9, 0.58), "visits": figures(0.3, 1.8, 0.57)}
    table = priors_table(measured, rated, pytestconfig.rootpath / "data" / "paper")
    assert list(table["network"]) == ["meangirl-8", "visits", "bt4"]
    assert table.set_index("network").loc["bt4", "hard_geometric_mean"] == 0.199  # Table 4
    source = Source("meangirl-8", "pretrain")
    write_priors(table, tmp_path / "priors", source)
    text = (tmp_path / "priors.md").read_text()
    assert "−12 [−30, +6]" in text
    assert "visit counts of Lc0" in text
    positions = positions_of([random_game(seed, seed % 3 - 1) for seed in range(6)])
    frame = by_decidedness(positions, {"meangirl-8": network, "visits": network})
    write_decidedness(frame.dropna(), tmp_path / "decidedness", source, ["meangirl-8", "visits"])
    assert (tmp_path / "decidedness.tex").exists()
    draw_priors(frame, tmp_path / "priors", {"meangirl-8": "its prior", "visits": "the student"})
    assert (tmp_path / "priors.png").stat().st_size > 5000
