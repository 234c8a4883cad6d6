"""A store that is away, slow, broken or full: nothing raised, everything pending, one clear reason."""

from __future__ import annotations

import fcntl
import http.server
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_pipeline import CELLS, sync_process

from searchless_rl.params import Params
from searchless_rl.tracking import SyncReport, default_store, sync

ALL = ["base", "control", *CELLS, "pipeline"]


def reason(report: SyncReport) -> str:
    """The one reason of a report in which everything is pending."""
    assert report.done == ()
    assert [item.what for item in report.pending] == ALL
    (why,) = {item.why for item in report.pending}
    assert "\n" not in why
    return why


@contextmanager
def listening(handle: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on the loopback; its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handle)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Broken(http.server.BaseHTTPRequestHandler):
    """Answers 500."""

    def do_GET(self) -> None:
        self.send_error(500)

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


class Dripping(Broken):
    """Sends a byte now and then, and never ends."""

    def do_GET(self) -> None:
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                self.wfile.write(b"x")
                time.sleep(0.2)
        except OSError:
            pass

    do_POST = do_GET


def test_no_server(root: Path, params: Params) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    report = sync(params, root, tracking_uri=f"http://127.0.0.1:{port}")

    assert reason(report) == "no server listens there (connection refused)"
    assert report.message == (
        f"sync: 7 of 7 runs pending in http://127.0.0.1:{port}, experiment searchless/smoke: base: "
        "no server listens there (connection refused) (and 6 more); `searchless sync` completes it"
    )


def test_a_server_that_answers_500(root: Path, params: Params) -> None:
    with listening(Broken) as address:
        assert reason(sync(params, root, tracking_uri=address)) == "the server answers 500"


