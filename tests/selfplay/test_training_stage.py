"""A cell as a stage: files, interruption, locks, determinism."""

import json

import numpy as np
import pytest
import torch

from searchless_rl.cells import Cell
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.selfplay.stage import train_cell
from searchless_rl.selfplay.warm_start import make_warm_start, play_warm_start, read_games, write_games

RESULTS = ("weights.pb.gz", "metrics.jsonl", "cell.json")


@pytest.fixture
def warm_start(tmp_path, micro, params):
    path = tmp_path / "warm_start" / "s0.json"
    make_warm_start(micro, path, games=params.games, full_moves=3, seed=0, batch_size=4)
    return path


def _train(cell, params, micro, warm_start, folder):
    train_cell(
        cell, params, base=micro, warm_start=warm_start, out=folder / "out", scratch=folder / "scratch"
    )
    return {name: (folder / "out" / name).read_bytes() for name in RESULTS}


def test_a_cell_writes_its_files_and_cleans_up(tmp_path, micro, params, warm_start, cell):
    _train(cell, params, micro, warm_start, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, params.steps + 1))
    assert abs(lines[0]["kl_base_policy"]) < 1e-6  # the base itself, but for rounding
    assert all(line["kl_base_policy"] > 0 for line in lines[1:])
    manifest = json.loads((tmp_path / "out" / "cell.json").read_text())
    assert manifest["cell"] == cell.id
    assert manifest["precision"] == "float32"
    assert manifest["params"] == params.model_dump()
    assert manifest["final"]["loss"] == lines[-1]["loss"]
    assert {path.name for path in (tmp_path / "scratch").iterdir()} == {"lock"}
    trained = load_network(tmp_path / "out" / "weights.pb.gz")
    base = load_network(micro)
    moved = [not torch.equal(a, b) for a, b in zip(trained.parameters(), base.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2


def test_the_ema_is_what_is_kept(tmp_path, micro, params, warm_start, cell):
    """An EMA too slow to move in float32 is the base, whatever the online network learns."""
    params = params.model_copy(update={"ema_decay": 1 - 1e-12})
    _train(cell, params, micro, warm_start, tmp_path)
    kept = load_network(tmp_path / "out" / "weights.pb.gz")
    for name, parameter in load_network(micro).named_parameters():
        torch.testing.assert_close(kept.get_parameter(name), parameter, rtol=0, atol=0, msg=name)


def test_two_runs_are_bit_identical_and_seeds_and_terms_differ(tmp_path, micro, params, warm_start, cell):
    first = _train(cell, params, micro, warm_start, tmp_path / "a")
    assert _train(cell, params, micro, warm_start, tmp_path / "b") == first
    for other in ("forward_kl-adaptive-0.01-s1", "forward_kl-fixed-0.01-s0", "none-adaptive-0-s0"):
        result = _train(Cell.parse(other), params, micro, warm_start, tmp_path / other)
        assert result["weights.pb.gz"] != first["weights.pb.gz"]


def test_a_start_that_failed_before_its_first_checkpoint_blocks_nothing(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    good = warm_start.read_text()
    warm_start.write_text('{"moves": [[99999]]}')
    with pytest.raises(ValueError, match=r"s0\.json: not a file of warm-start games"):
        _train(cell, params, micro, warm_start, tmp_path)
    warm_start.write_text(good)
    _train(cell, params, micro, warm_start, tmp_path)


def test_warm_start_games_do_not_depend_on_their_number_and_none_is_over(micro):
    evaluator = Evaluator(load_network(micro), batch_size=4)
    few, many = (play_warm_start(evaluator, count, 8, seed=5) for count in (5, 11))
    assert many.moves[:5] == few.moves
    assert not many.over.any()
    assert play_warm_start(evaluator, 11, 8, seed=6).moves != many.moves


def test_warm_start_lengths_are_uniform_full_moves(micro, monkeypatch):
    """Lengths 0, 2, ..., 2K plies, each as likely; White is to move."""
    evaluator = Evaluator(load_network(micro), batch_size=256)
    games = play_warm_start(evaluator, 600, 3, seed=1)
    counts = np.bincount(games.plies, minlength=7)
    assert counts[1::2].sum() == 0
    assert (np.abs(counts[::2] / 600 - 1 / 4) < 4 * np.sqrt(3 / 16 / 600)).all()
    assert games.is_white.all()


def test_warm_start_files_read_back_and_damage_is_named(tmp_path, micro):
    games = play_warm_start(Evaluator(load_network(micro), 4), 3, 4, seed=0)
    path = tmp_path / "s0.json"
    write_games(games, path)
    assert read_games(path).moves == games.moves
    np.testing.assert_array_equal(read_games(path).planes(), games.planes())
    path.write_text(path.read_text()[:-9])
    with pytest.raises(ValueError, match=r"s0\.json: not a file of warm-start games"):
        read_games(path)
