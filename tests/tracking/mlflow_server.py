"""An MLflow server on the loopback for tests."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path


def free_port() -> int:
    """A port nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def mlflow_server(folder: Path, port: int) -> Iterator[str]:
    """`mlflow server` as a user would start it in `folder`; killed, not stopped, at the end."""
    options = f"--host 127.0.0.1 --port {port} --workers 1 --backend-store-uri sqlite:///mlflow.db"
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *options.split()],
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ
            | {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            with contextlib.suppress(urllib.error.URLError, OSError):
                urllib.request.urlopen(f"{address}/health", timeout=1)
                break
            assert server.poll() is None, (folder / "server.log").read_text()
            time.sleep(0.25)
        else:
            raise AssertionError((folder / "server.log").read_text())
        yield address
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