def test_a_server_that_never_answers(root: Path, params: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()
        report = sync(params, root, tracking_uri=f"http://127.0.0.1:{silent.getsockname()[1]}")

    assert time.monotonic() - begun < 6
    assert reason(report).startswith("no answer in time")


def test_a_server_whose_answer_never_ends(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCHLESS_SYNC_SECONDS", "2")
    with listening(Dripping) as address:
        begun = time.monotonic()
        report = sync(params, root, tracking_uri=address)

    assert time.monotonic() - begun < 4
    assert reason(report) == "no time left after 2 seconds (SEARCHLESS_SYNC_SECONDS allows more)"


def test_another_sync_at_work(root: Path, params: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHLESS_SYNC_SECONDS", "1")
    with (root / "mlflow.db.lock").open("a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        report = sync(params, root)

    assert reason(report).startswith("another sync is still at work after 1 seconds")


def test_a_limit_that_is_no_time(root: Path, params: Params, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCHLESS_SYNC_SECONDS", "0")
    with pytest.raises(ValueError, match="SEARCHLESS_SYNC_SECONDS: '0' is not a positive number"):
        sync(params, root)


def test_credentials_stay_out_of_the_report(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://someone:s3%40cret@127.0.0.1:9/path?token=t0ken")
    report = sync(params, root)

    assert report.tracking_uri == "http://127.0.0.1:9/path"
    for text in (report.to_json(), report.message):
        assert not any(secret in text for secret in ("someone", "s3%40cret", "s3@cret", "t0ken"))


def test_credentials_stay_out_of_reasons_that_quote_the_address(root: Path, params: Params) -> None:
    report = sync(params, root, tracking_uri="nowhere://someone:s3cret@host/path")

    assert "s3cret" not in report.to_json()
    assert "nowhere" in reason(report)


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\0" + bytes(range(256)) * 64])
def test_a_corrupt_database_is_left_as_it_is(root: Path, params: Params, content: bytes) -> None:
    database = root / "mlflow.db"
    database.write_bytes(content)

    assert "move it away" in reason(sync(params, root))
    assert database.read_bytes() == content


def test_a_database_cut_in_half_is_left_as_it_is(root: Path, params: Params) -> None:
    sync(params, root)
    database = root / "mlflow.db"
    content = database.read_bytes()[: database.stat().st_size // 2]
    database.write_bytes(content)

    assert "move it away" in reason(sync(params, root))
    assert database.read_bytes() == content


def test_a_folder_where_the_database_should_be(root: Path, params: Params) -> None:
    folder = root / "store"
    folder.mkdir()
    report = sync(params, root, tracking_uri=f"sqlite:///{folder}")

    assert reason(report) == "the database cannot be opened or made there"


def test_a_path_that_mlflow_misreads(root: Path, params: Params) -> None:
    report = sync(params, root, tracking_uri=f"sqlite:///{root}/50%25/mlflow.db")

    assert "with % or ? in its path" in reason(report)
    assert not (root / "50%25").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes to read-only folders")
def test_a_read_only_folder(root: Path, params: Params) -> None:
    folder = root / "store"
    folder.mkdir(mode=0o500)

    assert reason(sync(params, root, tracking_uri=f"sqlite:///{folder}/mlflow.db")).startswith(
        "Permission denied"
    )


def test_a_folder_that_cannot_be_made(root: Path, params: Params) -> None:
    report = sync(params, root, tracking_uri=f"sqlite:///{root}/params.yaml/mlflow.db")

    assert reason(report).startswith(("Not a directory", "File exists"))


def test_a_full_disk(root: Path, params: Params) -> None:
    # A limit on the size of files stands for the end of the disk.
    prelude = f"""
import resource
size = Path({str(root)!r}, "mlflow.db").stat().st_size + 200_000
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
"""
    process = sync_process(root, default_store(root), prelude)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    report = json.loads(output)

    assert 0 < len(report["done"]) < len(CELLS)
    assert report["done"] == ALL[: len(report["done"])]
    assert all(item["why"].startswith("the disk refuses") for item in report["pending"])
    assert sync(params, root).pending == ()


def test_a_deleted_experiment_is_not_written_over(root: Path, params: Params) -> None:
    from mlflow import MlflowClient

    sync(params, root)
    client = MlflowClient(default_store(root))
    experiment = client.get_experiment_by_name("searchless/smoke")
    client.delete_experiment(experiment.experiment_id)

    assert "mlflow experiments restore" in reason(sync(params, root))
    client.restore_experiment(experiment.experiment_id)
    assert sync(params, root).pending == ()


def test_a_run_deleted_in_mlflow_is_logged_again(root: Path, params: Params) -> None:
    from mlflow import MlflowClient

    sync(params, root)
    client = MlflowClient(default_store(root))
    experiment = client.get_experiment_by_name("searchless/smoke")
    (run,) = client.search_runs([experiment.experiment_id], "attributes.run_name = 'base'")
    client.delete_run(run.info.run_id)
    sync(params, root)

    (again,) = client.search_runs([experiment.experiment_id], "attributes.run_name = 'base'")
    assert again.info.run_id != run.info.run_id


@pytest.mark.slow
def test_six_processes_at_once_on_a_store_that_is_not_there(root: Path, params: Params) -> None:
    (root / "mlflow.db").unlink()
    processes = [sync_process(root, default_store(root)) for _ in range(6)]
    answers = [process.communicate(timeout=300) for process in processes]

    for process, (output, errors) in zip(processes, answers, strict=True):
        assert process.returncode == 0, errors
        assert json.loads(output)["pending"] == []
    from mlflow import MlflowClient

    client = MlflowClient(default_store(root))
    experiment = client.get_experiment_by_name("searchless/smoke")
    names = [run.info.run_name for run in client.search_runs([experiment.experiment_id])]
    assert len(names) == len(ALL)
    assert set(names) > set(ALL[:-1])


def test_a_moved_project_goes_on_where_it_lies(root: Path, params: Params) -> None:
    sync(params, root)
    moved = root.with_name("moved and renamed, ü #")
    shutil.move(root, moved)
    (moved / "reports/smoke/table2.csv").write_text("a\n1\n")

    assert sync(params, moved).pending == ()
    assert len(list(moved.glob("mlartifacts/**/reports/table2.csv"))) == 1
    assert not root.exists()


@pytest.mark.parametrize("uri", ["./mlruns", "file:///tmp/somewhere/mlruns"])
def test_a_folder_of_files_says_what_allows_it(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    monkeypatch.chdir(root)
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE", raising=False)
    why = reason(sync(params, root, tracking_uri=uri))
    assert "sqlite:///" in why
    assert "MLFLOW_ALLOW_FILE_STORE=true" in why
