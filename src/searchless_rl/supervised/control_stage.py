"""The stage `control`: the puzzle-tuned control trained and written, resumable to the bit."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

import torch
from torch import nn

from searchless_rl.code import code_of
from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.interruption import Interrupted, deferred_signals
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.precision import resolve_precision, strict_float32
from searchless_rl.params import SelfPlayParams
from searchless_rl.progress import Progress
from searchless_rl.selfplay.checkpoint import (
    read_checkpoint,
    require_optimizer,
    require_tensors,
    usable,
    write_checkpoint,
)
from searchless_rl.selfplay.diagnostics import final_means
from searchless_rl.selfplay.guards import failures_explained, not_finite, require_finite_weights
from searchless_rl.selfplay.optimizer import build_optimizer, update_ema, warmup_factor
from searchless_rl.suites.files import read_suite
from searchless_rl.suites.puzzles import Puzzle
from searchless_rl.suites.split import SUITE_NAMES
from searchless_rl.supervised.control import (
    Example,
    Measured,
    accumulate_gradient,
    draw,
    require_unseen,
    solver_examples,
)
from searchless_rl.unfinished import CannotContinue, claim, exclusive, keep_results, restore_results

POOL = "control"
"""The suite that is the training pool."""
CHECKPOINT, METRICS = "last.ckpt", "metrics.jsonl"
WORK = (CHECKPOINT, METRICS)
RESULTS = ("weights.pb.gz", METRICS, "control.json")
_USED = {
    *("games", "steps", "learning_rates", "adam_beta1", "adam_beta2", "weight_decay", "warmup_steps"),
    *("ema_decay", "micro_batch", "diagnostics_every", "checkpoint_every"),
}
"""The cells' parameters that mean something here; the batch is as large as theirs, `games`."""


