"""The stage `train`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from searchless_rl.cells import Cell, Variant
from searchless_rl.code import code_of
from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.precision import resolve_precision
from searchless_rl.params import SelfPlayParams
from searchless_rl.selfplay.diagnostics import final_means
from searchless_rl.selfplay.fitting import CHECKPOINT, METRICS, WORK, fit
from searchless_rl.selfplay.game_statistics import RUNNING_COUNTS
from searchless_rl.selfplay.guards import failures_explained
from searchless_rl.selfplay.module import SelfPlayModule
from searchless_rl.selfplay.warm_start import read_games
from searchless_rl.unfinished import claim, exclusive, keep_results, restore_results

KEYS = ("state_dict", "optimizer_states", "lr_schedulers", "loops", "games", "statistics", "micro_batch")
"""Parts of a checkpoint without which a cell cannot go on."""
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
            fit(
                module,
                cell.id,
                scratch,
                steps=params.steps,
                checkpoint_every=params.checkpoint_every,
                precision=precision,
                keys=KEYS,
                show_progress=show_progress,
            )
        lines = (scratch / METRICS).read_text(encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        save_network(module.ema, out / "weights.pb.gz", training_steps=params.steps)
        write_atomically(out / METRICS, lines)
        write_json(out / "cell.json", inputs | {"final": final_means(lines, RUNNING_COUNTS)})
        keep_results(scratch, origin, code, out, RESULTS, WORK)
