"""An interrupted cell continues to the bit, or says why it cannot."""

import gzip
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from cell_runs import Stop, at_step, stop, train

from searchless_rl.selfplay import callbacks, stage
from searchless_rl.selfplay.stage import METRICS
from searchless_rl.unfinished import CannotContinue


@pytest.mark.parametrize("stop_at", [1, 2, 3, 5])
def test_an_interrupted_cell_continues_bit_identically(
    tmp_path, monkeypatch, micro, params, warm_start, cell, stop_at
):
    """Interrupted before, at and after a checkpoint (every 2 steps of 6), with a torn metrics line."""
    expected = train(cell, params, micro, warm_start, tmp_path / "whole")
    undo = at_step(monkeypatch, stop_at, stop)
    with pytest.raises(Stop):
        train(cell, params, micro, warm_start, tmp_path / "cut")
    with (tmp_path / "cut" / "scratch" / METRICS).open("a") as stream:
        stream.write('{"step": 99, "lo')
    undo()
    assert train(cell, params, micro, warm_start, tmp_path / "cut") == expected


@pytest.mark.parametrize(
    "changed", [{"root_randomization": 3}, {"beta_final": 0.1}, {"promotions": "merged"}]
)
def test_extensions_continue_bit_identically_too(
    tmp_path, monkeypatch, micro, params, warm_start, cell, changed
):
    params = params.model_copy(update={"steps": 12, "checkpoint_every": 5, "max_plies": 14} | changed)
    expected = train(cell, params, micro, warm_start, tmp_path / "whole")
    assert json.loads(expected["metrics.jsonl"].splitlines()[-1])["openings_played"] > 0
    undo = at_step(monkeypatch, 8, stop)
    with pytest.raises(Stop):
        train(cell, params, micro, warm_start, tmp_path / "cut")
    undo()
    assert train(cell, params, micro, warm_start, tmp_path / "cut") == expected


def test_other_code_starts_an_unfinished_cell_again(tmp_path, monkeypatch, micro, params, warm_start, cell):
    expected = train(cell, params, micro, warm_start, tmp_path / "whole")
    undo = at_step(monkeypatch, 3, stop)
    with pytest.raises(Stop):
        train(cell, params, micro, warm_start, tmp_path)
    undo()
    monkeypatch.setattr(stage, "code_of", lambda *_: "other")
    with pytest.warns(UserWarning, match="begun with other code"):
        assert train(cell, params, micro, warm_start, tmp_path) == expected


def test_resuming_with_other_inputs_is_refused_with_the_difference(
    tmp_path, monkeypatch, micro, params, warm_start, cell
):
    undo = at_step(monkeypatch, 3, stop)
    with pytest.raises(Stop):
        train(cell, params, micro, warm_start, tmp_path)
    undo()
    changed = params.model_copy(update={"value_coefficient": 0.3, "promotions": "merged"})
    with pytest.raises(
        CannotContinue, match=r"params\.promotions: 'separate' then, 'merged' now; .*0\.2 then, 0\.3"
    ):
        train(cell, changed, micro, warm_start, tmp_path)


@pytest.mark.parametrize("key", ["base_sha256", "warm_start_sha256", "threads"])
def test_other_files_or_threads_are_refused(tmp_path, monkeypatch, micro, params, warm_start, cell, key):
    """Files that keep their names and change their bytes, even where they mean the same."""
    base = tmp_path / "base.pb.gz"
    base.write_bytes(micro.read_bytes())
    undo = at_step(monkeypatch, 3, stop)
    with pytest.raises(Stop):
        train(cell, params, base, warm_start, tmp_path)
    undo()
    if key == "base_sha256":
        base.write_bytes(gzip.compress(gzip.decompress(base.read_bytes()), 1))
    elif key == "warm_start_sha256":
        warm_start.write_text(warm_start.read_text() + "\n")
    else:
        monkeypatch.setattr(stage.torch, "get_num_threads", lambda: 7)
    with pytest.raises(CannotContinue, match=rf"with other inputs \({key}: .* then, .* now\);"):
        train(cell, params, base, warm_start, tmp_path)


def test_lost_metrics_are_refused(tmp_path, monkeypatch, micro, params, warm_start, cell):
    undo = at_step(monkeypatch, 3, stop)
    with pytest.raises(Stop):
        train(cell, params, micro, warm_start, tmp_path)
    undo()
    metrics = tmp_path / "scratch" / METRICS
    first = metrics.read_text().splitlines(keepends=True)[0]
    metrics.unlink()  # a new file: the stopped run may still hold the old one
    metrics.write_text(first)
    with pytest.raises(ValueError, match=r"metrics\.jsonl: fewer lines than the 2 steps of the checkpoint"):
        train(cell, params, micro, warm_start, tmp_path)


def test_metrics_are_on_disk_before_the_checkpoint(tmp_path, monkeypatch, micro, params, warm_start, cell):
    """A kill or a power cut right after a checkpoint finds the line of each of its steps."""
    fsync, save = os.fsync, callbacks.CheckpointFiles.save_checkpoint
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
    monkeypatch.setattr(callbacks.CheckpointFiles, "save_checkpoint", saving)
    train(cell, params, micro, warm_start, tmp_path)
    assert saved == [2, 4, 6]


def test_metrics_are_on_disk_the_moment_a_cell_resumes(tmp_path):
    """A kill right after a resume, before anything is flushed, must leave what the checkpoint counts on."""
    path = tmp_path / METRICS
    path.write_text("".join(f'{{"step": {step}}}\n' for step in range(1, 6)) + '{"st')
    writer = callbacks.MetricsWriter(path)
    writer.on_train_start(SimpleNamespace(global_step=3), None)
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n{"step": 3}\n'
    with pytest.raises(ValueError, match=r"metrics.jsonl: fewer lines than the 4 steps"):
        callbacks.MetricsWriter(path).on_train_start(SimpleNamespace(global_step=4), None)
