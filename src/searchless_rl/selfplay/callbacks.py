"""Lightning callbacks of a cell: metrics as JSON lines, checkpoints, progress."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.io import TorchCheckpointIO
from tqdm import tqdm

from searchless_rl.files import atomic_writer
from searchless_rl.interruption import StopRequest
from searchless_rl.selfplay.module import SelfPlayModule


class WholeCheckpoints(TorchCheckpointIO):
    """Checkpoints written aside, synced and renamed: a full disk or a kill leaves the old one."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None
    ) -> None:
        """Write `checkpoint` to `path`, whole or not at all."""
        with atomic_writer(Path(path)) as stream:
            torch.save(checkpoint, stream)


class MetricsWriter(pl.Callback):
    """One JSON line per optimizer step, ``step`` counting from 1; a resumed run continues the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: IO[str] | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Cut the file back to the step training starts from, a torn last line included.

        It is cut in place: a kill at any instant leaves the lines that the checkpoint counts on.
        """
        kept = self._path.read_bytes().splitlines(keepends=True) if self._path.exists() else []
        kept = kept[: trainer.global_step]
        if len(kept) != trainer.global_step or any(not line.endswith(b"\n") for line in kept):
            raise ValueError(
                f"{self._path}: fewer lines than the {trainer.global_step} steps of the checkpoint "
                f"beside it; delete {self._path.parent} to start the cell again"
            )
        if kept:
            os.truncate(self._path, sum(map(len, kept)))
        self._stream = self._path.open("a" if kept else "w", encoding="utf-8")

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write the step's record."""
        assert isinstance(pl_module, SelfPlayModule)
        assert self._stream is not None
        line = {"step": trainer.global_step} | pl_module.record
        self._stream.write(json.dumps(line, allow_nan=False) + "\n")

    def sync(self) -> None:
        """Everything written so far is on disk when this returns."""
        if self._stream is not None:
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Close the file."""
        if self._stream is not None:
            self.sync()
            self._stream.close()
            self._stream = None


class Checkpointer(pl.Callback):
    """Every `every` steps, one checkpoint that replaces the last; metrics reach the disk before it.

    When a signal asks for the end, the step in work is finished and saved, and training stops.
    """

    def __init__(self, path: Path, every: int, metrics: MetricsWriter, stop: StopRequest) -> None:
        self._path = path
        self._every = every
        self._metrics = metrics
        self._stop = stop

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Save where it is due."""
        asked = self._stop.signal is not None
        if asked or trainer.global_step % self._every == 0 or trainer.global_step == trainer.max_steps:
            self._metrics.sync()
            trainer.save_checkpoint(self._path)
        if asked:
            trainer.should_stop = True


class Progress(pl.Callback):
    """A progress bar over the optimizer steps."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._bar: tqdm[Any] | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Open the bar at the step training starts from."""
        self._bar = tqdm(total=trainer.max_steps, initial=trainer.global_step, desc=self._label, unit="step")

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Advance."""
        if self._bar is not None:
            self._bar.update()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
