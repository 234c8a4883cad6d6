"""Make the tracking store agree with the files."""

from __future__ import annotations

import json
import logging
import os
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from searchless_rl import layout
from searchless_rl.cells import Cell
from searchless_rl.files import sha256_of
from searchless_rl.params import Params
from searchless_rl.results.document import MalformedFile
from searchless_rl.tracking.places import (
    NO_GIT,
    default_store,
    experiment_name,
    git_commit,
    params_hash,
    shown_uri,
)
from searchless_rl.tracking.records import (
    MissingFile,
    RunRecord,
    as_text,
    hash_of_files,
    read_base,
    read_cell,
    read_control,
    read_curves,
    report_files,
)
from searchless_rl.tracking.shown import in_order, shortened
from searchless_rl.tracking.store import FINISHED, KEY, KILLED, RUNNING, Store
from searchless_rl.tracking.views import NOTE_TAG, REVISIONS, parent_note, saved_views

if TYPE_CHECKING:
    from mlflow.entities import Run

logger = logging.getLogger(__name__)

LIMIT = "SEARCHLESS_SYNC_SECONDS"
DEFAULT_SECONDS = 600.0
PIPELINE = "pipeline"
PARENT, KIND, FILES = "mlflow.parentRunId", "searchless.kind", "searchless.files"
KEPT_REVISIONS = 100  # of a run; a tag holds 8,000 characters
DVC_TAGS = {
    "dvc.stage": "DVC_STAGE",
    "dvc.exp_name": "DVC_EXP_NAME",
    "dvc.exp_baseline_rev": "DVC_EXP_BASELINE_REV",
}


@dataclass(frozen=True)
class Pending:
    """Something that is not in the store yet.

    Attributes:
        what: ``base``, a cell id, or ``pipeline`` (tables, figures and parameters).
        why: one line.
    """

    what: str
    why: str


@dataclass(frozen=True)
class SyncReport:
    """What a sync left behind; nothing in it depends on when it ran.

    Attributes:
        tracking_uri: the store, without credentials.
        experiment: name of the experiment.
        done: what the store now holds, in the order of the grid.
        pending: what it does not hold, in the same order.
    """

    tracking_uri: str
    experiment: str
    done: tuple[str, ...]
    pending: tuple[Pending, ...]

    def to_json(self) -> str:
        """The content of sync.json."""
        content = {
            "tracking_uri": self.tracking_uri,
            "experiment": self.experiment,
            "done": list(self.done),
            "pending": [{"what": item.what, "why": item.why} for item in self.pending],
        }
        return json.dumps(content, indent=2) + "\n"

    @property
    def message(self) -> str:
        """One line for the terminal."""
        where = f"{self.tracking_uri}, experiment {self.experiment}"
        if not self.pending:
            return f"sync: all {len(self.done)} runs are in {where}"
        first, others = self.pending[0], len(self.pending) - 1
        more = f" (and {others} more)" if others else ""
        return (
            f"sync: {len(self.pending)} of {len(self.done) + len(self.pending)} runs pending in {where}: "
            f"{first.what}: {first.why}{more}; `searchless sync` completes it"
        )


def sync(params: Params, root: Path, *, tracking_uri: str | None = None) -> SyncReport:
    """Mirror the finished files of the pipeline in `root` into MLflow; to repeat it changes nothing.

    Args:
        params: the parameters of the pipeline.
        root: its folder, the one with params.yaml.
        tracking_uri: the store; else `MLFLOW_TRACKING_URI`, else `default_store`.

    Returns:
        What is done and what is pending. A store that is away, full, slow or broken and a faulty file are
        reasons in it, never exceptions.

    Raises:
        ValueError: `SEARCHLESS_SYNC_SECONDS` is not a positive number.
    """
    seconds = _limit()
    root = root.absolute()
    uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI") or default_store(root)
    stop = threading.Event()
    work = _Sync(params, root, Store(uri, root, stop))
    # In a thread, since a server that sends a byte now and then never times out.
    worker = threading.Thread(target=work.run, name="sync", daemon=True)
    worker.start()
    worker.join(seconds)
    done, pending = set(work.done), dict(work.pending)
    why = work.trouble or (
        f"{'another sync is still at work' if work.store.waiting else 'no time left'} after {seconds:g} "
        f"seconds ({LIMIT} allows more)"
    )
    stop.set()
    return SyncReport(
        tracking_uri=shown_uri(uri, root),
        experiment=work.experiment,
        done=tuple(name for name in work.names if name in done),
        pending=tuple(Pending(name, pending.get(name, why)) for name in work.names if name not in done),
    )


