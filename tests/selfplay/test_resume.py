"""Interruptions leave no trace: signals, kills at any instant, full disks, lost memory, locks."""

import gzip
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from searchless_rl.cells import Cell
from searchless_rl.interruption import Interrupted
from searchless_rl.selfplay import callbacks, module, stage
from searchless_rl.selfplay.memory import is_out_of_memory
from searchless_rl.selfplay.module import SelfPlayModule, TrainingFailure
from searchless_rl.selfplay.stage import CHECKPOINT, METRICS, train_cell
from searchless_rl.selfplay.warm_start import make_warm_start
from searchless_rl.unfinished import Busy, exclusive

RESULTS = ("weights.pb.gz", "metrics.jsonl", "cell.json")


@pytest.fixture
def warm_start(tmp_path, micro, params):
    path = tmp_path / "warm_start" / "s0.json"
    make_warm_start(micro, path, games=params.games, full_moves=3, seed=0, batch_size=4)
    return path


def _results(folder):
    return {name: (folder / "out" / name).read_bytes() for name in RESULTS}


def _train(cell, params, micro, warm_start, folder):
    train_cell(
        cell, params, base=micro, warm_start=warm_start, out=folder / "out", scratch=folder / "scratch"
    )
    return _results(folder)


def _checkpointed_step(folder):
    return torch.load(folder / "scratch" / CHECKPOINT, weights_only=True)["global_step"]


class _Stop(Exception):
    pass


def _at_step(monkeypatch, step, action):
    """Do something when training reaches a step; returns how to undo that."""
    training_step = SelfPlayModule.training_step

    def acting(self, batch, index):
        if self.global_step == step:
            action()
        training_step(self, batch, index)

    monkeypatch.setattr(SelfPlayModule, "training_step", acting)
    return lambda: monkeypatch.setattr(SelfPlayModule, "training_step", training_step)


def _stop():
    raise _Stop


@pytest.mark.parametrize("stop_at", [1, 2, 3, 5])
def test_an_interrupted_cell_continues_bit_identically(
    tmp_path, monkeypatch, micro, params, warm_start, cell, stop_at
):
    """Interrupted before, at and after a checkpoint (every 2 steps of 6), with a torn metrics line."""
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    undo = _at_step(monkeypatch, stop_at, _stop)
    with pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path / "cut")
    with (tmp_path / "cut" / "scratch" / METRICS).open("a") as stream:
        stream.write('{"step": 99, "lo')
    undo()
    assert _train(cell, params, micro, warm_start, tmp_path / "cut") == expected


@pytest.mark.parametrize(
    "changed", [{"root_randomization": 3}, {"beta_final": 0.1}, {"promotions": "merged"}]
)
def test_extensions_continue_bit_identically_too(
    tmp_path, monkeypatch, micro, params, warm_start, cell, changed
):
    params = params.model_copy(update={"steps": 12, "checkpoint_every": 5, "max_plies": 14} | changed)
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    assert json.loads(expected["metrics.jsonl"].splitlines()[-1])["openings_played"] > 0
    undo = _at_step(monkeypatch, 8, _stop)
    with pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path / "cut")
    undo()
    assert _train(cell, params, micro, warm_start, tmp_path / "cut") == expected


def test_other_code_starts_an_unfinished_cell_again(tmp_path, monkeypatch, micro, params, warm_start, cell):
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    undo = _at_step(monkeypatch, 3, _stop)
    with pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path)
    undo()
    monkeypatch.setattr(stage, "code_of", lambda *_: "other")
    with pytest.warns(UserWarning, match="begun with other code"):
        assert _train(cell, params, micro, warm_start, tmp_path) == expected


def test_resuming_with_other_inputs_is_refused_with_the_difference(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    undo = _at_step(monkeypatch, 3, _stop)
    with pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path)
    undo()
    changed = params.model_copy(update={"value_coefficient": 0.3, "promotions": "merged"})
    with pytest.raises(
        TrainingFailure, match=r"promotions: 'separate' then, 'merged' now; .*0\.2 then, 0\.3"
    ):
        _train(cell, changed, micro, warm_start, tmp_path)


