"""The stage `student`: a network distilled from labelled games, trained, validated and written."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from searchless_rl.code import code_of
from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.nets.precision import resolve_precision
from searchless_rl.nets.se_resnet import SEResNet
from searchless_rl.nets.value_scale import change_value_head
from searchless_rl.pretrain.dataset import Positions, positions_of
from searchless_rl.pretrain.grow import grow
from searchless_rl.pretrain.records import LabelledGame, ShardError, read_shard, shards
from searchless_rl.pretrain.settings import StudentParams
from searchless_rl.pretrain.student import StudentModule, losses
from searchless_rl.pretrain.surprise import epoch_rows, surprises
from searchless_rl.progress import Progress
from searchless_rl.selfplay.fitting import METRICS, WORK, fit
from searchless_rl.selfplay.guards import failures_explained
from searchless_rl.statistics.calibration import CalibrationError, fit_calibration, log_forecasts
from searchless_rl.unfinished import claim, exclusive, keep_results, restore_results

KEYS = ("state_dict", "optimizer_states", "lr_schedulers", "loops")
"""Parts of a checkpoint without which a student cannot go on."""
WEIGHTS, MANIFEST = "weights.pb.gz", "student.json"
RESULTS = (WEIGHTS, METRICS, MANIFEST)
_VALIDATION_BATCH = 512
_CALIBRATION_POSITIONS = 8192


def train_student(
    params: StudentParams, *, base: Path, games: Path, out: Path, scratch: Path, show_progress: bool = False
) -> None:
    """Distil the games into a student and write weights.pb.gz, metrics.jsonl and student.json into `out`.

    Args:
        params: of the student and its training.
        base: the network that it is grown from.
        games: folder of shards.
        out: where the results go.
        scratch: where an unfinished training is kept; the same command continues it.
        show_progress: on stderr.

    Raises:
        ShardError: there are no shards, or one is damaged.
        ValueError: the student is smaller than the base, or the base cannot be grown.
        Busy, CannotContinue, TrainingFailure, Interrupted: see `selfplay.stage.train_cell`.
    """
    precision = resolve_precision(params.precision)
    found = shards(games)
    if not found:
        raise ShardError(f"{games}: there are no shards; `searchless visits` makes them")
    inputs = {
        "base_sha256": sha256_of(base),
        "games_sha256": {path.name: sha256_of(path) for path in found},
        "precision": precision,
        "params": params.model_dump(),
    }
    origin, code = inputs | {"threads": torch.get_num_threads()}, code_of(__name__)
    with exclusive(scratch):
        if restore_results(scratch, origin, code, out, WORK):
            return
        claim(scratch, origin, code, WORK)
        played = [game for path in found for game in read_shard(path)]
        training, validation = split(played, params.validation_every)
        first = calibrated_base(base, training)
        seen = _seen(base, training, params, show_progress)
        module = StudentModule(_student(first, base, params), training, seen, params)
        with failures_explained(base, scratch / WORK[0]):
            fit(
                module,
                "student",
                scratch,
                steps=params.steps,
                checkpoint_every=params.checkpoint_every,
                precision=precision,
                keys=KEYS,
                show_progress=show_progress,
            )
        out.mkdir(parents=True, exist_ok=True)
        save_network(module.network, out / WEIGHTS, training_steps=params.steps)
        write_atomically(out / METRICS, (scratch / METRICS).read_text(encoding="utf-8"))
        measured = {
            "games": len(played),
            "positions": {"training": len(training), "validation": len(validation)},
            "calibration": {"scale": module.calibration.scale, "draw": module.calibration.draw},
            "validation": {
                "student": validate(load_network(out / WEIGHTS), validation, module),
                "base": validate(load_network(base), validation, module),
                "search_entropy": target_entropy(validation),
            },
        }
        write_json(out / MANIFEST, inputs | measured)
        keep_results(scratch, origin, code, out, RESULTS, WORK)


def split(games: list[LabelledGame], every: int) -> tuple[Positions, Positions]:
    """Training and validation: every `every`-th game is kept for validation.

    Raises:
        ShardError: fewer than `every` games, so that one of the two would be empty.
    """
    if len(games) < every:
        raise ShardError(f"{len(games)} games: validation_every = {every} needs at least as many")
    held_out = [game for number, game in enumerate(games) if number % every == every - 1]
    rest = [game for number, game in enumerate(games) if number % every != every - 1]
    return positions_of(rest), positions_of(held_out)


def calibrated_base(base: Path, positions: Positions) -> nn.Module:
    """The base with its value head calibrated on the outcomes of some of the positions.

    A head that knows no draws would otherwise have losses so large that they spoil the layers it shares with
    the policy. One whose forecasts say nothing of the outcomes stays as it is.
    """
    network = load_network(base)
    rows = np.unique(np.linspace(0, len(positions) - 1, _CALIBRATION_POSITIONS).astype(np.int64))
    forecasts = Evaluator(network, _VALIDATION_BATCH)(positions.encoded.planes(rows)).wdl
    with contextlib.suppress(CalibrationError):
        fitted = fit_calibration(log_forecasts(forecasts), positions.outcome[rows])
        change_value_head(network, fitted.scale, fitted.draw)
    return network.train()


def _seen(base: Path, positions: Positions, params: StudentParams, show_progress: bool) -> np.ndarray:
    """The positions of an epoch."""
    if not params.surprise_share:
        return np.arange(len(positions))
    evaluate = Evaluator(load_network(base), _VALIDATION_BATCH)
    with Progress("student: surprises", len(positions), "position", show=show_progress) as progress:
        surprise = surprises(evaluate, positions, progress.update)
    return epoch_rows(surprise, params.surprise_share, params.seed)


def _student(network: nn.Module, base: Path, params: StudentParams) -> nn.Module:
    if not isinstance(network, SEResNet):
        raise ValueError(f"{base}: only an SE-ResNet can be grown")
    sizes = {"filters": params.filters, "blocks": params.blocks, "se_hidden": params.se_hidden}
    return grow(network, **sizes, seed=params.seed)


def validate(network: nn.Module, positions: Positions, module: StudentModule) -> dict[str, Any]:
    """Mean losses over all positions, and how often the likeliest move is the search's most visited one."""
    network.eval()
    targets = module.targets_of(positions)
    policy = value = agree = 0.0
    with torch.no_grad():
        for begin in range(0, len(positions), _VALIDATION_BATCH):
            rows = np.arange(begin, min(begin + _VALIDATION_BATCH, len(positions)))
            found = losses(network, positions, targets, rows)
            policy += float(found.policy) * len(rows)
            value += float(found.value) * len(rows)
            agree += float(found.agreement) * len(rows)
    count = len(positions)
    return {"policy": policy / count, "value": value / count, "agreement": agree / count}


def target_entropy(positions: Positions) -> float:
    """Mean entropy of the targets in nats: the least that a policy's cross-entropy can be."""
    target = positions.target.astype(np.float64)
    total = -(target[target > 0] * np.log(target[target > 0])).sum()
    return float(total / len(positions))