@dataclass
class _Sync:
    """One sync; `done`, `pending` and `trouble` may be read while it runs."""

    params: Params
    root: Path
    store: Store
    done: list[str] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)
    trouble: str | None = None

    def __post_init__(self) -> None:
        self.experiment = experiment_name(self.params)
        self.cells = [
            Cell.parse(text) for text in dict.fromkeys((*self.params.grid.cells, self.params.cell.id))
        ]
        self.names = ["base", "control", *(cell.id for cell in self.cells), PIPELINE]
        self.params_hash = params_hash(self.params)
        self.commit = git_commit(self.root)
        self.revision = f"{self.commit[:12]}-{self.params_hash[:12]}"
        self.runs: dict[str, Run] = {}
        self.current: set[str] = set()

    def run(self) -> None:
        """Mirror everything; what stopped it is `trouble`."""
        try:
            with self.store.opened(self.experiment):
                self._mirror()
        except Exception as error:
            self.trouble = self._explain(error)

    def _mirror(self) -> None:
        for run in self.store.runs():
            if KEY in run.data.tags:
                self.runs.setdefault(run.data.tags[KEY], run)
        parent = self._parent()
        for name, read in self._readers().items():
            self._attempt(name, partial(self._mirror_child, read, parent))
            if self.trouble:
                return
        self._drop_replaced()
        self._attempt(PIPELINE, partial(self._finish, parent))

    def _readers(self) -> dict[str, Callable[[], RunRecord]]:
        cells = {cell.id: partial(read_cell, self.root, self.params, cell) for cell in self.cells}
        return {
            "base": partial(read_base, self.root, self.params),
            "control": partial(read_control, self.root, self.params),
            **cells,
        }

    def _attempt(self, name: str, action: Callable[[], None]) -> None:
        """Mirror one item: a fault of its files leaves it pending, a fault of the store ends the sync."""
        try:
            action()
        except (MissingFile, MalformedFile) as error:
            self.pending[name] = str(error)
        except Exception as error:
            self.pending[name] = self._explain(error)
            if self.store.explain(error) is not None and not self.store.refused(error):
                self.trouble = self.pending[name]
        else:
            self.done.append(name)

    def _explain(self, error: Exception) -> str:
        why = self.store.explain(error)
        if why is not None:
            return why
        logger.debug("sync", exc_info=error)
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"fault in {Path(place.filename).name} line {place.lineno}: {type(error).__name__}: {error}"

    def _parent(self) -> Run:
        found = self.runs.get(self.revision)
        self.current.add(self.revision)
        if found is not None:
            return found
        name = os.environ.get("DVC_EXP_NAME") or f"{self.commit[:7]}-{self.params_hash[:7]}"
        return self.store.create(
            f"{PIPELINE}-{name}",
            self.revision,
            {
                **self._common_tags(),
                KIND: PIPELINE,
                REVISIONS: self.revision,
                NOTE_TAG: parent_note(self.revision),
            },
        )

    def _mirror_child(self, read: Callable[[], RunRecord], parent: Run) -> None:
        record = read()
        self.current.add(record.key)
        run = self.runs.get(record.key)
        curves: dict[str, list[tuple[int, float]]] = {}
        if record.curves is not None and (run is None or run.info.status != FINISHED):
            curves = read_curves(record.curves, self.root)
        if run is None:
            tags = {
                **self._common_tags(),
                **record.tags,
                PARENT: parent.info.run_id,
                REVISIONS: self.revision,
            }
            run = self.store.create(record.name, record.key, tags, record.ran)
        if run.info.status != FINISHED:
            self.store.log_params(run, record.params)
            # At step 0, since MLflow draws what has other steps as curves, and this as bars to compare.
            self.store.log_metrics(
                run, {name: [(0, value)] for name, value in in_order(record.metrics).items()}
            )
            self.store.log_metrics(run, curves)
            self.store.log_artifacts(run, record.artifacts)
        revisions = _revisions(run)
        if self.revision not in revisions:
            self.store.tag(run, {REVISIONS: ",".join([*revisions, self.revision][-KEPT_REVISIONS:])})
        self.store.close(run, ran=record.ran)

    def _drop_replaced(self) -> None:
        """Of each cell this revision keeps one run: files that changed under it have a newer one."""
        for key, run in self.runs.items():
            if key in self.current:
                continue
            revisions = _revisions(run)
            if self.revision in revisions and run.info.run_name in self.done:
                revisions.remove(self.revision)
                self.store.tag(run, {REVISIONS: ",".join(revisions)})
            if run.info.status == RUNNING:
                self.store.close(run, KILLED)

    def _finish(self, parent: Run) -> None:
        files = report_files(self.root, self.params.scale)
        content = hash_of_files(files)
        if parent.data.tags.get(FILES) != content:
            values = as_text(self.params.model_dump(exclude={"grid"}))
            cells = shortened(" ".join(self.params.grid.cells), "artifact params.yaml")
            self.store.log_params(parent, values | {"grid.cells": cells})
            self.store.log_artifacts(parent, files)
        names = [cell.id for cell in self.cells]
        state = f"{len(set(names) & set(self.done))} of {len(names)}"
        self.store.tag(parent, {FILES: content, "searchless.cells": state})
        self.store.close(parent)
        self.store.show(saved_views(self.revision, parent.info.start_time))

    def _common_tags(self) -> dict[str, str]:
        tags = {"searchless.scale": self.params.scale, "searchless.params_sha256": self.params_hash}
        if self.commit != NO_GIT:
            tags["mlflow.source.git.commit"] = self.commit
        report = layout.suites(self.root / layout.DATA) / layout.SUITES_REPORT
        if report.is_file():
            tags["searchless.suites_sha256"] = sha256_of(report)
        return tags | {tag: os.environ[name] for tag, name in DVC_TAGS.items() if os.environ.get(name)}


def _revisions(run: Run) -> list[str]:
    return [text for text in run.data.tags.get(REVISIONS, "").split(",") if text]


def _limit() -> float:
    text = os.environ.get(LIMIT, "")
    try:
        seconds = float(text or DEFAULT_SECONDS)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise ValueError(f"{LIMIT}: {text!r} is not a positive number of seconds")
    return seconds