@pytest.mark.parametrize("key", ["base_sha256", "warm_start_sha256", "threads"])
def test_other_files_or_threads_are_refused(tmp_path, monkeypatch, micro, params, warm_start, cell, key):
    """Files that keep their names and change their bytes, even where they mean the same."""
    base = tmp_path / "base.pb.gz"
    base.write_bytes(micro.read_bytes())
    undo = _at_step(monkeypatch, 3, _stop)
    with pytest.raises(_Stop):
        _train(cell, params, base, warm_start, tmp_path)
    undo()
    if key == "base_sha256":
        base.write_bytes(gzip.compress(gzip.decompress(base.read_bytes()), 1))
    elif key == "warm_start_sha256":
        warm_start.write_text(warm_start.read_text() + "\n")
    else:
        monkeypatch.setattr(stage.torch, "get_num_threads", lambda: 7)
    with pytest.raises(TrainingFailure, match=rf"with other inputs \({key}: .* then, .* now\);"):
        _train(cell, params, base, warm_start, tmp_path)


def test_lost_metrics_are_refused(tmp_path, monkeypatch, micro, params, warm_start, cell):
    undo = _at_step(monkeypatch, 3, _stop)
    with pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path)
    undo()
    metrics = tmp_path / "scratch" / METRICS
    first = metrics.read_text().splitlines(keepends=True)[0]
    metrics.unlink()  # a new file: the stopped run may still hold the old one
    metrics.write_text(first)
    with pytest.raises(ValueError, match=r"metrics\.jsonl: fewer lines than the 2 steps of the checkpoint"):
        _train(cell, params, micro, warm_start, tmp_path)


def test_metrics_are_on_disk_before_the_checkpoint(tmp_path, monkeypatch, micro, params, warm_start, cell):
    """A kill or a power cut right after a checkpoint finds the line of each of its steps."""
    fsync, save = os.fsync, callbacks.WholeCheckpoints.save_checkpoint
    synced, saved = {}, []

    def noted(descriptor):
        fsync(descriptor)
        status = os.fstat(descriptor)
        synced[status.st_ino] = status.st_size

    def saving(self, checkpoint, path, storage_options=None):
        metrics = Path(path).with_name(METRICS)
        saved.append(checkpoint["global_step"])
        assert len(metrics.read_text().splitlines()) == checkpoint["global_step"]
        assert synced.get(metrics.stat().st_ino) == metrics.stat().st_size
        save(self, checkpoint, path, storage_options)

    monkeypatch.setattr(callbacks.os, "fsync", noted)
    monkeypatch.setattr(callbacks.WholeCheckpoints, "save_checkpoint", saving)
    _train(cell, params, micro, warm_start, tmp_path)
    assert saved == [2, 4, 6]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_the_step_and_ends_with_its_own_status(
    tmp_path, monkeypatch, micro, params, warm_start, cell, number
):
    """No checkpoint is due: the one that is there was saved because of the signal."""
    params = params.model_copy(update={"checkpoint_every": 1000})
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    undo = _at_step(monkeypatch, 3, lambda: os.kill(os.getpid(), number))
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match=f"stopped by {number.name}") as stop:
        _train(cell, params, micro, warm_start, tmp_path / "cut")
    assert stop.value.signal == number
    assert _checkpointed_step(tmp_path / "cut") == 4
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers
    assert not (tmp_path / "cut" / "out").exists()
    undo()
    assert _train(cell, params, micro, warm_start, tmp_path / "cut") == expected


def test_a_second_signal_ends_at_once(tmp_path, monkeypatch, micro, params, warm_start, cell):
    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    undo = _at_step(monkeypatch, 3, twice)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        _train(cell, params, micro, warm_start, tmp_path)
    assert _checkpointed_step(tmp_path) == 2
    undo()
    _train(cell, params, micro, warm_start, tmp_path)


