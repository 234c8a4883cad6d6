"""Lightning's loop around a module that makes its own batches: resumable to the bit from any instant."""

from __future__ import annotations

import contextlib
import logging
import warnings
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from lightning_fabric.plugins.environments.lightning import LightningEnvironment
from pytorch_lightning.utilities.exceptions import SIGTERMException

from searchless_rl.interruption import Interrupted, deferred_signals
from searchless_rl.selfplay.callbacks import Checkpointer, CheckpointFiles, MetricsWriter, StepProgress
from searchless_rl.selfplay.checkpoint import usable
from searchless_rl.selfplay.guards import TrainingFailure

CHECKPOINT, METRICS = "last.ckpt", "metrics.jsonl"
WORK = (CHECKPOINT, METRICS)
"""What unfinished training leaves in its scratch folder."""


def fit(
    module: pl.LightningModule,
    label: str,
    scratch: Path,
    *,
    steps: int,
    checkpoint_every: int,
    precision: str,
    keys: tuple[str, ...],
    show_progress: bool,
) -> None:
    """Train until `steps` optimizer steps are done, from the last checkpoint in `scratch` if there is one.

    Args:
        module: its attribute `record` is written as a line of metrics after every step.
        label: what is trained, for messages and progress.
        scratch: where checkpoint and metrics are.
        steps: optimizer steps in all.
        checkpoint_every: steps between checkpoints.
        precision: "float32" or "bf16".
        keys: parts of a checkpoint without which the module cannot go on.
        show_progress: on stderr.

    Raises:
        CannotContinue: the checkpoint is damaged.
        TrainingFailure: training ended early without a reason.
        Interrupted: a signal ended it; what was done is saved.
    """
    for name in ("pytorch_lightning", "lightning"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # The data loader carries one empty batch per step, since the module makes its own data: advice on
    # workers and on resuming a loader does not apply. The third is Lightning's own use of torch.
    for message in (".*does not have many workers.*", ".*dataloader is not resumable.*", ".*LeafSpec.*"):
        warnings.filterwarnings("ignore", message=message)
    metrics = MetricsWriter(scratch / METRICS)
    checkpoint = scratch / CHECKPOINT
    ticks: Any = range(steps)
    batches: Any = torch.utils.data.DataLoader(ticks, batch_size=None)
    with deferred_signals() as stop:
        checkpointer = Checkpointer(checkpoint, checkpoint_every, metrics, stop)
        progress = [StepProgress(label)] if show_progress else []
        # Lightning brings devices, precision, the loop and what a resume restores; metrics, checkpoints and
        # progress are ours, since a run has to continue to the bit from any instant. Its plain environment is
        # named, and its root is `scratch`, so that a Slurm or torchrun job around it changes nothing.
        trainer = pl.Trainer(
            max_steps=steps,
            max_epochs=-1,
            accelerator="auto",
            devices=1,
            precision="bf16-mixed" if precision == "bf16" else "32-true",
            callbacks=[metrics, checkpointer, *progress],
            plugins=[CheckpointFiles(keys), LightningEnvironment()],
            default_root_dir=scratch,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            deterministic="warn",
        )
        resumed = checkpoint if checkpoint.exists() else None
        with contextlib.suppress(SIGTERMException):  # raised by Lightning after the step, which is saved
            try:
                trainer.fit(module, batches, ckpt_path=resumed, weights_only=True)
            except Exception as error:
                if resumed is None or metrics.started:
                    raise
                with usable(resumed):  # Lightning could not restore it
                    raise error
    if trainer.global_step == steps:
        return
    if stop.signal is not None:
        raise Interrupted(f"{label}: stopped by {stop.signal.name}", stop.signal)
    raise TrainingFailure(f"{label}: ended at step {trainer.global_step}; run again to continue.")
