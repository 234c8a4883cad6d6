"""Lightning callbacks of a training: metrics as JSON lines, checkpoints, progress."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

import pytorch_lightning as pl
from pytorch_lightning.plugins.io import TorchCheckpointIO

from searchless_rl.interruption import StopRequest
from searchless_rl.progress import Progress
from searchless_rl.selfplay.checkpoint import read_checkpoint, require_optimizer, usable, write_checkpoint
from searchless_rl.unfinished import CannotContinue


class CheckpointFiles(TorchCheckpointIO):
    """Lightning's checkpoints as the files of `selfplay.checkpoint`: whole, hashed, and never executed.

    Args:
        keys: parts without which a checkpoint is not one of this training.
    """

    def __init__(self, keys: tuple[str, ...]) -> None:
        super().__init__()
        self._keys = keys

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None
    ) -> None:
        """Write `checkpoint` to `path`, whole or not at all."""
        write_checkpoint(Path(path), checkpoint)

    def load_checkpoint(
        self, path: str | os.PathLike[str], map_location: Any = None, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Read a checkpoint onto the CPU, whatever Lightning asks for; it is held against its hash.

        Raises:
            CannotContinue: it is damaged or not one of this training.
        """
        checkpoint = read_checkpoint(Path(path), self._keys)
        with usable(Path(path)):
            for optimizer in checkpoint["optimizer_states"]:
                require_optimizer(optimizer)
        return checkpoint


class MetricsWriter(pl.Callback):
    """One JSON line per optimizer step, ``step`` counting from 1; a resumed run continues the file.

    Attributes:
        started: whether training has begun, with everything restored that it resumes from.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stream: IO[str] | None = None
        self.started = False

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Cut the file back to the step training starts from, a torn last line included.

        It is cut in place: a kill at any instant leaves the lines that the checkpoint counts on.

        Raises:
            CannotContinue: lines are missing.
        """
        kept = self._path.read_bytes().splitlines(keepends=True) if self._path.exists() else []
        kept = kept[: trainer.global_step]
        if len(kept) != trainer.global_step or any(not line.endswith(b"\n") for line in kept):
            reason = f"fewer lines than the {trainer.global_step} steps of the checkpoint beside it"
            raise CannotContinue.from_file(self._path, reason)
        if kept:
            os.truncate(self._path, sum(map(len, kept)))
        self._stream = self._path.open("a" if kept else "w", encoding="utf-8")
        self.started = True

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Write the step's record."""
        assert self._stream is not None
        record: Any = pl_module.record
        line = {"step": trainer.global_step} | record
        self._stream.write(json.dumps(line, allow_nan=False) + "\n")

    def sync(self) -> None:
        """Return when everything written so far is on disk."""
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

    After a stopping signal the step in work is finished and saved, and training ends.
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
        stopping = self._stop.signal is not None
        if stopping or trainer.global_step % self._every == 0 or trainer.global_step == trainer.max_steps:
            self._metrics.sync()
            trainer.save_checkpoint(self._path)
        if stopping:
            trainer.should_stop = True


class StepProgress(pl.Callback):
    """Progress over the optimizer steps."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._progress: Progress | None = None

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Begin at the step training starts from."""
        self._progress = Progress(self._label, trainer.max_steps, "step", initial=trainer.global_step)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Advance by a step."""
        if self._progress is not None:
            self._progress.update()

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        """End the display."""
        if self._progress is not None:
            self._progress.__exit__(None, None, None)