def test_a_full_disk_at_a_checkpoint_leaves_the_old_one(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    """/dev/full in spirit: the second checkpoint fails half-way through."""
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    save, calls = torch.save, []

    def failing(value, stream):
        calls.append(1)
        if len(calls) == 2:
            stream.write(b"half")
            raise OSError(28, "No space left on device")
        save(value, stream)

    monkeypatch.setattr(callbacks.torch, "save", failing)
    with pytest.raises(OSError, match=r"No space left on device.*last\.ckpt"):
        _train(cell, params, micro, warm_start, tmp_path / "full")
    assert {path.name for path in (tmp_path / "full" / "scratch").iterdir()} == {
        *(CHECKPOINT, METRICS, "inputs.json", "lock")
    }
    assert _checkpointed_step(tmp_path / "full") == 2
    assert _train(cell, params, micro, warm_start, tmp_path / "full") == expected


def _limit_memory(monkeypatch, most, message="CUDA out of memory. Tried to allocate 2.00 GiB"):
    """The online network's backward pass fails for more than `most` positions at once, after the moves."""
    losses, sizes = module.losses, []

    def limited(log_policy, *rest):
        sizes.append(len(log_policy))
        if len(log_policy) > most:
            raise torch.OutOfMemoryError(message)
        return losses(log_policy, *rest)

    monkeypatch.setattr(module, "losses", limited)
    return sizes


def test_out_of_memory_halves_the_micro_batch_and_nothing_else(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    """6 games fail, 3 at a time pass: bit by bit the run that was told 3 from the start."""
    expected = _train(cell, params.model_copy(update={"micro_batch": 3}), micro, warm_start, tmp_path / "3")
    sizes = _limit_memory(monkeypatch, 3)
    with pytest.warns(UserWarning, match=r"out of memory at step 1; going on with 3 positions"):
        found = _train(cell, params, micro, warm_start, tmp_path / "6")
    assert found["weights.pb.gz"] == expected["weights.pb.gz"]
    assert found["metrics.jsonl"] == expected["metrics.jsonl"]
    assert sizes == [6] + [3] * (2 * params.steps)


def test_memory_lost_half_way_leaves_no_gradient_behind(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    """4 of 6 games have left their gradient when the other two fail."""
    params = params.model_copy(update={"micro_batch": 2})
    expected = _train(cell, params, micro, warm_start, tmp_path / "2")
    losses, sizes = module.losses, []

    def limited(log_policy, *rest):
        sizes.append(len(log_policy))
        if len(sizes) == 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return losses(log_policy, *rest)

    monkeypatch.setattr(module, "losses", limited)
    with pytest.warns(UserWarning, match=r"out of memory at step 1; going on with 2 positions"):
        found = _train(cell, params.model_copy(update={"micro_batch": 4}), micro, warm_start, tmp_path / "4")
    assert sizes == [4, 2] + [2, 2, 2] * params.steps
    assert found["weights.pb.gz"] == expected["weights.pb.gz"]
    assert found["metrics.jsonl"] == expected["metrics.jsonl"]


def test_lost_memory_is_recognised_on_the_cpu():
    with pytest.raises(RuntimeError) as lost:
        torch.empty(2**50, dtype=torch.uint8)
    assert is_out_of_memory(lost.value)
    assert not is_out_of_memory(RuntimeError("shapes do not match"))
    assert not is_out_of_memory(MemoryError("DefaultCPUAllocator"))


def test_a_lowered_micro_batch_is_kept_over_an_interruption(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    sizes = _limit_memory(monkeypatch, 3)
    undo = _at_step(monkeypatch, 3, _stop)
    with pytest.warns(UserWarning, match="out of memory"), pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path)
    undo()
    del sizes[:]
    _train(cell, params, micro, warm_start, tmp_path)
    assert set(sizes) == {3}


def test_out_of_memory_with_one_position_stops_with_the_cell_and_step(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    _limit_memory(monkeypatch, 0)
    with (
        pytest.warns(UserWarning, match="out of memory"),
        pytest.raises(
            TrainingFailure, match=r"forward_kl-adaptive-0.01-s0: out of memory with one .* at step 1"
        ),
    ):
        _train(cell, params, micro, warm_start, tmp_path)


def test_other_errors_are_not_taken_for_lost_memory(tmp_path, monkeypatch, micro, params, warm_start, cell):
    def broken(*_):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(module, "losses", broken)
    with pytest.raises(RuntimeError, match="^shapes do not match$"):
        _train(cell, params, micro, warm_start, tmp_path)


def test_metrics_are_on_disk_the_moment_a_cell_resumes(tmp_path):
    """A kill right after a resume, before anything is flushed, must leave what the checkpoint counts on."""
    path = tmp_path / METRICS
    path.write_text("".join(f'{{"step": {step}}}\n' for step in range(1, 6)) + '{"st')
    writer = callbacks.MetricsWriter(path)
    writer.on_train_start(SimpleNamespace(global_step=3), None)
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n{"step": 3}\n'
    with pytest.raises(ValueError, match=r"metrics.jsonl: fewer lines than the 4 steps"):
        callbacks.MetricsWriter(path).on_train_start(SimpleNamespace(global_step=4), None)


# --- kill -9 ---------------------------------------------------------------------------------------

PLACES = ("anywhere", "mid-step", "mid-checkpoint", "mid-line")


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def _doomed(place, countdown, delay, arguments):
    """Run in a fresh process: train, and die in the given place at its `countdown`-th occasion."""
    torch.set_num_threads(1)
    cell, params, micro, warm_start, folder = arguments
    occasions = [countdown]

    def due():
        occasions[0] -= 1
        return occasions[0] == 0

    if place == "mid-step":  # moves are played, gradients half summed, parameters not yet moved
        losses = module.losses
        module.losses = lambda *given: (_die() if due() else None) or losses(*given)
    elif place == "mid-checkpoint":
        save = torch.save

        def half(value, stream):
            if due():
                stream.write(b"PK\x03\x04 half a checkpoint")
                stream.flush()
                _die()
            save(value, stream)

        callbacks.torch.save = half
    elif place == "mid-line":
        dumps = json.dumps

        def torn(value, **options):
            text = dumps(value, **options)
            if "step" in value and due():
                path = folder / "scratch" / METRICS
                with path.open("a") as stream:
                    stream.write(text[: len(text) // 2])
                _die()
            return text

        callbacks.json.dumps = torn
    else:
        signal.setitimer(signal.ITIMER_REAL, delay)  # whose default action ends the process like a kill
    train_cell(
        cell, params, base=micro, warm_start=warm_start, out=folder / "out", scratch=folder / "scratch"
    )


def kill_repeatedly(arguments, kills, seed, longest):
    """Kill a cell's training `kills` times in seeded places; returns how often it died in each.

    Processes are forked from one that has imported everything, so that a kill costs no imports.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["searchless_rl.selfplay.stage", __name__])
    rng = random.Random(seed)
    died = dict.fromkeys(PLACES, 0)
    while sum(died.values()) < kills:
        place = PLACES[sum(died.values()) % len(PLACES)]
        countdown = rng.randrange(1, 4 if place != "mid-checkpoint" else 2)
        process = context.Process(
            target=_doomed, args=(place, countdown, rng.uniform(0.3, longest), arguments)
        )
        process.start()
        process.join()
        if process.exitcode == 0:
            break
        assert process.exitcode in (-signal.SIGKILL, -signal.SIGALRM)
        died[place] += 1
    return died


@pytest.mark.slow
def test_killed_ten_times_at_random_points_it_is_the_same_cell(tmp_path, micro, params, warm_start, cell):
    params = params.model_copy(update={"steps": 60, "checkpoint_every": 4, "max_plies": 24})
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    folder = tmp_path / "killed"
    died = kill_repeatedly((cell, params, micro, warm_start, folder), kills=10, seed=5, longest=1.2)
    assert sum(died.values()) == 10
    assert min(died.values()) >= 2
    assert _train(cell, params, micro, warm_start, folder) == expected


# --- locks -----------------------------------------------------------------------------------------


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


def test_a_cell_in_work_is_not_trained_twice(tmp_path, micro, params, warm_start, cell):
    with exclusive(tmp_path / "scratch"), pytest.raises(Busy, match=f"process {os.getpid()} is working here"):
        _train(cell, params, micro, warm_start, tmp_path)
    assert not (tmp_path / "out").exists()


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


def test_cell_ids_with_a_variant_train_that_variant(tmp_path, micro, params, warm_start, cell):
    whole = _train(cell, params, micro, warm_start, tmp_path / "full")
    bare = _train(Cell.parse(f"{cell.id}-no_ema"), params, micro, warm_start, tmp_path / "no_ema")
    assert bare["weights.pb.gz"] != whole["weights.pb.gz"]
    assert json.loads(bare["cell.json"])["params"]["ema_decay"] == 0
