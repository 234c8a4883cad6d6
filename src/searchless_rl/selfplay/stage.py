"""The stage `train`."""

from __future__ import annotations

import contextlib
import json
import logging
import warnings
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.exceptions import SIGTERMException

from searchless_rl.cells import Cell
from searchless_rl.code import code_of
from searchless_rl.files import flatten, sha256_of, write_atomically, write_json
from searchless_rl.interruption import Interrupted, deferred_signals
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.params import SelfPlayParams
from searchless_rl.selfplay.callbacks import Checkpointer, MetricsWriter, Progress, WholeCheckpoints
from searchless_rl.selfplay.ledger import RUNNING_COUNTS
from searchless_rl.selfplay.module import SelfPlayModule, TrainingFailure
from searchless_rl.selfplay.precision import resolve_precision
from searchless_rl.selfplay.variants import with_variant
from searchless_rl.selfplay.warm_start import read_games
from searchless_rl.unfinished import exclusive

CHECKPOINT, METRICS, MANIFEST = "last.ckpt", "metrics.jsonl", "inputs.json"


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

    An interrupted run continues from its last checkpoint in `scratch`, which is removed at the end.

    Raises:
        Busy: another process trains the same cell.
        TrainingFailure: the loss is not finite, or `scratch` holds a run with other inputs.
        Interrupted: a signal asked for the end.
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
    with exclusive(scratch):
        _claim(scratch, inputs | {"threads": torch.get_num_threads()}, code_of(__name__))
        module = SelfPlayModule(load_network(base), read_games(warm_start), cell, params)
        _fit(module, scratch, precision, show_progress)
        lines = (scratch / METRICS).read_text(encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        save_network(module.ema, out / "weights.pb.gz")
        write_atomically(out / METRICS, lines)
        write_json(out / "cell.json", inputs | {"final": _final_means(lines)})
        for name in (CHECKPOINT, METRICS, MANIFEST):
            (scratch / name).unlink()


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
        progress = [Progress(module.cell.id)] if show_progress else []
        trainer = pl.Trainer(
            max_steps=module.params.steps,
            max_epochs=-1,
            accelerator="auto",
            devices=1,
            precision="bf16-mixed" if precision == "bf16" else "32-true",
            callbacks=[metrics, checkpointer, *progress],
            plugins=[WholeCheckpoints()],
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            deterministic="warn",
        )
        resumed = checkpoint if checkpoint.exists() else None
        with contextlib.suppress(SIGTERMException):  # raised by Lightning after the step, which is saved
            trainer.fit(module, steps, ckpt_path=resumed, weights_only=True)
    if trainer.global_step == module.params.steps:
        return
    if stop.signal is not None:
        raise Interrupted(f"{module.cell.id}: stopped by {stop.signal.name}", stop.signal)
    raise TrainingFailure(f"{module.cell.id}: ended at step {trainer.global_step}; run again to continue")


def _claim(scratch: Path, inputs: dict[str, Any], code: str) -> None:
    """Begin anew, or go on with an unfinished run that had the same inputs and the same code."""
    manifest, checkpoint = scratch / MANIFEST, scratch / CHECKPOINT
    unfinished = _read_manifest(manifest) if checkpoint.exists() else {}
    if unfinished.pop("code_sha256", None) != code:
        if unfinished:
            warnings.warn(f"{scratch}: begun with other code, so it starts again", stacklevel=2)
        checkpoint.unlink(missing_ok=True)
        (scratch / METRICS).unlink(missing_ok=True)
        write_json(manifest, inputs | {"code_sha256": code})
        return
    before, now = flatten(unfinished), flatten(json.loads(json.dumps(inputs)))
    changed = [
        f"{key}: {before.get(key)!r} then, {now.get(key)!r} now"
        for key in sorted(before | now)
        if before.get(key) != now.get(key)
    ]
    if changed:
        raise TrainingFailure(
            f"{scratch} holds an unfinished run with other inputs ({'; '.join(changed)}); "
            "restore them to continue it, or delete the folder to start again"
        )


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingFailure(
            f"{path}: not readable ({error}); delete {path.parent} to start again"
        ) from error
    return content


def _final_means(lines: str, share: float = 0.1) -> dict[str, float]:
    """Mean of every metric over the last tenth of the steps (where recorded); of running counts the end."""
    records = [json.loads(line) for line in lines.splitlines()]
    last = records[-max(1, round(len(records) * share)) :]
    keys = [key for key in dict.fromkeys(key for record in last for key in record) if key != "step"]
    final = {key: _mean([record[key] for record in last if key in record]) for key in keys}
    return final | {key: records[-1][key] for key in RUNNING_COUNTS}


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
