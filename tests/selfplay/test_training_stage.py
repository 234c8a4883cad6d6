"""A cell as a stage: files, interruption, locks, determinism."""

import json
import os

import numpy as np
import pytest
import torch
from cell_runs import at_step, train

from searchless_rl.cells import Cell
from searchless_rl.lc0 import load_network
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.selfplay import stage
from searchless_rl.selfplay.guards import TrainingFailure
from searchless_rl.selfplay.warm_start import play_warm_start, read_games, write_games
from searchless_rl.unfinished import Busy, drop_results, exclusive


def test_a_cell_writes_its_files_and_cleans_up(tmp_path, micro, params, warm_start, cell):
    train(cell, params, micro, warm_start, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, params.steps + 1))
    assert abs(lines[0]["kl_base_policy"]) < 1e-6  # the base itself, but for rounding
    assert all(line["kl_base_policy"] > 0 for line in lines[1:])
    manifest = json.loads((tmp_path / "out" / "cell.json").read_text())
    assert manifest["cell"] == cell.id
    assert manifest["precision"] == "float32"
    assert manifest["params"] == params.model_dump()
    assert manifest["final"]["loss"] == lines[-1]["loss"]
    assert {path.name for path in (tmp_path / "scratch").iterdir()} == {"lock", "finished"}
    trained = load_network(tmp_path / "out" / "weights.pb.gz")
    base = load_network(micro)
    moved = [not torch.equal(a, b) for a, b in zip(trained.parameters(), base.parameters(), strict=True)]
    assert sum(moved) > len(moved) / 2


def test_the_ema_is_what_is_kept(tmp_path, micro, params, warm_start, cell):
    """An EMA too slow to move in float32 is the base, whatever the online network learns."""
    params = params.model_copy(update={"ema_decay": 1 - 1e-12})
    train(cell, params, micro, warm_start, tmp_path)
    kept = load_network(tmp_path / "out" / "weights.pb.gz")
    for name, parameter in load_network(micro).named_parameters():
        torch.testing.assert_close(kept.get_parameter(name), parameter, rtol=0, atol=0, msg=name)


def test_two_runs_are_bit_identical_and_seeds_and_terms_differ(tmp_path, micro, params, warm_start, cell):
    first = train(cell, params, micro, warm_start, tmp_path / "a")
    assert train(cell, params, micro, warm_start, tmp_path / "b") == first
    for other in ("forward_kl-adaptive-0.01-s1", "forward_kl-fixed-0.01-s0", "none-adaptive-0-s0"):
        result = train(Cell.parse(other), params, micro, warm_start, tmp_path / other)
        assert result["weights.pb.gz"] != first["weights.pb.gz"]


