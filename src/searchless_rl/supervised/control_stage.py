"""The stage `control`: the puzzle-tuned control trained and written, resumable to the bit."""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import os
import pickle
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

import torch
from torch import nn
from tqdm import tqdm

from searchless_rl.code import code_of
from searchless_rl.files import atomic_writer, flatten, sha256_of, write_atomically, write_json
from searchless_rl.interruption import Interrupted, deferred_signals
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.params import SelfPlayParams
from searchless_rl.selfplay.optimizer import build_optimizer, update_ema, warmup_factor
from searchless_rl.selfplay.precision import resolve_precision
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
from searchless_rl.unfinished import exclusive

POOL = "control"
"""The suite that is the training pool."""
CHECKPOINT, METRICS, MANIFEST = "last.ckpt", "metrics.jsonl", "inputs.json"
_USED = {
    *("games", "steps", "learning_rates", "adam_beta1", "adam_beta2", "weight_decay", "warmup_steps"),
    *("ema_decay", "micro_batch", "diagnostics_every", "checkpoint_every"),
}
"""What of the cells' parameters means anything here; the batch is as large as theirs, `games`."""


class ControlFailure(RuntimeError):
    """The control cannot go on; its last checkpoint stays."""


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

    An interrupted run continues from its last checkpoint in `scratch`, which is removed at the end.

    Args:
        params: of the self-play cells; steps, batch (`games`), learning rates and the rest of the optimizer
            are theirs. The keys in control.json are those that are used.
        seed: of the order of the examples, >= 0.
        base: the network to tune.
        suites: folder of control.csv and every evaluation suite; nothing of these is trained on.
        out: where the results go.
        scratch: where an unfinished run is kept.
        show_progress: with a bar on stderr.

    Raises:
        PuzzleFileError: a suite is missing or damaged.
        SplitError: an evaluation suite shares a puzzle or a position with the pool.
        Busy: another process trains the control in `scratch`.
        ControlFailure: the loss is not finite, or `scratch` holds a run with other inputs.
        Interrupted: a signal asked for the end.
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
    with exclusive(scratch):
        _claim(scratch, inputs | {"threads": torch.get_num_threads()}, code_of(__name__))
        run = ControlRun(load_network(base), examples, params, seed, precision)
        if (scratch / CHECKPOINT).exists():
            run.load(scratch / CHECKPOINT)
        _fit(run, scratch, show_progress)
        lines = (scratch / METRICS).read_text(encoding="utf-8")
        out.mkdir(parents=True, exist_ok=True)
        save_network(run.ema, out / "weights.pb.gz")
        write_atomically(out / METRICS, lines)
        seen = {
            "puzzles": len(pool),
            "positions": len(examples),
            "epochs": params.steps * params.games / len(examples),
        }
        write_json(out / "control.json", inputs | seen | {"final": _final_means(lines)})
        for name in (CHECKPOINT, METRICS, MANIFEST):
            (scratch / name).unlink()


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
            ControlFailure: the loss is not finite; no parameter has moved.
        """
        numbers = draw(len(self.examples), self.params.games, self.step, self.seed)
        batch = [self.examples[number] for number in numbers.tolist()]
        asks_base = self.step % self.params.diagnostics_every == 0
        self.optimizer.zero_grad()
        measured = accumulate_gradient(
            self.online,
            self.base if asks_base else None,
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
            raise ControlFailure(
                f"control: the loss is {measured.loss[broken[0]].item()} at step {self.step + 1} (puzzle "
                f"{names}); lower selfplay.learning_rates. The last checkpoint is kept."
            )

    def save(self, path: Path) -> None:
        """Write everything that the next step depends on, whole or not at all.

        Raises:
            ControlFailure: a weight is not finite; the file stays as it was.
        """
        if not all(torch.isfinite(parameter).all() for parameter in self.online.parameters()):
            raise ControlFailure(
                f"control: weights are not finite after step {self.step}; lower selfplay.learning_rates. "
                "The last checkpoint is kept."
            )
        state = {
            "step": self.step,
            "online": self.online.state_dict(),
            "ema": self.ema.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }
        with atomic_writer(path) as stream:
            torch.save(state, stream)

    def load(self, path: Path) -> None:
        """Continue from a `save`.

        Raises:
            ControlFailure: not such a file.
        """
        device = next(self.online.parameters()).device
        try:
            state = torch.load(path, map_location=device, weights_only=True)
            self.online.load_state_dict(state["online"])
            self.ema.load_state_dict(state["ema"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step = state["step"]
        except (RuntimeError, EOFError, pickle.UnpicklingError, KeyError, TypeError) as error:
            raise ControlFailure(
                f"{path}: not a checkpoint of the control ({type(error).__name__} while reading it); "
                f"delete {path.parent} to start again"
            ) from error


def _fit(run: ControlRun, scratch: Path, show_progress: bool) -> None:
    steps, every = run.params.steps, run.params.checkpoint_every
    bar = tqdm(total=steps, initial=run.step, desc="control", unit="step", disable=not show_progress)
    with (
        deferred_signals() as stop,
        _deterministic(),
        _metrics_file(scratch / METRICS, run.step) as lines,
        bar,
    ):
        while run.step < steps:
            record = run.train_step()
            lines.write(json.dumps({"step": run.step} | record, allow_nan=False).encode() + b"\n")
            bar.update()
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
            raise ControlFailure(
                f"{path}: fewer lines than the {steps} steps of the checkpoint beside it; "
                f"delete {path.parent} to start again"
            )
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
    before, now = flatten(unfinished), flatten(inputs)
    changed = [
        f"{key}: {before.get(key)!r} then, {now.get(key)!r} now"
        for key in sorted(before | now)
        if before.get(key) != now.get(key)
    ]
    if changed:
        raise ControlFailure(
            f"{scratch} holds an unfinished run with other inputs ({'; '.join(changed)}); "
            "restore them to continue it, or delete the folder to start again"
        )


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ControlFailure(
            f"{path}: not readable ({error}); delete {path.parent} to start again"
        ) from error
    return content


def _final_means(lines: str, share: float = 0.1) -> dict[str, float]:
    """Mean of every metric over the last tenth of the steps (where recorded)."""
    records = [json.loads(line) for line in lines.splitlines()]
    last = records[-max(1, round(len(records) * share)) :]
    keys = [key for key in dict.fromkeys(key for record in last for key in record) if key != "step"]
    columns = {key: [record[key] for record in last if key in record] for key in keys}
    return {key: sum(values) / len(values) for key, values in columns.items()}
