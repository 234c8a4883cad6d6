"""The control as a stage: files, groups, learning, refusals."""

import json

import pytest
import torch

from searchless_rl.lc0 import load_network, save_network
from searchless_rl.lc0.network_file import NetworkFile
from searchless_rl.selfplay.guards import TrainingFailure
from searchless_rl.suites.rows import PuzzleFileError
from searchless_rl.suites.split import SplitError
from searchless_rl.supervised import control_stage
from searchless_rl.supervised.control import accumulate_gradient, solver_examples
from searchless_rl.supervised.control_stage import ControlRun, train_control
from searchless_rl.unfinished import Busy, exclusive

RESULTS = ("weights.pb.gz", "metrics.jsonl", "control.json")


def _train(params, micro, suites, folder, seed=0):
    train_control(
        params, seed=seed, base=micro, suites=suites, out=folder / "out", scratch=folder / "scratch"
    )
    return {name: (folder / "out" / name).read_bytes() for name in RESULTS}


def test_the_control_writes_its_files_and_cleans_up(tmp_path, micro, params, suites, puzzles):
    _train(params, micro, suites, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, params.steps + 1))
    measured = ["kl_base_policy" in line for line in lines]
    assert measured == [step % params.diagnostics_every == 0 for step in range(params.steps)]
    assert lines[0]["kl_base_policy"] == pytest.approx(0, abs=1e-6)
    assert lines[2]["kl_base_policy"] > 0
    summary = json.loads((tmp_path / "out" / "control.json").read_text())
    positions = sum(len(puzzle.moves) // 2 for puzzle in puzzles[:10])
    assert summary["puzzles"] == 10
    assert summary["positions"] == positions
    assert summary["epochs"] == params.steps * params.games / positions
    assert summary["seed"] == 0
    assert summary["precision"] == "float32"
    assert set(summary["suites_sha256"]) >= {"control", "main", "mate5"}
    assert summary["params"]["learning_rates"] == params.learning_rates.model_dump()
    assert "importance_cap" not in summary["params"]
    assert summary["final"]["loss"] == lines[-1]["loss"]
    assert {path.name for path in (tmp_path / "scratch").iterdir()} == {"lock", "finished"}


def test_the_value_and_moves_left_heads_are_the_bases_to_the_bit(tmp_path, micro, params, suites):
    _train(params, micro, suites, tmp_path)
    trained = dict(load_network(tmp_path / "out" / "weights.pb.gz").named_parameters())
    base = load_network(micro)
    same = {True: set(), False: set()}
    for name, parameter in base.named_parameters():
        same[torch.equal(trained[name], parameter)].add(base.parameter_roles()[name])
    assert {"value_head", "moves_left_head"} <= same[True]
    assert same[False] == {"backbone", "final_block", "policy_head"}


def test_what_is_written_is_the_ema_after_the_last_step(tmp_path, micro, network, params, suites, puzzles):
    _train(params, micro, suites, tmp_path)
    run = ControlRun(network, solver_examples(puzzles[:10]), params, 0, "float32")
    for _ in range(params.steps):
        run.train_step()
    save_network(run.ema, tmp_path / "ema.pb.gz", training_steps=params.steps)
    assert (tmp_path / "out" / "weights.pb.gz").read_bytes() == (tmp_path / "ema.pb.gz").read_bytes()


def test_the_header_says_how_long_the_control_was_trained(tmp_path, micro, params, suites):
    _train(params, micro, suites, tmp_path)
    header = NetworkFile.read(tmp_path / "out" / "weights.pb.gz").net.values
    assert header["training_params"].values == {"training_steps": params.steps}


def test_two_runs_are_bit_identical_and_seeds_differ(tmp_path, micro, params, suites):
    first = _train(params, micro, suites, tmp_path / "a")
    assert _train(params, micro, suites, tmp_path / "b") == first
    other = _train(params, micro, suites, tmp_path / "c", seed=1)
    assert all(other[name] != first[name] for name in RESULTS)


def test_groups_warm_up_and_ema_of_a_step(network, params, puzzles):
    """Adam's first step is the group's rate (half of it in the first of two warm-up steps) where g >> eps."""
    params = params.model_copy(update={"ema_decay": 0.75, "warmup_steps": 2})
    run = ControlRun(network, solver_examples(puzzles[:5]), params, 0, "float32")
    run.train_step()
    start, ema = dict(network.named_parameters()), dict(run.ema.named_parameters())
    moved = set()
    for name, role in run.online.parameter_roles().items():
        parameter = run.online.get_parameter(name)
        if role in ("value_head", "moves_left_head"):
            assert torch.equal(parameter, start[name]), name
            assert torch.equal(ema[name], start[name]), name
            continue
        rate = getattr(params.learning_rates, role)
        change = (parameter - start[name]).abs().max().item()
        assert change <= rate / 2 * 1.01 + 1e-7 * start[name].abs().max().item(), name
        if parameter.grad.abs().max() > 1e-6:
            assert change >= rate / 2 * 0.9, name
            moved.add(role)
        expected = start[name] + 0.25 * (parameter - start[name])
        torch.testing.assert_close(ema[name], expected, rtol=0, atol=1e-7, msg=name)
    assert moved == {"backbone", "final_block", "policy_head"}
    run.train_step()
    rates = {group["name"]: group["lr"] for group in run.optimizer.param_groups}
    assert rates == params.learning_rates.model_dump()


def test_it_learns_its_puzzles(tmp_path, micro, params, suites, puzzles):
    """Ten puzzles again and again: from what the base guesses to all of them, also by the written EMA."""
    fast = dict.fromkeys(("backbone", "final_block", "policy_head", "value_head"), 3e-3)
    params = params.model_copy(
        update={
            "learning_rates": type(params.learning_rates)(**fast),
            **{"games": 26, "micro_batch": 26, "steps": 25, "warmup_steps": 5, "ema_decay": 0.8},
        }
    )
    _train(params, micro, suites, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert lines[0]["accuracy"] < 0.3
    assert lines[-1]["accuracy"] == 1
    assert lines[-1]["loss"] < 0.1
    assert lines[-1]["entropy"] < lines[0]["entropy"]
    examples = solver_examples(puzzles[:10])
    trained = load_network(tmp_path / "out" / "weights.pb.gz")
    assert (
        accumulate_gradient(trained, None, examples, micro_batch=64, precision="float32").accuracy.min() == 1
    )


def test_bfloat16_trains_and_is_recorded(tmp_path, micro, params, suites):
    exact = _train(params, micro, suites, tmp_path / "float32")
    rough = _train(params.model_copy(update={"precision": "bf16"}), micro, suites, tmp_path / "bf16")
    assert json.loads(rough["control.json"])["precision"] == "bf16"
    assert rough["weights.pb.gz"] != exact["weights.pb.gz"]


def test_no_global_setting_of_torch_stays_changed(tmp_path, micro, params, suites):
    torch.use_deterministic_algorithms(False)
    _train(params, micro, suites, tmp_path)
    assert not torch.are_deterministic_algorithms_enabled()


def test_an_evaluation_suite_that_shares_a_puzzle_is_refused(tmp_path, micro, params, puzzles, write_suites):
    """A suite of another name than the known ones is held against the pool too."""
    for name in ("hard", "outside"):
        folder = tmp_path / name
        write_suites(folder, {"control": puzzles[:10], name: puzzles[9:12]})
        with pytest.raises(SplitError, match=f"puzzle {puzzles[9].id} .* suite {name} too"):
            _train(params, micro, folder, tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_missing_suite_is_refused(tmp_path, micro, params, suites):
    (suites / "mate4.csv").unlink()
    with pytest.raises(PuzzleFileError, match=r"mate4\.csv"):
        _train(params, micro, suites, tmp_path)


def test_an_empty_pool_is_refused(tmp_path, micro, params, puzzles, write_suites):
    write_suites(tmp_path / "suites", {"main": puzzles[:3]})
    with pytest.raises(ValueError, match=r"control\.csv: no puzzles to train on"):
        _train(params, micro, tmp_path / "suites", tmp_path)


def test_a_second_process_is_refused(tmp_path, micro, params, suites):
    with exclusive(tmp_path / "scratch"), pytest.raises(Busy):
        _train(params, micro, suites, tmp_path)


def test_a_loss_that_is_not_finite_stops_with_step_and_puzzle(network, params, puzzles, monkeypatch):
    """One example of six goes wrong; its puzzle is named, and nothing has moved."""
    run = ControlRun(network, solver_examples(puzzles[:3]), params, 0, "float32")
    numbers = control_stage.draw(len(run.examples), 6, 0, 0)
    before = [parameter.clone() for parameter in run.online.parameters()]

    def spoiled(*arguments, **options):
        measured = accumulate_gradient(*arguments, **options)
        measured.loss[2] = torch.nan
        return measured

    monkeypatch.setattr(control_stage, "accumulate_gradient", spoiled)
    broken = run.examples[numbers[2]].puzzle_id
    with pytest.raises(TrainingFailure, match=rf"the loss is nan at step 1 \(puzzle {broken}\)"):
        run.train_step()
    assert all(torch.equal(a, b) for a, b in zip(before, run.online.parameters(), strict=True))


def test_weights_that_are_not_finite_are_not_saved(tmp_path, network, params, puzzles):
    run = ControlRun(network, solver_examples(puzzles[:3]), params, 0, "float32")
    run.save(tmp_path / "last.ckpt")
    good = (tmp_path / "last.ckpt").read_bytes()
    with torch.no_grad():
        next(run.online.parameters())[0] = torch.inf
    with pytest.raises(TrainingFailure, match="weights are not finite after step 0"):
        run.save(tmp_path / "last.ckpt")
    assert (tmp_path / "last.ckpt").read_bytes() == good
