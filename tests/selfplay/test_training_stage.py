"""A cell as a stage: files, interruption, locks, determinism."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from searchless_rl.cells import Cell
from searchless_rl.interruption import Interrupted
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.selfplay.lock import Busy, exclusive
from searchless_rl.selfplay.module import TrainingFailure
from searchless_rl.selfplay.stage import make_warm_start, train_cell
from searchless_rl.selfplay.warm_start import play_warm_start, read_games, write_games

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
    assert all(line["kl_base_policy"] >= 0 for line in lines)
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


def test_two_runs_are_bit_identical_and_seeds_and_terms_differ(tmp_path, micro, params, warm_start, cell):
    first = _train(cell, params, micro, warm_start, tmp_path / "a")
    assert _train(cell, params, micro, warm_start, tmp_path / "b") == first
    for other in ("forward_kl-adaptive-0.01-s1", "forward_kl-fixed-0.01-s0", "none-adaptive-0-s0"):
        result = _train(Cell.parse(other), params, micro, warm_start, tmp_path / other)
        assert result["weights.pb.gz"] != first["weights.pb.gz"]


class _Stop(Exception):
    pass


@pytest.mark.parametrize("stop_at", [1, 2, 3, 5])
def test_an_interrupted_cell_continues_bit_identically(
    tmp_path, monkeypatch, micro, params, warm_start, cell, stop_at
):
    """Interrupted before, at and after a checkpoint (every 2 steps of 6), with a torn metrics line."""
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    undo = _interrupt_after(monkeypatch, stop_at)
    with pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path / "cut")
    with (tmp_path / "cut" / "scratch" / "metrics.jsonl").open("a") as stream:
        stream.write('{"step": 99, "lo')
    undo()
    assert _train(cell, params, micro, warm_start, tmp_path / "cut") == expected


def _interrupt_after(monkeypatch, steps):
    """Training stops when it reaches this step; returns how to undo that."""
    from searchless_rl.selfplay.module import SelfPlayModule

    step = SelfPlayModule.training_step

    def stopping(self, batch, index):
        if self.global_step == steps:
            raise _Stop
        step(self, batch, index)

    monkeypatch.setattr(SelfPlayModule, "training_step", stopping)
    return lambda: monkeypatch.setattr(SelfPlayModule, "training_step", step)


def test_a_start_that_failed_before_its_first_checkpoint_blocks_nothing(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    good = warm_start.read_text()
    warm_start.write_text('{"moves": [[99999]]}')
    with pytest.raises(ValueError, match=r"s0\.json: not a file of warm-start games"):
        _train(cell, params, micro, warm_start, tmp_path)
    warm_start.write_text(good)
    _train(cell, params, micro, warm_start, tmp_path)


def test_other_code_starts_an_unfinished_cell_again(tmp_path, monkeypatch, micro, params, warm_start, cell):
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    undo = _interrupt_after(monkeypatch, 3)
    with pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path)
    undo()
    monkeypatch.setattr("searchless_rl.selfplay.stage.sha256_of_tree", lambda *_: "other")
    with pytest.warns(UserWarning, match="begun with other code"):
        assert _train(cell, params, micro, warm_start, tmp_path) == expected


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_training_with_its_own_status_and_the_cell_continues(
    tmp_path, monkeypatch, micro, params, warm_start, cell, number
):
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    from searchless_rl.selfplay.module import SelfPlayModule

    step = SelfPlayModule.training_step

    def signalled(self, batch, index):
        if self.global_step == 3:
            os.kill(os.getpid(), number)
        step(self, batch, index)

    monkeypatch.setattr(SelfPlayModule, "training_step", signalled)
    with pytest.raises(Interrupted, match=f"stopped by {number.name}") as stop:
        _train(cell, params, micro, warm_start, tmp_path / "cut")
    assert stop.value.signal == number
    assert not (tmp_path / "cut" / "out").exists()
    monkeypatch.setattr(SelfPlayModule, "training_step", step)
    assert _train(cell, params, micro, warm_start, tmp_path / "cut") == expected


def test_resuming_with_other_inputs_is_refused_with_the_difference(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    undo = _interrupt_after(monkeypatch, 3)
    with pytest.raises(_Stop):
        _train(cell, params, micro, warm_start, tmp_path)
    undo()
    changed = params.model_copy(update={"value_coefficient": 0.3})
    with pytest.raises(TrainingFailure, match=r"params\.value_coefficient: 0\.2 then, 0\.3 now"):
        _train(cell, changed, micro, warm_start, tmp_path)


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
        assert ready.wait(30)
        with pytest.raises(Busy, match=f"process {holder.pid} is working here"), exclusive(tmp_path):
            pass
    finally:
        release.set()
        holder.join()
    with exclusive(tmp_path):  # free again
        pass


@pytest.mark.slow
def test_kill_minus_nine_then_resume_is_bit_identical(tmp_path, micro, params, warm_start, cell):
    """A real process, really killed, whenever it happens to be."""
    params = params.model_copy(update={"steps": 60, "checkpoint_every": 7})
    expected = _train(cell, params, micro, warm_start, tmp_path / "whole")
    folder = tmp_path / "killed"
    program = (
        "import sys; from pathlib import Path\n"
        "from searchless_rl.cells import Cell; from searchless_rl.params import SelfPlayParams\n"
        "from searchless_rl.selfplay.stage import train_cell\n"
        "folder = Path(sys.argv[1])\n"
        "train_cell(Cell.parse(sys.argv[2]), SelfPlayParams.model_validate_json(sys.argv[3]),\n"
        "           base=Path(sys.argv[4]), warm_start=Path(sys.argv[5]), out=folder / 'out',\n"
        "           scratch=folder / 'scratch')\n"
    )
    command = [
        sys.executable,
        "-c",
        program,
        str(folder),
        cell.id,
        params.model_dump_json(),
        str(micro),
        str(warm_start),
    ]
    environment = os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    kills, metrics = 0, folder / "scratch" / "metrics.jsonl"
    for lines_before_kill in (5, 20, 40):
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            if metrics.exists() and (folder / "scratch" / "last.ckpt").exists():
                checkpointed = metrics.read_text(errors="replace").count("\n")
                if checkpointed >= lines_before_kill:
                    process.send_signal(signal.SIGKILL)
                    kills += process.wait() == -signal.SIGKILL
            time.sleep(0.005)
    assert kills >= 1
    assert subprocess.run(command, env=environment, stderr=subprocess.DEVNULL, check=False).returncode == 0
    assert {name: (folder / "out" / name).read_bytes() for name in RESULTS} == expected


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
