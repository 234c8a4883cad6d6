"""The stage `train`."""

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

from searchless_rl.cells import Cell, Variant
from searchless_rl.code import code_of
from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.interruption import Interrupted, deferred_signals
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.precision import resolve_precision
from searchless_rl.params import SelfPlayParams
from searchless_rl.selfplay.callbacks import Checkpointer, CheckpointFiles, MetricsWriter, StepProgress
from searchless_rl.selfplay.checkpoint import usable
from searchless_rl.selfplay.diagnostics import final_means
from searchless_rl.selfplay.game_statistics import RUNNING_COUNTS
from searchless_rl.selfplay.guards import TrainingFailure, failures_explained
from searchless_rl.selfplay.module import SelfPlayModule
from searchless_rl.selfplay.warm_start import read_games
from searchless_rl.unfinished import claim, exclusive, keep_results, restore_results

CHECKPOINT, METRICS = "last.ckpt", "metrics.jsonl"
WORK = (CHECKPOINT, METRICS)
RESULTS = ("weights.pb.gz", METRICS, "cell.json")

_CHANGES: dict[Variant, dict[str, Any]] = {
    "full": {},
    "no_rho": {"importance_cap": None},
    "no_ema": {"ema_decay": 0.0},  # the EMA is the online network then: targets, τ and what is evaluated
    "online_tau": {"temperature_source": "online"},
    "no_value_loss": {"value_coefficient": 0.0, "base_wdl_coefficient": 0.0},
}


def with_variant(params: SelfPlayParams, variant: Variant) -> SelfPlayParams:
    """The parameters of the method with one part left out, to see what each contributes (paper section 3)."""
    return params.model_copy(update=_CHANGES[variant])


def train_cell(
    cell: Cell,
    params: SelfPlayParams,
    *,
    base: Path,
    warm_start: Path,
    out: Path,
    scratch: Path,
    show_progress: bool = False,
) -> None:
    """Train one cell and write weights.pb.gz (EMA), metrics.jsonl and cell.json into `out`.

    An interrupted run continues from its last checkpoint in `scratch`. The results stay there too until
    `unfinished.drop_results` is called: a run with the same inputs restores them at once.

    Raises:
        Busy: another process trains the same cell.
        CannotContinue: `scratch` holds a run with other inputs, or a damaged one.
        TrainingFailure: the loss is not finite, or memory does not suffice.
        Interrupted: a signal ended the run, which is saved.
    """
    params = with_variant(params, cell.variant)
    precision = resolve_precision(params.precision)
    inputs = {
        "cell": cell.id,
        "base_sha256": sha256_of(base),
        "warm_start_sha256": sha256_of(warm_start),
        "precision": precision,
        "params": params.model_dump(),
    }
    origin = inputs | {"threads": torch.get_num_threads()}
    code = code_of(__name__)
    with exclusive(scratch):
        if restore_results(scratch, origin, code, out, WORK):
            return
        claim(scratch, origin, code, WORK)
        module = SelfPlayModule(load_network(base), read_games(warm_start), cell, params)
        with failures_explained(base, scratch / CHECKPOINT):
            _fit(module, scratch, precision, show_progress)
        lines = (scratch / METRICS).read_text(encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        save_network(module.ema, out / "weights.pb.gz", training_steps=params.steps)
        write_atomically(out / METRICS, lines)
        write_json(out / "cell.json", inputs | {"final": final_means(lines, RUNNING_COUNTS)})
        keep_results(scratch, origin, code, out, RESULTS, WORK)


def _fit(module: SelfPlayModule, scratch: Path, precision: str, show_progress: bool) -> None:
    for name in ("pytorch_lightning", "lightning"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # The data loader carries one empty batch per step, since the module makes its own data: advice on
    # workers and on resuming a loader does not apply. The third is Lightning's own use of torch.
    for message in (".*does not have many workers.*", ".*dataloader is not resumable.*", ".*LeafSpec.*"):
        warnings.filterwarnings("ignore", message=message)
    metrics = MetricsWriter(scratch / METRICS)
    checkpoint = scratch / CHECKPOINT
    ticks: Any = range(module.params.steps)
    steps: Any = torch.utils.data.DataLoader(ticks, batch_size=None)
    with deferred_signals() as stop:
        checkpointer = Checkpointer(checkpoint, module.params.checkpoint_every, metrics, stop)
        progress = [StepProgress(module.cell.id)] if show_progress else []
        # Lightning brings devices, precision, the loop and what a resume restores; metrics, checkpoints and
        # progress are ours, since a run has to continue to the bit from any instant. Its plain environment is
        # named, and its root is `scratch`, so that a Slurm or torchrun job around it changes nothing.
        trainer = pl.Trainer(
            max_steps=module.params.steps,
            max_epochs=-1,
            accelerator="auto",
            devices=1,
            precision="bf16-mixed" if precision == "bf16" else "32-true",
            callbacks=[metrics, checkpointer, *progress],
            plugins=[CheckpointFiles(), LightningEnvironment()],
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
                trainer.fit(module, steps, ckpt_path=resumed, weights_only=True)
            except Exception as error:
                if resumed is None or metrics.started:
                    raise
                with usable(resumed):  # Lightning could not restore it
                    raise error
    if trainer.global_step == module.params.steps:
        return
    if stop.signal is not None:
        raise Interrupted(f"{module.cell.id}: stopped by {stop.signal.name}", stop.signal)
    raise TrainingFailure(f"{module.cell.id}: ended at step {trainer.global_step}; run again to continue.")
