"""The study's arenas on small random networks: who plays, and what the tempered bases must not change."""

import shutil

import pandas as pd
import pytest
import torch

from searchless_rl.arena.openings import Opening, write_openings
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.params import load_params
from searchless_rl.pipeline.arenas import run_study_arena
from searchless_rl.reports.strength import read_games
from searchless_rl.reports.table5 import read_shapes, table5
from searchless_rl.results.names import ARMS

LINES = (("e2e4", "e7e5"), ("d2d4", "d7d5"))


@pytest.fixture(scope="module")
def data(tmp_path_factory, pytestconfig):
    """The base and eight arms, which all differ."""
    folder = tmp_path_factory.mktemp("data")
    micro = pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
    (folder / "base").mkdir()
    (folder / "headline").mkdir()
    shutil.copy(micro, folder / "base" / "base.pb.gz")
    for seed, arm in enumerate(ARMS):
        network = load_network(micro)
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in network.parameters():
                spread = parameter.std(correction=0) if parameter.numel() > 1 else 0.0
                parameter += 0.2 * spread * torch.randn(parameter.shape, generator=generator)
        save_network(network, folder / "headline" / f"{arm}.pb.gz")
    write_openings(folder / "openings.csv", [Opening(f"x:{n}", None, line) for n, line in enumerate(LINES)])
    return folder


def _sampled(data, scratch, params, temperatures):
    arena = params.arena.model_copy(
        update={
            "base_temperatures": temperatures,
            "sampled_games": 4,
            "shape_positions": 30,
            "max_plies": 30,
        }
    )
    settings = params.model_copy(update={"arena": arena})
    run_study_arena("sampled", settings, data, data / "openings.csv", scratch=scratch)
    out = data / "arena" / "sampled"
    games = pd.read_parquet(out / "games.parquet")
    return games, read_shapes(out), table5(read_games(out), read_shapes(out)), (out / "games.pgn").read_text()


def test_the_closed_pool_of_table5_is_the_papers_ten_and_no_tempered_base_changes_it(
    data, tmp_path, pytestconfig
):
    """45 pairs; the ten's games, positions and ratings are the same to the bit beside the others."""
    params = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml")
    games, shapes, table, pgn = _sampled(data, tmp_path / "scratch", params, [])
    more_games, more_shapes, more_table, more_pgn = _sampled(data, tmp_path / "scratch", params, [0.8, 0.6])
    ten = ["base-raw", "base-mu", *ARMS]
    pairs = {frozenset(pair) for pair in games[["white", "black"]].itertuples(index=False)}
    assert set().union(*pairs) == set(ten)
    assert len(pairs) == 45
    assert len(games) == 45 * 4
    inside = more_games[more_games["white"].isin(ten) & more_games["black"].isin(ten)]
    pd.testing.assert_frame_equal(inside, games)
    assert more_pgn.startswith(pgn)
    others = more_games.drop(inside.index)
    assert len(others) == 2 * 10 * 4
    assert set(others["white"]) | set(others["black"]) == {*ten, "base-0.8", "base-0.6"}
    assert not (others["white"].isin(ten) == others["black"].isin(ten)).any()
    pd.testing.assert_frame_equal(more_shapes[:10].reset_index(drop=True), shapes)
    assert more_table["player"].tolist() == [*ten, "base-0.6", "base-0.8"]
    assert more_table["pool"].tolist() == ["closed"] * 10 + ["apart"] * 2
    pd.testing.assert_frame_equal(more_table[:10], table)
    assert more_table["elo"].notna().all()
    assert more_table["games"].tolist() == [36] * 10 + [40] * 2
