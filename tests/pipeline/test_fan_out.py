"""Which stages fan-out runs, and how it deals with failures, without a real pipeline."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from fake_dvc import write_fake_dvc

from searchless_rl import progress
from searchless_rl.params import load_params
from searchless_rl.pipeline import dvc, fan_out, processes

NAMES = ("none-fixed-0-s0", "entropy-fixed-1-s0", "forward_kl-fixed-1-s0")
LIMIT = 60.0
"""Seconds after which a test that waits has failed."""


@pytest.fixture
def params(pytestconfig):
    smoke = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml")
    grid = smoke.grid.model_copy(update={"cells": dict.fromkeys(NAMES, "s0")})
    bundled = {"source": str(pytestconfig.rootpath / smoke.suites.source), "winning": None}
    return smoke.model_copy(update={"grid": grid, "suites": smoke.suites.model_copy(update=bundled)})


def test_only_what_changed_is_run_and_training_comes_before_scoring(params):
    changed = {
        "train@none-fixed-0-s0",
        "tactics@none-fixed-0-s0",
        "tactics@forward_kl-fixed-1-s0",
        "cell",
        "tables",
    }
    assert fan_out.chains(params, changed) == [
        fan_out.Chain("none-fixed-0-s0", ("train@none-fixed-0-s0", "tactics@none-fixed-0-s0")),
        fan_out.Chain("forward_kl-fixed-1-s0", ("tactics@forward_kl-fixed-1-s0",)),
        fan_out.Chain("requested cell", ("cell",)),
    ]
    assert fan_out.chains(params, {"tables", "sync"}) == []


def test_measurements_of_what_is_selected_begin_with_the_longest():
    changed = {"evaluate@base", "coverage@none-fixed", "arena_sampled", "arena_argmax", "tables", "recovery"}
    names = [chain.name for chain in fan_out.measurements(changed)]
    assert names == ["arena_argmax", "arena_sampled", "coverage@none-fixed", "evaluate@base"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project whose DVC is the fake one; signal handlers are as before afterwards."""
    python_path = f"{write_fake_dvc(tmp_path)}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    monkeypatch.setenv("PYTHONPATH", python_path)
    monkeypatch.chdir(tmp_path)
    stages = [f"{stage}@{name}" for name in NAMES for stage in ("train", "tactics")]
    (tmp_path / "status.json").write_text(
        json.dumps({stage: [] for stage in (*stages, "control", "evaluate@base")})
    )
    monkeypatch.setattr(fan_out, "_report", lambda: (tmp_path / "reported").touch())
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield tmp_path
    for number, handler in before.items():
        signal.signal(number, handler)


def _calls(folder):
    return (folder / "calls").read_text().splitlines()


