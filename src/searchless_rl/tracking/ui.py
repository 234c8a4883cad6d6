"""MLflow's page, opened where the question is answered: the saved view of the cells."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from searchless_rl.params import Params
from searchless_rl.tracking.places import default_store, experiment_name, shown_uri, sqlite_file
from searchless_rl.tracking.store import SETTINGS
from searchless_rl.tracking.views import view_link

HOST = "127.0.0.1"


def view_address(params: Params, uri: str, server: str) -> str:
    """Address of the saved view on MLflow's page; the page's own address where nothing was synced yet.

    Args:
        params: their scale names the experiment.
        uri: the store.
        server: address of the page, ``http://127.0.0.1:5000``.
    """
    from mlflow import MlflowClient

    database = sqlite_file(uri)
    if database is not None and not database.exists():
        return server
    found = MlflowClient(uri).get_experiment_by_name(experiment_name(params))
    return server if found is None else f"{server}/{view_link(found.experiment_id)}"


def run_ui(params: Params, root: Path, port: int) -> int:
    """Print the saved view's address and serve the page on the loopback until it is interrupted.

    With `MLFLOW_TRACKING_URI` naming a server, that one's address is printed and nothing is started.

    Returns:
        0 where nothing was started; else this process becomes ``mlflow ui``.

    Raises:
        ValueError: the port is taken.
    """
    for name, value in (SETTINGS | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}).items():
        os.environ.setdefault(name, value)
    uri = os.environ.get("MLFLOW_TRACKING_URI") or default_store(root)
    if uri.startswith(("http://", "https://")):
        print(f"the runs: {view_address(params, uri, shown_uri(uri, root).rstrip('/'))}", flush=True)
        return 0
    _check_free(port)
    print(f"the runs: {view_address(params, uri, f'http://{HOST}:{port}')}", flush=True)
    command = [sys.executable, "-m", "mlflow", "ui", "--backend-store-uri", uri]
    database = sqlite_file(uri)
    if database is not None:
        command += ["--artifacts-destination", str(database.parent / "mlartifacts")]
    command += ["--host", HOST, "--port", str(port), "--workers", "1"]  # one reader; four take a minute
    os.execv(sys.executable, command)  # in place of this process, so that a signal reaches the server


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ValueError(
                f"port {port}: {error.strerror}; choose another: make ui PORT={port + 1}"
            ) from error
