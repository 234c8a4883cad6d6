"""Interruptions of the control leave no trace: signals, kills, full disks, other inputs."""

import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pytest
import torch

from searchless_rl.interruption import Interrupted
from searchless_rl.selfplay.checkpoint import read_checkpoint, write_checkpoint
from searchless_rl.supervised import control_stage
from searchless_rl.supervised.control_stage import (
    CHECKPOINT,
    METRICS,
    ControlRun,
    train_control,
)
from searchless_rl.unfinished import CannotContinue

RESULTS = ("weights.pb.gz", "metrics.jsonl", "control.json")


def _train(params, micro, suites, folder):
    train_control(params, seed=0, base=micro, suites=suites, out=folder / "out", scratch=folder / "scratch")
    return {name: (folder / "out" / name).read_bytes() for name in RESULTS}


@pytest.fixture
def expected(tmp_path, params, micro, suites):
    """The results of a run that nothing interrupts."""
    return _train(params, micro, suites, tmp_path / "whole")


def _checkpointed_step(folder):
    return read_checkpoint(folder / "scratch" / CHECKPOINT, ("step",))["step"]


class _Stop(Exception):
    pass


def _stop():
    raise _Stop


def _at_step(monkeypatch, step, action):
    """Do something when training reaches a step; returns how to undo that."""
    train_step = ControlRun.train_step

    def acting(self):
        if self.step == step:
            action()
        return train_step(self)

    monkeypatch.setattr(ControlRun, "train_step", acting)
    return lambda: monkeypatch.setattr(ControlRun, "train_step", train_step)