def train_control(
    params: SelfPlayParams,
    *,
    seed: int,
    base: Path,
    suites: Path,
    out: Path,
    scratch: Path,
    show_progress: bool = False,
) -> None:
    """Tune the base on the suite `control` and write weights.pb.gz (EMA), metrics.jsonl and control.json.

    An interrupted run continues from its last checkpoint in `scratch`. The results stay there too until
    `unfinished.drop_results` is called: a run with the same inputs restores them at once.

    Args:
        params: of the self-play cells; steps, batch (`games`), learning rates and the rest of the optimizer
            are theirs. The keys in control.json are those that are used.
        seed: of the order of the examples, >= 0.
        base: the network to tune.
        suites: folder of control.csv and every evaluation suite; nothing of these is trained on.
        out: where the results go.
        scratch: where an unfinished run is kept.
        show_progress: on stderr.

    Raises:
        PuzzleFileError: a suite is missing or damaged.
        SplitError: an evaluation suite shares a puzzle or a position with the pool.
        Busy: another process trains the control in `scratch`.
        CannotContinue: `scratch` holds a run with other inputs, or a damaged one.
        TrainingFailure: the loss is not finite.
        Interrupted: a signal ended the run, which is saved.
    """
    precision = resolve_precision(params.precision)
    pool, suite_hashes = _read_pool(suites)
    examples = solver_examples(pool)
    inputs = {
        "seed": seed,
        "base_sha256": sha256_of(base),
        "suites_sha256": suite_hashes,
        "precision": precision,
        "params": params.model_dump(include=_USED),
    }
    origin, code = inputs | {"threads": torch.get_num_threads()}, code_of(__name__)
    with exclusive(scratch):
        if restore_results(scratch, origin, code, out, WORK):
            return
        continued = claim(scratch, origin, code, WORK)
        run = ControlRun(load_network(base), examples, params, seed, precision)
        if continued:
            run.load(scratch / CHECKPOINT)
        with failures_explained(base, scratch / CHECKPOINT):
            _fit(run, scratch, show_progress)
        lines = (scratch / METRICS).read_text(encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        save_network(run.ema, out / "weights.pb.gz", training_steps=params.steps)
        write_atomically(out / METRICS, lines)
        seen = {
            "puzzles": len(pool),
            "positions": len(examples),
            "epochs": params.steps * params.games / len(examples),
        }
        write_json(out / "control.json", inputs | seen | {"final": final_means(lines)})
        keep_results(scratch, origin, code, out, RESULTS, WORK)


class ControlRun:
    """Online and EMA network, the frozen base and the optimizer, between two steps.

    Args:
        base: the network to tune; it is copied, and itself kept frozen.
        examples: the training pool, at least one.
        params: of the cells.
        seed: of the order of the examples.
        precision: of the forward passes.
    """

    def __init__(
        self,
        base: nn.Module,
        examples: Sequence[Example],
        params: SelfPlayParams,
        seed: int,
        precision: Literal["float32", "bf16"],
    ) -> None:
        strict_float32()
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.base = base.requires_grad_(False).to(device)
        self.online = copy.deepcopy(self.base).requires_grad_(True)
        self.ema = copy.deepcopy(self.base)
        self.optimizer = build_optimizer(self.online, params)
        self.examples = examples
        self.params = params
        self.seed = seed
        self.precision = precision
        self.step = 0

    def train_step(self) -> dict[str, float]:
        """One optimizer step; means over its batch by metric key.

        Raises:
            TrainingFailure: the loss is not finite; no parameter has moved.
        """
        numbers = draw(len(self.examples), self.params.games, self.step, self.seed)
        batch = [self.examples[number] for number in numbers.tolist()]
        measures_base = self.step % self.params.diagnostics_every == 0
        self.optimizer.zero_grad()
        measured = accumulate_gradient(
            self.online,
            self.base if measures_base else None,
            batch,
            micro_batch=self.params.micro_batch,
            precision=self.precision,
        )
        self._check(measured, batch)
        for group in self.optimizer.param_groups:
            peak = getattr(self.params.learning_rates, group["name"])
            group["lr"] = peak * warmup_factor(self.step, self.params.warmup_steps)
        self.optimizer.step()
        update_ema(self.ema, self.online, self.params.ema_decay)
        self.step += 1
        values = measured._asdict().items()
        return {key: value.double().mean().item() for key, value in values if value is not None}

    def _check(self, measured: Measured, batch: Sequence[Example]) -> None:
        broken = torch.nonzero(~torch.isfinite(measured.loss)).flatten().tolist()
        if broken:
            names = ", ".join(dict.fromkeys(batch[row].puzzle_id for row in broken[:3]))
            loss, step = measured.loss[broken[0]].item(), self.step + 1
            raise not_finite(f"control: the loss is {loss} at step {step} (puzzle {names})", step)

    def save(self, path: Path) -> None:
        """Write everything that the next step depends on, whole or not at all.

        Raises:
            TrainingFailure: a weight is not finite; the file stays as it was.
        """
        require_finite_weights(self.online, "control", self.step)
        state = {
            "step": self.step,
            "online": self.online.state_dict(),
            "ema": self.ema.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        write_checkpoint(path, state)

    def load(self, path: Path) -> None:
        """Continue from a `save`.

        Raises:
            CannotContinue: not such a file, or a damaged one.
        """
        device = next(self.online.parameters()).device
        state = read_checkpoint(path, ("step", "online", "ema", "optimizer"), device)
        with usable(path):
            for name, network in (("online", self.online), ("ema", self.ema)):
                require_tensors(state[name], network.state_dict())
            require_optimizer(state["optimizer"], untrained=("value_head",))
            self.online.load_state_dict(state["online"])
            self.ema.load_state_dict(state["ema"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step = int(state["step"])


def _fit(run: ControlRun, scratch: Path, show_progress: bool) -> None:
    steps, every = run.params.steps, run.params.checkpoint_every
    with (
        deferred_signals() as stop,
        _deterministic(),
        _metrics_file(scratch / METRICS, run.step) as lines,
        Progress("control", steps, "step", initial=run.step, show=show_progress) as progress,
    ):
        while run.step < steps:
            record = run.train_step()
            lines.write(json.dumps({"step": run.step} | record, allow_nan=False).encode() + b"\n")
            progress.update()
            if stop.signal is not None or run.step % every == 0 or run.step == steps:
                lines.flush()  # before the checkpoint, which counts on them
                os.fsync(lines.fileno())
                run.save(scratch / CHECKPOINT)
            if stop.signal is not None and run.step < steps:
                raise Interrupted(f"control: stopped by {stop.signal.name}", stop.signal)


@contextlib.contextmanager
def _metrics_file(path: Path, steps: int) -> Iterator[BinaryIO]:
    """The file with a line per step, cut back to `steps` lines in place and open for more."""
    with path.open("a+b") as stream:
        stream.seek(0)
        kept = list(itertools.islice(stream, steps))
        if len(kept) != steps or (kept and not kept[-1].endswith(b"\n")):
            reason = f"fewer lines than the {steps} steps of the checkpoint beside it"
            raise CannotContinue.from_file(path, reason)
        stream.truncate(sum(map(len, kept)))
        yield stream


@contextlib.contextmanager
def _deterministic() -> Iterator[None]:
    """Kernels that repeat themselves to the bit wherever there are such, as for the cells."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


def _read_pool(suites: Path) -> tuple[list[Puzzle], dict[str, str]]:
    """The training pool, held against every other suite, and the SHA-256 of all of them by name."""
    names = sorted({*SUITE_NAMES, *(path.stem for path in suites.glob("*.csv"))})
    paths = {name: suites / f"{name}.csv" for name in names}
    puzzles = {name: [item.puzzle for item in read_suite(path)] for name, path in paths.items()}
    pool = puzzles.pop(POOL)
    if not pool:
        raise ValueError(f"{paths[POOL]}: no puzzles to train on; ask for smaller suites in params.yaml")
    require_unseen(pool, puzzles)
    return pool, {name: sha256_of(path) for name, path in paths.items()}