def _until(condition):
    """Wait for something, with a limit."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_ancestors_then_cells_then_the_rest(params, folder):
    fan_out.run_pipeline(params, 2)
    calls = _calls(folder)
    assert calls[0] == "repro fetch calibrate suites openings warm_start tactics_base"
    assert calls[1] == "status --json"
    assert calls[-4:] == ["repro -s select", "status --json", "repro -s evaluate@base", "repro"]
    stages = [f"repro -s {stage}@{name}" for name in params.grid.cells for stage in ("train", "tactics")]
    assert sorted(calls[2:-4]) == sorted([*stages, "repro -s control"])
    for name in params.grid.cells:
        assert calls.index(f"repro -s train@{name}") < calls.index(f"repro -s tactics@{name}")


def test_a_failed_cell_is_named_the_others_finish_and_reports_are_built(params, folder):
    (folder / "fail").touch()
    with pytest.raises(fan_out.FanOutFailure, match=r"1 of 4 failed") as failure:
        fan_out.run_pipeline(params, 2)
    assert "entropy-fixed-1-s0: train@entropy-fixed-1-s0 ended with exit status 3" in str(failure.value)
    calls = _calls(folder)
    assert "repro -s tactics@entropy-fixed-1-s0" not in calls
    assert {"repro -s tactics@none-fixed-0-s0", "repro -s tactics@forward_kl-fixed-1-s0"} <= set(calls)
    assert "repro -s select" not in calls
    assert (folder / "reported").exists()
    assert "broken" in (folder / "scratch" / "logs" / "entropy-fixed-1-s0.log").read_text()


@pytest.mark.parametrize(
    "text",
    [
        "ERROR: Unable to acquire lock. Most likely another DVC process is running",
        "ERROR: failed to lock: '/x/data/base' is busy, it is being blocked by:\n  (PID 77): /x/dvc repro",
        "searchless train: scratch/cells/x: process 77 is working here; wait for it or stop it (kill 77)",
    ],
)
def test_a_stage_that_finds_another_at_work_is_tried_again(params, folder, text):
    (folder / "busy").write_text(text)
    fan_out.run_pipeline(params, 1)
    assert _calls(folder).count("repro -s train@none-fixed-0-s0") == 2


@pytest.fixture
def elsewhere(folder):
    """A process that holds a file of the pipeline, as an earlier run may leave one."""
    with subprocess.Popen(["sleep", "600"]) as process:
        holder = {"pid": process.pid, "cmd": "dvc repro -s train@x"}
        dvc.HELD.parent.mkdir(parents=True)
        dvc.HELD.write_text(json.dumps({"/x/data/base": {"read": [holder]}, "/x/y": {"write": holder}}))
        yield process
        process.kill()


def test_a_run_waits_for_what_an_earlier_one_left(params, folder, elsewhere, capsys):
    threading.Timer(0.5, lambda: (elsewhere.kill(), elsewhere.wait())).start()
    fan_out.run_pipeline(params, 1)
    assert f"waiting for process {elsewhere.pid} (dvc repro -s train@x)" in capsys.readouterr().err
    assert _calls(folder)[-1] == "repro"


def test_what_does_not_end_is_named_with_how_to_stop_it(params, folder, elsewhere, monkeypatch):
    monkeypatch.setattr(dvc, "PATIENCE", 0.2)
    with pytest.raises(
        dvc.DvcError, match=rf"already running here: process {elsewhere.pid} .*kill {elsewhere.pid}"
    ):
        fan_out.run_pipeline(params, 1)
    assert not (folder / "calls").exists()


@contextlib.contextmanager
def _fan_out(folder, slow, *, before=None):
    """A real fan-out that has come to a stage that does not end; its PID file is removed by the caller."""
    scales = Path(__file__).resolve().parents[2]
    text = (scales / "scales" / "smoke.yaml").read_text()
    (folder / "params.yaml").write_text(text.replace("data/lichess", str(scales / "data" / "lichess")))
    (folder / slow).touch()
    command = [sys.executable, "-m", "searchless_rl", "fan-out", "--jobs", "1"]
    process = subprocess.Popen([*(before or []), *command], stderr=subprocess.PIPE)
    try:
        _until((folder / "pid").exists)
        _until((folder / "pid").read_text)
        yield process, int((folder / "pid").read_text())
    finally:
        process.kill()
        process.stderr.close()
        process.wait(LIMIT)
        with contextlib.suppress(OSError):
            os.kill(int((folder / "pid").read_text()), signal.SIGKILL)


def _gone(number):
    return not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("slow", ["slow", "slow ancestors"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_stages_and_has_its_own_status(folder, number, slow):
    with _fan_out(folder, slow) as (process, stage):
        process.send_signal(number)
        assert process.wait(LIMIT) == 128 + number
        message = f"stopped by {number.name}; run the same command to continue"
        assert message in process.stderr.read().decode()
        _until(lambda: _gone(stage))


@pytest.mark.parametrize("slow", ["slow", "slow ancestors"])
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel's help is Linux's")
def test_stages_end_with_a_fan_out_that_is_killed(folder, slow):
    """SIGKILL leaves it no time to stop anything."""
    with _fan_out(folder, slow) as (process, stage):
        assert not _gone(stage)
        process.kill()
        _until(lambda: _gone(stage))


def test_a_hangup_that_is_ignored_stays_ignored(folder):
    with _fan_out(folder, "slow", before=["nohup"]) as (process, stage):
        process.send_signal(signal.SIGHUP)
        time.sleep(1.0)
        assert process.poll() is None
        assert not _gone(stage)


def test_an_interrupt_stops_what_was_started(params, folder, monkeypatch):
    (folder / "slow").touch()

    def interrupted(futures):
        _until(lambda: "repro -s train@none-fixed-0-s0" in _calls(folder))
        raise KeyboardInterrupt

    monkeypatch.setattr(fan_out, "as_completed", interrupted)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fan_out.run_pipeline(params, 1)
    assert time.monotonic() - begun < LIMIT
    assert "repro -s tactics@none-fixed-0-s0" not in _calls(folder)
    assert "repro -s train@forward_kl-fixed-1-s0" not in _calls(folder)


def test_a_process_that_is_being_started_is_stopped_too(tmp_path, monkeypatch):
    """The end may be asked for between the start of a process and its entry among the running ones."""
    started, begun = [], threading.Event()

    class Slow(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(["sleep", "600"], start_new_session=True)
            started.append(self.pid)
            begun.set()
            time.sleep(0.5)

    monkeypatch.setattr(processes.subprocess, "Popen", Slow)
    runner, statuses = processes.Runner(), []
    worker = threading.Thread(
        target=lambda: statuses.append(runner.run(["x"], tmp_path / "log", {})), daemon=True
    )
    with contextlib.suppress(KeyboardInterrupt), runner:
        worker.start()
        begun.wait(LIMIT)
        raise KeyboardInterrupt
    worker.join(LIMIT)
    assert statuses == [-signal.SIGTERM]
    assert _gone(started[0])
    assert runner.run(["x"], tmp_path / "log", {}) is None


def test_without_a_terminal_progress_is_a_line_a_minute(params, folder, capsys, monkeypatch):
    for name in ("FIRST_LINE_S", "LINE_EVERY_S"):
        monkeypatch.setattr(progress, name, 0.0)
    fan_out.run_pipeline(params, 1)
    lines = capsys.readouterr().err
    assert "cells: chain 1 of 4, " in lines
    assert "cells: chain 4 of 4, " in lines
    assert "measurements: chain 1 of 1, " in lines


def test_the_last_lines_say_where_to_look(tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "findings.md").touch()
    assert fan_out.summary(tmp_path, tmp_path / "figures").splitlines() == [
        "Done.",
        f"  findings: {tmp_path}/findings.md",
        f"  figures: {tmp_path}/figures",
        "  runs in MLflow: make ui",
    ]


def test_dvc_is_the_one_of_this_environment_and_its_absence_is_named(monkeypatch):
    assert dvc.command("status")[0] == sys.executable
    monkeypatch.setenv("PATH", "/usr/bin")
    assert dvc.environment()["PATH"] == f"{Path(sys.executable).parent}{os.pathsep}/usr/bin"
    monkeypatch.setattr(dvc.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(dvc.DvcError, match=r"make setup.*activate"):
        dvc.command("status")
