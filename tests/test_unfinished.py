"""Unfinished work: one process a folder, manifests, kept results, nothing left over."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from searchless_rl.unfinished import (
    FINISHED,
    MANIFEST,
    Busy,
    CannotContinue,
    claim,
    drop_results,
    exclusive,
    keep_results,
    restore_results,
)


def _hold(folder, ready, release):
    with exclusive(folder):
        ready.set()
        release.wait(30)


def test_a_second_process_on_a_cell_is_refused_with_the_pid(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready, release = context.Event(), context.Event()
    holder = context.Process(target=_hold, args=(tmp_path, ready, release))
    holder.start()
    try:
        assert ready.wait(120)
        with pytest.raises(Busy, match=f"process {holder.pid} is working here"), exclusive(tmp_path):
            pass
    finally:
        release.set()
        holder.join()
    with exclusive(tmp_path):  # free again
        pass


def test_a_held_lock_names_its_holder_to_all_who_ask(tmp_path):
    """Also the second to ask, and after others have held it: only who holds it writes."""
    (tmp_path / "lock").write_text("4194305\n")
    for _ in range(2):
        with exclusive(tmp_path):
            for _ in range(2):
                with (
                    pytest.raises(
                        Busy, match=f"process {os.getpid()} is working here.*kill {os.getpid()}\\)"
                    ),
                    exclusive(tmp_path),
                ):
                    pass


def test_an_orphan_still_holds_its_cell(tmp_path):
    """The parent is killed, as when a pipeline dies; its child works on and is named."""
    program = (
        "import os, sys, time; from pathlib import Path\n"
        "from searchless_rl.unfinished import exclusive\n"
        "if os.fork() == 0:\n"
        "    with exclusive(Path(sys.argv[1])):\n"
        "        time.sleep(60)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
    lock, deadline = tmp_path / "lock", time.monotonic() + 30
    while not (lock.exists() and lock.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.02)
    orphan = int(lock.read_text())
    parent.kill()
    parent.wait()
    try:
        assert orphan != parent.pid
        with (
            pytest.raises(Busy, match=rf"process {orphan} is working here.*kill {orphan}"),
            exclusive(tmp_path),
        ):
            pass
    finally:
        os.kill(orphan, signal.SIGKILL)
    while Path(f"/proc/{orphan}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    with exclusive(tmp_path):
        pass


# --- manifests -------------------------------------------------------------------------------------

INPUTS = {"seed": 1, "params": {"beta": 0.1, "names": ("a", "b")}}


def test_the_same_inputs_and_code_continue(tmp_path):
    assert not claim(tmp_path, INPUTS, "code", ("work", "more"))
    (tmp_path / "work").write_text("half")
    (tmp_path / "more").write_text("half")
    assert claim(tmp_path, INPUTS, "code", ("work", "more"))
    assert (tmp_path / "work").read_text() == "half"
    with pytest.warns(UserWarning, match="begun with other code"):
        assert not claim(tmp_path, INPUTS, "other", ("work", "more"))
    assert {path.name for path in tmp_path.iterdir()} == {MANIFEST}


def test_other_inputs_are_refused_with_each_difference(tmp_path):
    claim(tmp_path, INPUTS, "code", ("work",))
    (tmp_path / "work").write_text("half")
    changed = {"seed": 2, "params": {"beta": 0.1, "names": ("a", "b"), "tau": 1}}
    with pytest.raises(
        CannotContinue, match=r"\(params\.tau: None then, 1 now; seed: 1 then, 2 now\); restore them .*delete"
    ):
        claim(tmp_path, changed, "code", ("work",))


@pytest.mark.parametrize("content", ["", "{", "[]", "3", '{"inputs": {}}', "[" * 100_000, None])
def test_a_damaged_or_lost_manifest_is_named(tmp_path, content):
    claim(tmp_path, INPUTS, "code", ("work",))
    (tmp_path / "work").write_text("half")
    if content is None:
        (tmp_path / MANIFEST).unlink()
    else:
        (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(
        CannotContinue, match=rf"{MANIFEST}: not readable .*; delete {tmp_path} to start again"
    ):
        claim(tmp_path, INPUTS, "code", ("work",))


# --- kept results ----------------------------------------------------------------------------------


def _finish(folder):
    out = folder / "out"
    out.mkdir(parents=True)
    (out / "result").write_text("done")
    claim(folder, INPUTS, "code", ("work",))
    (folder / "work").write_text("whole")
    keep_results(folder, INPUTS, "code", out, ("result",), ("work",))
    return out


def test_kept_results_are_restored_and_the_work_is_removed(tmp_path):
    out = _finish(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"out", FINISHED}
    (out / "result").unlink()
    (tmp_path / "work").write_text("left by a kill")
    assert restore_results(tmp_path, INPUTS, "code", out, ("work",))
    assert (out / "result").read_text() == "done"
    assert {path.name for path in tmp_path.iterdir()} == {"out", FINISHED}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"inputs": 1, "code_sha256": "code", "files": 3}'])
def test_damaged_kept_results_are_dropped(tmp_path, content):
    out = _finish(tmp_path)
    (tmp_path / FINISHED / MANIFEST).write_text(content)
    assert not restore_results(tmp_path, INPUTS, "code", out, ("work",))
    assert not (tmp_path / FINISHED).exists()


def test_results_are_dropped_everywhere_but_where_a_process_works(tmp_path):
    for name in ("cells/a", "cells/b", "control"):
        _finish(tmp_path / name)
    with exclusive(tmp_path / "cells" / "b"):
        drop_results(tmp_path)
    assert [path.parent.name for path in sorted(tmp_path.rglob(FINISHED))] == ["b"]