@pytest.mark.parametrize("stop_at", [1, 2, 3, 5])
def test_an_interrupted_run_continues_bit_identically(
    tmp_path, monkeypatch, micro, params, suites, expected, stop_at
):
    """Interrupted before, at and after a checkpoint (every 2 steps of 6), with a torn metrics line."""
    undo = _at_step(monkeypatch, stop_at, _stop)
    with pytest.raises(_Stop):
        _train(params, micro, suites, tmp_path / "cut")
    with (tmp_path / "cut" / "scratch" / METRICS).open("a") as stream:
        stream.write('{"step": 99, "lo')
    undo()
    steps, train_step = [], ControlRun.train_step
    monkeypatch.setattr(ControlRun, "train_step", lambda self: steps.append(self.step) or train_step(self))
    assert _train(params, micro, suites, tmp_path / "cut") == expected
    assert steps == list(range(stop_at // 2 * 2, 6))


def test_a_convolutional_base_in_bfloat16_resumes_too(tmp_path, monkeypatch, shared, params, suites):
    """Its weights and the optimizer's moments are stored channels-last."""
    maia = shared / "lc0" / "maia-1900.pb.gz"
    params = params.model_copy(update={"precision": "bf16", "micro_batch": 4})
    expected = _train(params, maia, suites, tmp_path / "whole")
    undo = _at_step(monkeypatch, 5, _stop)
    with pytest.raises(_Stop):
        _train(params, maia, suites, tmp_path / "cut")
    undo()
    assert _train(params, maia, suites, tmp_path / "cut") == expected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_saves_the_step_and_ends_with_its_own_status(
    tmp_path, monkeypatch, micro, params, suites, number
):
    """No checkpoint is due: the one that is there was saved because of the signal."""
    params = params.model_copy(update={"checkpoint_every": 1000})
    expected = _train(params, micro, suites, tmp_path / "whole")
    undo = _at_step(monkeypatch, 3, lambda: os.kill(os.getpid(), number))
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match=f"control: stopped by {number.name}") as stop:
        _train(params, micro, suites, tmp_path / "cut")
    assert stop.value.signal == number
    assert _checkpointed_step(tmp_path / "cut") == 4
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers
    assert not (tmp_path / "cut" / "out").exists()
    undo()
    assert _train(params, micro, suites, tmp_path / "cut") == expected


def test_a_signal_in_the_last_step_loses_nothing(tmp_path, monkeypatch, micro, params, suites, expected):
    _at_step(monkeypatch, params.steps - 1, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert _train(params, micro, suites, tmp_path / "cut") == expected


def _killed(step, arguments):
    torch.set_num_threads(1)
    accumulate = control_stage.accumulate_gradient
    reached = []

    def fatal(*given, **options):
        measured = accumulate(*given, **options)  # gradients are summed, parameters not yet moved
        reached.append(1)
        if len(reached) == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return measured

    control_stage.accumulate_gradient = fatal
    _train(*arguments)


def test_killed_again_and_again_it_is_the_same_run(tmp_path, micro, params, suites, expected):
    """Also right after a resume, before anything was written: the lines of the checkpoint's steps remain."""
    context = multiprocessing.get_context("fork")
    arguments = (params, micro, suites, tmp_path / "killed")
    for step, saved in ((1, None), (3, 2), (1, 2), (2, 2), (3, 4), (1, 4)):
        process = context.Process(target=_killed, args=(step, arguments))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        checkpoint = tmp_path / "killed" / "scratch" / CHECKPOINT
        assert (_checkpointed_step(tmp_path / "killed") if checkpoint.exists() else None) == saved
    assert _train(*arguments) == expected


def _interrupt(monkeypatch, micro, params, suites, folder):
    undo = _at_step(monkeypatch, 3, _stop)
    with pytest.raises(_Stop):
        _train(params, micro, suites, folder)
    undo()


def test_other_code_starts_again(tmp_path, monkeypatch, micro, params, suites, expected):
    _interrupt(monkeypatch, micro, params, suites, tmp_path)
    monkeypatch.setattr(control_stage, "code_of", lambda *_: "other")
    with pytest.warns(UserWarning, match="begun with other code"):
        assert _train(params, micro, suites, tmp_path) == expected


def test_other_inputs_are_refused_with_the_difference(tmp_path, monkeypatch, micro, params, suites):
    _interrupt(monkeypatch, micro, params, suites, tmp_path)
    changed = params.model_copy(update={"ema_decay": 0.9, "games": 4})
    with pytest.raises(CannotContinue, match=r"ema_decay: 0\.5 then, 0\.9 now; params\.games: 6 then, 4 now"):
        _train(changed, micro, suites, tmp_path)
    with (suites / "mate2.csv").open("a") as stream:
        stream.write("\n")
    with pytest.raises(CannotContinue, match=r"suites_sha256\.mate2: "):
        _train(params, micro, suites, tmp_path)


def test_parameters_of_self_play_alone_change_nothing(tmp_path, monkeypatch, micro, params, suites, expected):
    _interrupt(monkeypatch, micro, params, suites, tmp_path)
    changed = params.model_copy(update={"importance_cap": None, "max_plies": 99, "value_coefficient": 1.0})
    assert _train(changed, micro, suites, tmp_path) == expected


class _Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self._path = path

    def __reduce__(self):
        return (Path.touch, (self._path,))


def _spoil(state):
    next(iter(state["ema"].values())).view(-1)[0] = torch.nan


def _forget_moments(state):
    state["optimizer"]["state"] = {}


def _rewrite(path, change):
    state = read_checkpoint(path, ())
    change(state)
    write_checkpoint(path, state)


DAMAGE = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:1000]),
    "text": lambda path: path.write_bytes(b"no checkpoint"),
    "other": lambda path: write_checkpoint(path, {"step": 2}),
    "payload": lambda path: _rewrite(path, lambda state: state.update(it=_Payload(path.parent / "executed"))),
    "nan": lambda path: _rewrite(path, _spoil),
    "moments": lambda path: _rewrite(path, _forget_moments),
    "step": lambda path: _rewrite(path, lambda state: state.update(step="two")),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_checkpoint_is_named(tmp_path, monkeypatch, micro, params, suites, damage):
    _interrupt(monkeypatch, micro, params, suites, tmp_path)
    DAMAGE[damage](tmp_path / "scratch" / CHECKPOINT)
    with pytest.raises(
        CannotContinue, match=r"last\.ckpt: not a .*; delete .*scratch to start again$"
    ) as refusal:
        _train(params, micro, suites, tmp_path)
    assert "weights_only" not in str(refusal.value)
    assert not (tmp_path / "scratch" / "executed").exists()


def test_a_flipped_bit_is_noticed(tmp_path, monkeypatch, micro, params, suites):
    _interrupt(monkeypatch, micro, params, suites, tmp_path)
    checkpoint = tmp_path / "scratch" / CHECKPOINT
    content = bytearray(checkpoint.read_bytes())
    content[len(content) // 3] ^= 1
    checkpoint.write_bytes(content)
    with pytest.raises(CannotContinue, match="its content is not what was written"):
        _train(params, micro, suites, tmp_path)


def test_a_finished_control_that_nobody_stored_is_not_trained_again(
    tmp_path, monkeypatch, micro, params, suites
):
    expected = _train(params, micro, suites, tmp_path)
    shutil.rmtree(tmp_path / "out")
    monkeypatch.setattr(ControlRun, "train_step", lambda self: 1 / 0)
    assert _train(params, micro, suites, tmp_path) == expected


def test_lost_metrics_are_named(tmp_path, monkeypatch, micro, params, suites):
    _interrupt(monkeypatch, micro, params, suites, tmp_path)
    path = tmp_path / "scratch" / METRICS
    path.write_text(json.dumps({"step": 1}) + "\n")
    with pytest.raises(CannotContinue, match=r"metrics\.jsonl: fewer lines than the 2 steps"):
        _train(params, micro, suites, tmp_path)