def test_a_start_that_failed_before_its_first_checkpoint_blocks_nothing(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    good = warm_start.read_text()
    warm_start.write_text('{"moves": [[99999]]}')
    with pytest.raises(ValueError, match=r"s0\.json: not a file of warm-start games"):
        train(cell, params, micro, warm_start, tmp_path)
    warm_start.write_text(good)
    train(cell, params, micro, warm_start, tmp_path)


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


def test_a_cell_in_work_is_not_trained_twice(tmp_path, micro, params, warm_start, cell):
    with exclusive(tmp_path / "scratch"), pytest.raises(Busy, match=f"process {os.getpid()} is working here"):
        train(cell, params, micro, warm_start, tmp_path)
    assert not (tmp_path / "out").exists()


def test_cell_ids_with_a_variant_train_that_variant(tmp_path, micro, params, warm_start, cell):
    whole = train(cell, params, micro, warm_start, tmp_path / "full")
    bare = train(Cell.parse(f"{cell.id}-no_ema"), params, micro, warm_start, tmp_path / "no_ema")
    assert bare["weights.pb.gz"] != whole["weights.pb.gz"]
    assert json.loads(bare["cell.json"])["params"]["ema_decay"] == 0


def _count_steps(monkeypatch):
    steps = []
    training_step = stage.SelfPlayModule.training_step

    def counted(self, batch, index):
        steps.append(self.global_step)
        training_step(self, batch, index)

    monkeypatch.setattr(stage.SelfPlayModule, "training_step", counted)
    return steps


def _remove(folder):
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()


def test_a_finished_cell_that_nobody_stored_is_not_trained_again(
    tmp_path, monkeypatch, micro, params, warm_start, cell, capsys
):
    """As DVC does after its own death: it deletes what it does not know and runs the stage again."""
    expected = train(cell, params, micro, warm_start, tmp_path)
    steps = _count_steps(monkeypatch)
    _remove(tmp_path / "out")
    assert train(cell, params, micro, warm_start, tmp_path) == expected
    assert steps == []
    assert f"restored from {tmp_path / 'scratch' / 'finished'}" in capsys.readouterr().err
    drop_results(tmp_path)
    _remove(tmp_path / "out")
    assert train(cell, params, micro, warm_start, tmp_path) == expected
    assert steps == list(range(params.steps))


@pytest.mark.parametrize("change", ["inputs", "code", "damage"])
def test_kept_results_serve_the_same_run_only(tmp_path, monkeypatch, micro, params, warm_start, cell, change):
    expected = train(cell, params, micro, warm_start, tmp_path)
    steps = _count_steps(monkeypatch)
    if change == "inputs":
        params = params.model_copy(update={"value_coefficient": 0.3})
    elif change == "code":
        monkeypatch.setattr(stage, "code_of", lambda *_: "other")
    else:
        weights = tmp_path / "scratch" / "finished" / "weights.pb.gz"
        damaged = bytearray(weights.read_bytes())
        damaged[len(damaged) // 2] ^= 1
        weights.write_bytes(damaged)
    found = train(cell, params, micro, warm_start, tmp_path)
    assert steps == list(range(params.steps))
    assert (found == expected) == (change != "inputs")


def test_a_kill_while_results_are_kept_loses_nothing(tmp_path, monkeypatch, micro, params, warm_start, cell):
    """Between the results and their copies: the checkpoint of the last step is still there."""
    expected = train(cell, params, micro, warm_start, tmp_path / "whole")
    with monkeypatch.context() as patch:
        patch.setattr("searchless_rl.unfinished.sha256_of", lambda path: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(cell, params, micro, warm_start, tmp_path)
    steps = _count_steps(monkeypatch)
    assert train(cell, params, micro, warm_start, tmp_path) == expected
    assert steps == []


def test_what_kills_left_of_writes_is_cleaned_up(tmp_path, monkeypatch, micro, params, warm_start, cell):
    """Parts of checkpoints in the scratch folder and of results in the output folder."""
    for folder, name in (("scratch", ".last.ckpt.abc.part"), ("out", ".weights.pb.gz.xyz.part")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(b"part")
    at_step(monkeypatch, 1, lambda: _assert_no_parts(tmp_path / "scratch"))
    train(cell, params, micro, warm_start, tmp_path)
    _assert_no_parts(tmp_path)


def _assert_no_parts(folder):
    assert not list(folder.rglob("*.part"))


def test_the_header_says_how_long_the_cell_was_trained(tmp_path, micro, params, warm_start, cell):
    """The base's steps, losses and accuracy are of another network; its other fields and tensors stay."""
    train(cell, params, micro, warm_start, tmp_path)
    header = NetworkFile.read(tmp_path / "out" / "weights.pb.gz").net.values
    base = NetworkFile.read(micro).net.values
    assert header["training_params"].values == {"training_steps": params.steps}
    for field in ("magic", "license", "min_version", "format"):
        assert header.get(field) == base.get(field), field


def test_a_network_with_outputs_that_are_not_finite_is_named(
    tmp_path, network, micro, params, warm_start, cell, monkeypatch
):
    """At step 1 no rate is to blame and there is no checkpoint to keep."""
    with torch.no_grad():
        for parameter in network.value.parameters():
            parameter.fill_(1e38)
    monkeypatch.setattr(stage, "load_network", lambda path: network)
    with pytest.raises(TrainingFailure) as failure:
        train(cell, params, micro, warm_start, tmp_path)
    text = str(failure.value)
    assert text.startswith(f"base {micro}: {cell.id}: the loss is nan at step 1 (at ")
    assert "outputs are not finite" in text
    assert "learning_rates" not in text
    assert "checkpoint" not in text


def test_a_loss_that_breaks_later_names_the_checkpoint_that_is_kept(
    tmp_path, micro, params, warm_start, cell, monkeypatch
):
    def spoil(self):
        with torch.no_grad():
            next(self.online.value.parameters()).fill_(torch.nan)

    training_step = stage.SelfPlayModule.training_step

    def spoiled(self, batch, index):
        if self.global_step == 3:
            spoil(self)
        training_step(self, batch, index)

    monkeypatch.setattr(stage.SelfPlayModule, "training_step", spoiled)
    with pytest.raises(
        TrainingFailure, match=r"the loss is nan at step 4 .*lower selfplay\.learning_rates"
    ) as failure:
        train(cell, params, micro, warm_start, tmp_path)
    assert str(failure.value).endswith(f"The last checkpoint is kept: {tmp_path / 'scratch' / 'last.ckpt'}")
