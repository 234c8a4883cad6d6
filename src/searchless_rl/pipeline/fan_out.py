"""The pipeline with several cells at a time.

DVC runs one stage after the other, and two `dvc repro` at once block each other; single stages
(`dvc repro -s`) do not. So the ancestors of all cells run first, then the cells' own stages and the control,
several at a time, then the selection, the measurements of what it chose, again several at a time, and a plain
`dvc repro` does what is left.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from searchless_rl import layout
from searchless_rl.interruption import Interrupted
from searchless_rl.params import Params
from searchless_rl.pipeline import dvc
from searchless_rl.pipeline.inputs import link_inputs, named_files
from searchless_rl.pipeline.processes import Runner
from searchless_rl.progress import Progress

ANCESTORS = ("fetch", "calibrate", "suites", "openings", "warm_start", "tactics_base")
MEASUREMENTS = ("arena_argmax", "arena_sampled", "arena_swept", "coverage", "evaluate")
"""Of what is selected; the longest first."""
REPORTS = ("tables", "figures", "claims", "sync")
LOCK_TRIES = 20
BUSY = ("Unable to acquire lock", "is busy, it is being blocked", "is working here")
"""What DVC and the stages say where another process is at work."""


class FanOutFailure(RuntimeError):
    """Some stages failed; the others are done."""


@dataclass(frozen=True)
class Chain:
    """Stages to be run one after the other, independent of all other chains."""

    name: str
    stages: tuple[str, ...]


def chains(params: Params, changed: set[str]) -> list[Chain]:
    """The cells' stages that have something to do, in the order of the grid; control and requested cell last.

    Args:
        params: the grid.
        changed: the stages that `dvc status` names.
    """
    wanted = [Chain(cell, (f"train@{cell}", f"tactics@{cell}")) for cell in params.grid.cells]
    wanted += [Chain("control", ("control",)), Chain("requested cell", ("cell",))]
    due = []
    for chain in wanted:
        first = next((i for i, stage in enumerate(chain.stages) if stage in changed), None)
        if first is not None:
            due.append(Chain(chain.name, chain.stages[first:]))
    return due


def measurements(changed: Iterable[str]) -> list[Chain]:
    """The stages measuring what is selected that have something to do, the longest first."""
    due = [stage for stage in changed if stage.partition("@")[0] in MEASUREMENTS]
    due.sort(key=lambda stage: (MEASUREMENTS.index(stage.partition("@")[0]), stage))
    return [Chain(stage, (stage,)) for stage in due]


def run_pipeline(params: Params, jobs: int) -> int:
    """`dvc repro`, with the stages of cells and measurements `jobs` at a time; results do not depend on it.

    Output of the parallel stages goes to scratch/logs. If stages fail, those beside them are finished, tables
    and figures are built with dashes in their place, and the failure is raised at the end.

    Returns:
        How many chains of stages had something to do.

    Raises:
        FanOutFailure: naming the failed chains and their logs, or who else is at work here.
        ValueError: a file that params.yaml names is missing.
        Interrupted: SIGTERM or SIGHUP asked for the end; what was started is stopped.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    link_inputs(named_files(params), layout.inputs())
    dvc.wait_for_others()
    _dvc("repro", *ANCESTORS)
    due = chains(params, _changed_stages())
    failed = _run_chains(due, jobs, "cells") if due else {}
    if failed:
        raise _failure(failed, len(due))
    _dvc("repro", "-s", "select")
    measured = measurements(_changed_stages())
    failed = _run_chains(measured, jobs, "measurements") if measured else {}
    if failed:
        raise _failure(failed, len(measured))
    _dvc("repro")
    return len(due) + len(measured)


def summary(reports: Path, figures: Path) -> str:
    """Where to look, as the last lines of a run: only what is there is named."""
    places = {
        "findings": reports / "findings.md",
        "the paper, claim by claim": reports / "claims.md",
        "tables": reports / "table1.md",
        "differences from the paper's method": reports / "deviations.md",
        "figures": figures,
        "what it cost": reports / "timings.json",
    }
    lines = [f"  {what}: {path}" for what, path in places.items() if path.exists()]
    return "\n".join(["Done.", *lines, "  runs in MLflow: make ui"])


def _failure(failed: dict[str, str], total: int) -> FanOutFailure:
    """The failure to raise, after a report on what there is."""
    _report()
    details = "\n".join(f"  {name}: {why}" for name, why in sorted(failed.items()))
    return FanOutFailure(f"{len(failed)} of {total} failed; run again to continue them\n{details}")


def _report() -> None:
    """Build tables and figures from what is there, not through DVC, which would miss the rest."""
    for stage in REPORTS:
        subprocess.run([sys.executable, "-m", "searchless_rl", stage], check=False)


def _interrupt(number: int, _frame: object) -> None:
    """End as by the keyboard, so that the stages are stopped too."""
    raise Interrupted(f"stopped by {signal.Signals(number).name}", number)


def _dvc(*arguments: str) -> None:
    while status := dvc.run(*arguments):
        if not dvc.others():
            raise FanOutFailure(f"`dvc {' '.join(arguments)}` failed with exit status {status}")
        dvc.wait_for_others()


def _changed_stages() -> set[str]:
    status, output, errors = dvc.ask("status", "--json")
    if status:
        raise FanOutFailure(f"`dvc status` failed: {errors.strip() or output.strip()}")
    return set(json.loads(output))


def _run_chains(due: list[Chain], jobs: int, what: str) -> dict[str, str]:
    """Run every chain; name -> reason of those that failed."""
    layout.LOGS.mkdir(parents=True, exist_ok=True)
    runner, failed = Runner(), dict[str, str]()
    with ThreadPoolExecutor(jobs) as pool, runner, Progress(what, len(due), "chain") as progress:
        futures = {pool.submit(_run_chain, chain, runner): chain for chain in due}
        for future in as_completed(futures):
            name, reason = futures[future].name, future.result()
            if reason is not None:
                failed[name] = reason
                tqdm.write(f"{name} failed: {reason}", file=sys.stderr)
            progress.update()
    return failed


def _run_chain(chain: Chain, runner: Runner) -> str | None:
    """Run the stages of a chain; the reason of its failure, or None."""
    log = layout.LOGS / f"{chain.name.replace(' ', '-')}.log"
    log.unlink(missing_ok=True)
    for stage in chain.stages:
        for _ in range(LOCK_TRIES):
            status = runner.run(dvc.command("repro", "-s", stage), log, dvc.environment())
            if status is None:
                return "stopped"
            if status == 0 or not any(text in log.read_text(errors="replace") for text in BUSY):
                break
            log.unlink()
            time.sleep(1.0)
        if status:
            return f"{stage} ended with exit status {status}; see {log}"
    return None
