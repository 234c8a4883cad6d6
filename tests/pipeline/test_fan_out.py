"""Which stages fan-out runs, and how it deals with failures, without a real pipeline."""

import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from searchless_rl.params import load_params
from searchless_rl.pipeline import fan_out


@pytest.fixture
def params(pytestconfig):
    smoke = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml")
    cells = dict.fromkeys(("none-fixed-0-s0", "entropy-fixed-1-s0", "forward_kl-fixed-1-s0"), "s0")
    return smoke.model_copy(update={"grid": smoke.grid.model_copy(update={"cells": cells})})


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
def fake_dvc(tmp_path, monkeypatch):
    """A `dvc` that records its calls, says that everything changed, and fails where it is told to."""
    program = tmp_path / "bin" / "dvc"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'echo "$*" >> calls\n'
        'case "$*" in\n'
        '  "status --json") cat status.json ;;\n'
        '  "repro -s train@entropy-fixed-1-s0") [ ! -e fail ] || { echo broken; exit 3; } ;;\n'
        '  "repro -s train@none-fixed-0-s0")\n'
        "    [ ! -e busy ] || { rm busy; echo 'ERROR: Unable to acquire lock. Try later.'; exit 255; }\n"
        "    [ ! -e slow ] || exec sleep 6123 ;;\n"
        "esac\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    names = ("none-fixed-0-s0", "entropy-fixed-1-s0", "forward_kl-fixed-1-s0")
    stages = [f"{stage}@{name}" for name in names for stage in ("train", "tactics")]
    stages += ["control", "evaluate@base"]
    monkeypatch.setattr(fan_out, "_report", lambda: (tmp_path / "reported").touch())
    (tmp_path / "status.json").write_text("{" + ", ".join(f'"{stage}": []' for stage in stages) + "}")
    return tmp_path


def _calls(folder):
    return (folder / "calls").read_text().splitlines()


def test_ancestors_then_cells_then_the_rest(params, fake_dvc):
    fan_out.run_pipeline(params, 2)
    calls = _calls(fake_dvc)
    assert calls[0] == "repro fetch suites openings warm_start tactics_base"
    assert calls[1] == "status --json"
    assert calls[-4:] == ["repro -s select", "status --json", "repro -s evaluate@base", "repro"]
    stages = [f"repro -s {stage}@{name}" for name in params.grid.cells for stage in ("train", "tactics")]
    assert sorted(calls[2:-4]) == sorted([*stages, "repro -s control"])
    for name in params.grid.cells:
        assert calls.index(f"repro -s train@{name}") < calls.index(f"repro -s tactics@{name}")


def test_a_failed_cell_is_named_the_others_finish_and_reports_are_built(params, fake_dvc):
    (fake_dvc / "fail").touch()
    with pytest.raises(fan_out.FanOutFailure, match=r"1 of 4 failed") as failure:
        fan_out.run_pipeline(params, 2)
    assert "entropy-fixed-1-s0: train@entropy-fixed-1-s0 ended with exit status 3" in str(failure.value)
    calls = _calls(fake_dvc)
    assert "repro -s tactics@entropy-fixed-1-s0" not in calls
    assert {"repro -s tactics@none-fixed-0-s0", "repro -s tactics@forward_kl-fixed-1-s0"} <= set(calls)
    assert "repro -s select" not in calls
    assert (fake_dvc / "reported").exists()
    assert "broken" in (fake_dvc / "scratch" / "logs" / "entropy-fixed-1-s0.log").read_text()


def test_a_held_lock_is_waited_for(params, fake_dvc):
    (fake_dvc / "busy").touch()
    fan_out.run_pipeline(params, 1)
    assert _calls(fake_dvc).count("repro -s train@none-fixed-0-s0") == 2


def test_sigterm_stops_the_stages_and_has_its_own_status(params, fake_dvc):
    """As a real process: nothing it started is left, and its status is 128 + 15."""
    (fake_dvc / "slow").touch()
    smoke = Path(__file__).resolve().parents[2] / "scales" / "smoke.yaml"
    (fake_dvc / "params.yaml").write_bytes(smoke.read_bytes())
    command = [sys.executable, "-m", "searchless_rl", "fan-out", "--jobs", "1"]
    calls = fake_dvc / "calls"
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while not (calls.exists() and "train@none-fixed-0-s0" in calls.read_text()):
            time.sleep(0.02)
        process.terminate()
        assert process.wait(30) == 128 + signal.SIGTERM
        assert b"stopped by SIGTERM; run the same command to continue" in process.stderr.read()
    sleeping = subprocess.run(["pgrep", "-f", "sleep 6123"], capture_output=True, text=True, check=False)
    assert sleeping.stdout == ""


def test_an_interrupt_stops_what_was_started(params, fake_dvc, monkeypatch):
    (fake_dvc / "slow").touch()

    def interrupted(futures):
        while "repro -s train@none-fixed-0-s0" not in _calls(fake_dvc):
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(fan_out, "as_completed", interrupted)
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fan_out.run_pipeline(params, 1)
    assert time.monotonic() - begun < 20
    assert "repro -s tactics@none-fixed-0-s0" not in _calls(fake_dvc)
    assert "repro -s train@forward_kl-fixed-1-s0" not in _calls(fake_dvc)
