"""The pipeline with several cells at a time.

DVC runs one stage after the other, and two `dvc repro` at once block each other; single stages
(`dvc repro -s`) do not. So the ancestors of all cells run first, then the cells' own stages and the control,
several at a time, then the selection, the measurements of what it chose, again several at a time, and a plain
`dvc repro` does what is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from searchless_rl.interruption import Interrupted
from searchless_rl.params import Params

ANCESTORS = ("fetch", "suites", "openings", "warm_start", "tactics_base")
MEASUREMENTS = ("arena_argmax", "arena_sampled", "arena_swept", "coverage", "evaluate")
"""Of what is selected; the longest first."""
REPORTS = ("tables", "figures", "sync")
LOGS = Path("scratch") / "logs"
LOCK_TRIES = 20
GRACE = 20.0  # seconds that stages have to end by themselves


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
        FanOutFailure: naming the failed chains and their logs.
    """
    signal.signal(signal.SIGTERM, _interrupt)
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


def _failure(failed: dict[str, str], total: int) -> FanOutFailure:
    """The failure to raise, after a report on what there is."""
    _report()
    details = "\n".join(f"  {name}: {why}" for name, why in sorted(failed.items()))
    return FanOutFailure(f"{len(failed)} of {total} failed; run again to continue them\n{details}")


def _report() -> None:
    """Tables and figures of what there is, past DVC, which would miss the rest."""
    for stage in REPORTS:
        subprocess.run([sys.executable, "-m", "searchless_rl", stage], check=False)


def _interrupt(number: int, _frame: object) -> None:
    """End as by the keyboard, so that the stages are stopped too."""
    raise Interrupted("stopped by SIGTERM", number)


def _dvc(*arguments: str) -> None:
    done = subprocess.run(["dvc", *arguments], check=False)
    if done.returncode:
        raise FanOutFailure(f"`dvc {' '.join(arguments)}` failed with exit status {done.returncode}")


def _changed_stages() -> set[str]:
    done = subprocess.run(["dvc", "status", "--json"], check=False, capture_output=True, text=True)
    if done.returncode:
        raise FanOutFailure(f"`dvc status` failed: {done.stderr.strip() or done.stdout.strip()}")
    return set(json.loads(done.stdout))


def _run_chains(due: list[Chain], jobs: int, what: str) -> dict[str, str]:
    """Run every chain; name -> reason of those that failed."""
    LOGS.mkdir(parents=True, exist_ok=True)
    runner, failed = _Runner(), dict[str, str]()
    with ThreadPoolExecutor(jobs) as pool, runner, tqdm(total=len(due), desc=what) as bar:
        futures = {pool.submit(runner.run, chain): chain for chain in due}
        for future in as_completed(futures):
            reason = future.result()
            if reason is not None:
                failed[futures[future].name] = reason
                bar.write(f"{futures[future].name} failed: {reason}", file=sys.stderr)
            bar.update()
    return failed


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


class _Runner:
    """Runs chains and, when it is left early, stops what it has started."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._stopping = threading.Event()

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._stopping.set()
            for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, GRACE)):
                groups = [process.pid for process in list(self._processes)]
                for group in groups:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(group, number)
                deadline = time.monotonic() + patience
                while any(_group_exists(group) for group in groups) and time.monotonic() < deadline:
                    time.sleep(0.05)

    def run(self, chain: Chain) -> str | None:
        """Run the stages of a chain; the reason of its failure, or None."""
        log = LOGS / f"{chain.name.replace(' ', '-')}.log"
        log.unlink(missing_ok=True)
        for stage in chain.stages:
            for _ in range(LOCK_TRIES):
                if self._stopping.is_set():
                    return "stopped"
                status = self._run_stage(stage, log)
                if status == 0 or "Unable to acquire lock" not in log.read_text(errors="replace"):
                    break
                log.unlink()
                time.sleep(1.0)
            if status:
                return f"{stage} ended with exit status {status}; see {log}"
        return None

    def _run_stage(self, stage: str, log: Path) -> int:
        with log.open("ab") as stream:
            # A session of its own: an interrupt from the keyboard reaches us, and we stop the stages.
            process = subprocess.Popen(
                ["dvc", "repro", "-s", stage], stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
            )
            self._processes.add(process)
            try:
                return process.wait()
            finally:
                self._processes.discard(process)
