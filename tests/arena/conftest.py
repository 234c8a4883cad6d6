"""Small random networks, players, openings and one arena they played."""

import pytest
import torch
from small_arenas import OPENINGS, arena

from searchless_rl.arena.openings import write_openings
from searchless_rl.arena.players import Player
from searchless_rl.lc0 import load_network, save_network


@pytest.fixture(scope="session")
def weights(tmp_path_factory, pytestconfig):
    """Three small random networks that disagree."""
    folder = tmp_path_factory.mktemp("networks")
    paths = []
    for seed in range(3):
        network = load_network(pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz")
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                spread = parameter.std(correction=0) if parameter.numel() > 1 else 0.0
                parameter += 0.3 * spread * torch.randn(parameter.shape, generator=generator)
        paths.append(folder / f"{'abc'[seed]}.pb.gz")
        save_network(network, paths[-1])
    return paths


@pytest.fixture
def players(weights):
    """Every kind of player; three share a network."""
    return [
        Player("argmax-a", weights[0]),
        Player("argmax-b", weights[1]),
        Player("raw-b", weights[1], 1.0),
        Player("adaptive-b", weights[1], "adaptive"),
    ]


@pytest.fixture
def openings(tmp_path):
    write_openings(tmp_path / "openings.csv", OPENINGS)
    return tmp_path / "openings.csv"


@pytest.fixture(scope="session")
def played(weights, tmp_path_factory):
    """One arena of argmax players and its results, for several tests."""
    folder = tmp_path_factory.mktemp("played")
    write_openings(folder / "openings.csv", OPENINGS)
    listed = [Player(name, path) for name, path in zip("abc", weights, strict=True)]
    frame = arena(listed, folder / "openings.csv", folder / "out", games=6, base="a", games_against_base=8)
    return listed, frame, folder / "out"
