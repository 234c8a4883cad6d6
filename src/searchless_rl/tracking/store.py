"""The MLflow store as a sync sees it: find runs, log whole runs, say in one line what is wrong with it."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchless_rl.checkout import main_checkout
from searchless_rl.files import write_atomically
from searchless_rl.tracking.clock import Interval
from searchless_rl.tracking.places import DATABASE, sqlite_file, without_credentials
from searchless_rl.tracking.views import NOTE_TAG, experiment_note
from searchless_rl.unfinished import waiting_lock

if TYPE_CHECKING:
    from mlflow.entities import Run

ARTIFACT_SCHEME = "mlflow-artifacts:/"
METRICS_A_CALL = 1000  # the server's limit
ENTRIES_A_CALL = 100  # the server's limit on parameters
FINISHED, RUNNING, KILLED = "FINISHED", "RUNNING", "KILLED"
KEY, SYNCED = "searchless.key", "searchless.synced"
FOREIGN = {"mlflow", "requests", "sqlalchemy", "sqlite3"}

# MLflow reads them when it is imported and at each request; what the user has set stays.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_CONFIGURE_LOGGING": "false",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
}


class StoreUnusable(Exception):
    """The store cannot be used; the message says why and what to do."""


class Store:
    """One experiment of a tracking store, held by one process of this checkout at a time.

    Every call that reaches the store first asks whether the sync was stopped.
    """

    def __init__(self, uri: str, root: Path, stop: threading.Event) -> None:
        self._uri = uri
        self._stop = stop
        self._database = sqlite_file(uri)
        self._lock = _beside(self._database or main_checkout(root) / DATABASE, ".lock")
        self._experiment = ""
        self.waiting = False  # for another sync to end

    @contextlib.contextmanager
    def opened(self, experiment: str) -> Iterator[None]:
        """Lock the store, make database and experiment where absent, and connect."""
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        # Its tracebacks say less than the one line of the report.
        logging.getLogger("mlflow").setLevel(logging.CRITICAL)
        logging.getLogger("alembic").setLevel(logging.CRITICAL)
        if self._database is not None and set("%?") & set(str(self._database)):
            raise StoreUnusable(
                f"MLflow cannot open {self._database}, with % or ? in its path; MLFLOW_TRACKING_URI names "
                "another"
            )
        with self._locked():
            if self._database is not None:
                _prepare_database(self._database)
            from mlflow import MlflowClient

            self._client = MlflowClient(self._uri)
            self._experiment = self._open_experiment(experiment)
            yield

    def runs(self) -> list[Run]:
        """Every run of the experiment that is not deleted, oldest first."""
        found, token = [], None
        while True:
            page = self._connected.search_runs(
                [self._experiment], order_by=["attributes.start_time ASC"], page_token=token
            )
            found += page
            token = page.token
            if not token:
                return found

    def create(self, name: str, key: str, tags: Mapping[str, str], ran: Interval | None = None) -> Run:
        """Begin a run; it can be found by its key from then on.

        Its time is that of `ran`, else now; when it was logged is its tag `searchless.synced` (UTC).
        """
        synced = datetime.now(UTC).isoformat(timespec="seconds")
        run: Run = self._connected.create_run(
            self._experiment,
            run_name=name,
            start_time=None if ran is None else ran.begin,
            tags={KEY: key, SYNCED: synced, **tags},
        )
        return run

    def log_params(self, run: Run, params: Mapping[str, str]) -> None:
        """Log parameters; a repetition changes nothing."""
        from mlflow.entities import Param

        for part in _chunks([Param(key, value) for key, value in params.items()], ENTRIES_A_CALL):
            self._connected.log_batch(run.info.run_id, params=part, synchronous=True)

    def log_metrics(self, run: Run, curves: Mapping[str, Iterable[tuple[int, float]]]) -> None:
        """Log metrics; a repetition adds nothing.

        MLflow keeps one copy of a metric that agrees in name, step, value and time; so the time is the run's
        beginning plus one millisecond a step, whenever and however often it is logged.
        """
        from mlflow.entities import Metric

        begin = run.info.start_time
        metrics = [
            Metric(name, value, begin + step, step)
            for name, points in curves.items()
            for step, value in points
        ]
        for part in _chunks(metrics, METRICS_A_CALL):
            self._connected.log_batch(run.info.run_id, metrics=part, synchronous=True)

    def log_artifacts(self, run: Run, files: Mapping[str, Path]) -> None:
        """Copy files; each name ends in that of its file."""
        address = run.info.artifact_uri
        for name, path in files.items():
            if self._database is not None and address.startswith(ARTIFACT_SCHEME):
                self._check_time()
                write_atomically(self._artifacts(address) / name, path.read_bytes())
            else:
                parent = name.rpartition("/")[0]
                self._connected.log_artifact(run.info.run_id, str(path), parent or None)

    def _artifacts(self, address: str) -> Path:
        """The folder behind an address, which a database may not lead out of its own."""
        assert self._database is not None
        top = self._database.parent / "mlartifacts"
        folder = (top / address.removeprefix(ARTIFACT_SCHEME)).resolve()
        if not folder.is_relative_to(top.resolve()):
            raise StoreUnusable(f"the database names the artifact folder {address}, which is outside {top}")
        return folder

    def tag(self, run: Run, tags: Mapping[str, str]) -> None:
        """Set the tags that differ."""
        for name, value in tags.items():
            if run.data.tags.get(name) != value:
                self._connected.set_tag(run.info.run_id, name, value, synchronous=True)

    def close(self, run: Run, status: str = FINISHED, ran: Interval | None = None) -> None:
        """End a run, at the end of `ran` where that is known."""
        if run.info.status != status:
            self._connected.set_terminated(run.info.run_id, status, None if ran is None else ran.end)

    def show(self, views: Mapping[str, str]) -> None:
        """Describe the experiment, and offer saved views of its runs, by their tags."""
        tags = self._connected.get_experiment(self._experiment).tags
        for name, value in {NOTE_TAG: experiment_note(self._experiment), **views}.items():
            if tags.get(name) != value:
                self._connected.set_experiment_tag(self._experiment, name, value)

    def explain(self, error: Exception) -> str | None:
        """Why the store failed, in one line that is the same for the same fault; None: not its fault."""
        libraries = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
        if isinstance(error, (StoreUnusable, OSError)) or libraries & FOREIGN:
            return without_credentials(_reason(error), self._uri)
        return None

    def refused(self, error: Exception) -> bool:
        """Whether the store is well and only declined what it was given."""
        return getattr(error, "error_code", None) == "INVALID_PARAMETER_VALUE"

    @property
    def _connected(self) -> Any:
        self._check_time()
        return self._client

    def _check_time(self) -> None:
        if self._stop.is_set():
            raise StoreUnusable("out of time")

    def _open_experiment(self, name: str) -> str:
        found = self._connected.get_experiment_by_name(name)
        if found is not None and found.lifecycle_stage != "active":
            raise StoreUnusable(
                f"experiment {name} is deleted; `mlflow experiments restore -x {found.experiment_id}` brings "
                "it back"
            )
        if found is not None:
            return str(found.experiment_id)
        location = ARTIFACT_SCHEME + re.sub(r"[^\w.-]+", "-", name) if self._database is not None else None
        # Without a kind, the first page that shows the experiment guesses one and writes it.
        tags = {"mlflow.experimentKind": "custom_model_development"}
        return str(self._connected.create_experiment(name, location, tags))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        def wait() -> None:
            self.waiting = True
            if self._stop.wait(0.1):
                raise StoreUnusable("out of time")

        with waiting_lock(self._lock, wait):
            self.waiting = False
            yield


def _prepare_database(database: Path) -> None:
    """Refuse what is no database; make a new one whole or not at all.

    MLflow's own first start dies in half-made tables when another process has begun them, and for good when
    it was killed there.
    """
    if database.exists():
        # MLflow would try ten times, for 100 seconds.
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA schema_version")
        return
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    partial = _beside(database, ".part")
    partial.unlink(missing_ok=True)
    store: Any = SqlAlchemyStore  # its constructor has no types
    store(f"sqlite:///{partial}", ARTIFACT_SCHEME).engine.dispose()
    if not database.exists():
        partial.rename(database)


def _reason(error: BaseException) -> str:
    if isinstance(error, StoreUnusable):
        return str(error)
    text = str(error)
    if isinstance(error, OSError) and error.errno:
        what = "disk full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror
        return (
            f"{what}: {error.filename}"
            if error.filename and "mlartifacts" not in str(error.filename)
            else str(what)
        )
    if "malformed" in text or "not a database" in text:
        return (
            "the database is damaged or not an SQLite database; it was left as it is: move it away and sync "
            "again to fill a new one from the files"
        )
    for pattern, meaning in _MEANINGS:
        if found := re.search(pattern, text, re.IGNORECASE):
            return found.expand(meaning)
    lines = text.strip().splitlines() or [type(error).__name__]
    return re.sub(r" at 0x[0-9a-f]+|\b[0-9a-f]{32}\b", "", lines[0])[:300]


# What the libraries say of the same fault differs from call to call, and by the addresses of their objects.
_MEANINGS = (
    (
        r"filesystem tracking backend",
        "MLflow no longer writes to folders of files: name a database (sqlite:////path/mlflow.db), or set "
        "MLFLOW_ALLOW_FILE_STORE=true",
    ),
    (r"connection refused", "no server listens there (connection refused)"),
    (r"too many (\d+) error responses", r"the server answers \1"),
    (r"error code (\d+)", r"the server answers \1"),
    (r"timed out", "no answer in time (MLFLOW_HTTP_REQUEST_TIMEOUT, in seconds, allows more)"),
    (r"connection (?:aborted|reset|broken)|remote end closed", "the connection broke off"),
    (r"failed to resolve", "the server's name is unknown here"),
    (r"readonly database", "the database is read-only"),
    (r"unable to open database file", "the database cannot be opened or made there"),
    (r"database is locked", "the database is locked by another program"),
    (r"disk is full", "disk full"),
    (r"disk i/o error", "the disk refuses to read or write (full, or over a quota)"),
)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _chunks(items: list[Any], size: int) -> Iterator[list[Any]]:
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
