"""A new store for each test, copied from one that was made once: to make one takes seven seconds."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import pytest
from fake_pipeline import EmptyStore, make_params, make_pipeline

from searchless_rl.params import Params
from searchless_rl.tracking.store import SETTINGS, _prepare_database

OURS = (
    "MLFLOW_TRACKING_URI",
    "MLFLOW_HTTP_REQUEST_TIMEOUT",
    "SEARCHLESS_MAIN",
    "SEARCHLESS_SYNC_SECONDS",
    "DVC_EXP_NAME",
    "DVC_EXP_BASELINE_REV",
    "DVC_STAGE",
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OURS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> EmptyStore:
    """Made once."""
    os.environ.update({name: SETTINGS[name] for name in ("MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK")})
    database = tmp_path_factory.mktemp("store") / "mlflow.db"
    before = _logging_state()
    _prepare_database(database)
    return EmptyStore(database, before, _logging_state())


@pytest.fixture
def root(tmp_path: Path, empty_store: EmptyStore) -> Path:
    """A pipeline folder with finished results and an empty store."""
    folder = tmp_path / "project"
    make_pipeline(folder)
    shutil.copy(empty_store.database, folder / "mlflow.db")
    return folder


@pytest.fixture
def params() -> Params:
    """Its parameters."""
    return make_params()


def _logging_state() -> tuple[int, list[logging.Handler], bool]:
    root = logging.getLogger()
    return root.level, list(root.handlers), logging.getLogger("searchless_rl").disabled
