"""Signals end a cell in a good place, with the step saved and a status of their own."""

import os
import pty
import signal
import sys
import time

import pytest
from cell_runs import at_step, checkpointed_step, train

from searchless_rl.interruption import STOPPING, Interrupted, deferred_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_saves_the_step_and_ends_with_its_own_status(
    tmp_path, monkeypatch, micro, params, warm_start, cell, number
):
    """No checkpoint is due: the one that is there was saved because of the signal."""
    params = params.model_copy(update={"checkpoint_every": 1000})
    expected = train(cell, params, micro, warm_start, tmp_path / "whole")
    undo = at_step(monkeypatch, 3, lambda: os.kill(os.getpid(), number))
    handlers = {each: signal.getsignal(each) for each in (*STOPPING, signal.SIGUSR1)}
    with pytest.raises(Interrupted, match=f"stopped by {number.name}") as stop:
        train(cell, params, micro, warm_start, tmp_path / "cut")
    assert stop.value.signal == number
    assert checkpointed_step(tmp_path / "cut") == 4
    assert {each: signal.getsignal(each) for each in handlers} == handlers
    assert not (tmp_path / "cut" / "out").exists()
    undo()
    assert train(cell, params, micro, warm_start, tmp_path / "cut") == expected


def test_a_second_signal_ends_at_once(tmp_path, monkeypatch, micro, params, warm_start, cell):
    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    undo = at_step(monkeypatch, 3, twice)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        train(cell, params, micro, warm_start, tmp_path)
    assert checkpointed_step(tmp_path) == 2
    undo()
    train(cell, params, micro, warm_start, tmp_path)


def test_a_batch_systems_warning_changes_nothing(tmp_path, monkeypatch, micro, params, warm_start, cell):
    """SIGUSR1, whose default would end the process unsaved."""
    expected = train(cell, params, micro, warm_start, tmp_path / "whole")
    at_step(monkeypatch, 3, lambda: os.kill(os.getpid(), signal.SIGUSR1))
    assert train(cell, params, micro, warm_start, tmp_path / "warned") == expected


def test_a_hang_up_that_the_caller_ignores_stays_ignored():
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with deferred_signals() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
        assert stop.signal is None
    finally:
        signal.signal(signal.SIGHUP, before)


CLOSED_TERMINAL = """
import sys
from pathlib import Path
from searchless_rl.interruption import deferred_signals
from searchless_rl.progress import Progress

with deferred_signals() as stop, Progress("work", 100_000, "step") as progress:
    print("ready", flush=True)
    while stop.signal is None:
        progress.update()
    for _ in range(1000):  # the bar writes to a terminal that is gone
        progress.update()
Path(sys.argv[1]).write_text(stop.signal.name)
"""


def test_a_closed_terminal_saves_the_work(tmp_path):
    """The terminal goes away: a hang-up arrives, and the bar cannot be drawn any more."""
    saved = tmp_path / "saved"
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", CLOSED_TERMINAL, str(saved)])
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 4096)
    time.sleep(0.5)  # until the print has returned
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert saved.read_text() == "SIGHUP"
