"""The address of the saved view, and the page behind it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from fake_pipeline import ROOT
from mlflow_server import free_port

from searchless_rl.params import Params
from searchless_rl.tracking import default_store, sync
from searchless_rl.tracking.ui import run_ui, view_address

SERVER = "http://127.0.0.1:5000"


def test_the_address_is_that_of_the_view(root: Path, params: Params) -> None:
    sync(params, root)
    address = view_address(params, default_store(root), SERVER)
    assert address == f"{SERVER}/#/experiments/1/runs?viewStateShareKey=searchless"


def test_before_anything_was_synced_it_is_the_page(root: Path, params: Params) -> None:
    assert view_address(params, default_store(root), SERVER) == SERVER
    (root / "mlflow.db").unlink()
    assert view_address(params, default_store(root), SERVER) == SERVER
    assert not (root / "mlflow.db").exists()


def test_a_taken_port_is_named(root: Path, params: Params) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ValueError, match=rf"port {port}: .*make ui PORT={port + 1}"):
            run_ui(params, root, port)


@pytest.mark.slow
def test_the_page_is_served_where_it_says(root: Path, params: Params) -> None:
    sync(params, root)
    port = free_port()
    code = (
        "import sys; from pathlib import Path; from searchless_rl.params import load_params; "
        "from searchless_rl.tracking.ui import run_ui; "
        f"sys.exit(run_ui(load_params(Path({str(ROOT / 'scales/smoke.yaml')!r})), Path.cwd(), {port}))"
    )
    page = subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert page.stdout is not None
        view = f"http://127.0.0.1:{port}/#/experiments/1/runs?viewStateShareKey=searchless"
        assert page.stdout.readline().strip() == f"the runs: {view}"
        for _ in range(600):
            with contextlib.suppress(OSError):
                assert urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).status == 200
                break
            time.sleep(0.25)
        else:
            raise AssertionError("no page")
    finally:
        os.killpg(page.pid, signal.SIGKILL)
        page.wait()
