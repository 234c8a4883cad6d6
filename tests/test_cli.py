"""The command line: errors are one message and a non-zero exit, help is quick."""

import os
import signal
import subprocess
import sys

import pytest

from searchless_rl.cli import main
from searchless_rl.code import closure
from searchless_rl.interruption import Interrupted


@pytest.fixture
def workspace(tmp_path, monkeypatch, pytestconfig):
    (tmp_path / "scales").mkdir()
    for path in (pytestconfig.rootpath / "scales").glob("*.yaml"):
        (tmp_path / "scales" / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEARCHLESS_TRACEBACK", raising=False)
    return tmp_path


def _fails(capsys, *arguments):
    assert main(arguments) == 1
    message = capsys.readouterr().err
    assert "Traceback" not in message
    assert message.startswith(f"searchless {arguments[0]}: ")
    return message


def test_scale_then_errors_that_say_what_to_do(workspace, capsys):
    assert "searchless scale mini" in _fails(capsys, "tables")
    assert "allowed: mini, mini-maia, paper, smoke" in _fails(capsys, "scale", "huge")
    assert main(["scale", "smoke"]) == 0
    assert (workspace / "params.yaml").read_bytes() == (workspace / "scales" / "smoke.yaml").read_bytes()
    assert "write TERM-TAU-BETA-sSEED" in _fails(capsys, "train", "forward_kl")
    assert "base.pb.gz" in _fails(capsys, "tactics", "base")
    assert "known: badgyal-3, bt4, goodgyal-5, maia-1100" in _fails(capsys, "fetch", "stockfish")
    assert "torre_6605_winning.csv" in _fails(capsys, "suites")


def test_a_wrong_parameter_stops_a_stage(workspace, capsys):
    main(["scale", "smoke"])
    path = workspace / "params.yaml"
    path.write_text(path.read_text().replace("games: 8 ", "games: -8 "))
    assert "selfplay.games: -8 is not allowed" in _fails(capsys, "warm-start", "0")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_cell_ends_with_the_status_of_its_signal(workspace, capsys, monkeypatch, number):
    def stopped(cell, *_, **__):
        raise Interrupted(f"{cell.id}: stopped by {number.name}", number)

    monkeypatch.setattr("searchless_rl.selfplay.stage.train_cell", stopped)
    main(["scale", "smoke"])
    assert main(["train", "forward_kl-adaptive-0.01-s0"]) == 128 + number
    message = f"0.01-s0: stopped by {number.name}; run the same command to continue"
    assert message in capsys.readouterr().err


def test_a_base_that_is_a_path_is_copied_and_a_wrong_one_is_named(workspace, capsys, pytestconfig):
    main(["scale", "smoke"])
    network = pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
    path = workspace / "params.yaml"
    smoke = path.read_text()
    path.write_text(smoke.replace("base: maia-1900", f"base: {network}"))
    assert main(["fetch"]) == 0
    assert (workspace / "data" / "fetched" / "base.pb.gz").read_bytes() == network.read_bytes()
    assert main(["describe", "data/fetched/base.pb.gz"]) == 0
    path.write_text(smoke.replace("base: maia-1900", "base: nets/none.pb.gz"))
    assert "nets/none.pb.gz" in _fails(capsys, "fetch")


def test_a_damaged_base_is_named(workspace, capsys):
    main(["scale", "smoke"])
    base = workspace / "data" / "base" / "base.pb.gz"
    base.parent.mkdir(parents=True)
    base.write_bytes(b"<html>not found</html>")
    assert "base.pb.gz" in _fails(capsys, "warm-start", "0")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "not enough memory; lower selfplay.micro_batch"),
        (SystemError("error return without exception set"), "unexpected SystemError: error return without"),
        (IndexError("list index out of range"), "unexpected IndexError: list index out of range"),
        (RecursionError("maximum recursion depth exceeded"), "unexpected RecursionError: maximum"),
        (KeyError("x" * 90_000), "unexpected KeyError: 'xxx"),
        (ImportError("no space for a segment"), "unexpected ImportError: no space"),
    ],
)
def test_an_error_that_nothing_foresaw_is_one_line_too(workspace, capsys, monkeypatch, error, words):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("searchless_rl.suites.stage.make_suites", fails)
    main(["scale", "smoke"])
    message = _fails(capsys, "suites")
    assert message.startswith(f"searchless suites: {words}")
    assert len(message) < 1000
    assert message.splitlines()[1:] == ["(SEARCHLESS_TRACEBACK=1 shows where)"]
    monkeypatch.setenv("SEARCHLESS_TRACEBACK", "1")
    with pytest.raises(type(error)):
        main(["suites"])


def test_a_reader_that_has_seen_enough_is_no_error(workspace, pytestconfig):
    """As in `searchless describe ... | head -1`, whose end of the pipe is closed first."""
    network = pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
    command = [sys.executable, "-m", "searchless_rl", "describe", str(network)]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize(("pending", "options", "status"), [(0, [], 0), (2, [], 75), (2, ["--stage"], 0)])
def test_a_sync_by_hand_tells_by_its_status_whether_runs_are_pending(
    workspace, capsys, monkeypatch, pytestconfig, pending, options, status
):
    class Report:
        message = f"sync: {pending} of 3 runs pending"

        def __init__(self):
            self.pending = tuple(range(pending))

        def to_json(self):
            return "{}"

    monkeypatch.setattr("searchless_rl.tracking.sync", lambda *_: Report())
    (workspace / "dvc.yaml").write_bytes((pytestconfig.rootpath / "dvc.yaml").read_bytes())
    main(["scale", "smoke"])
    assert main(["sync", *options]) == status
    assert Report.message in capsys.readouterr().out
    assert (workspace / "reports" / "smoke" / "timings.json").exists()


def test_a_cell_by_hand_names_what_is_missing_before_it_trains(workspace, capsys, monkeypatch):
    monkeypatch.setattr(
        "searchless_rl.pipeline.requested.train_requested", lambda *_, **__: pytest.fail("trained")
    )
    main(["scale", "smoke"])
    message = _fails(capsys, "cell")
    for path, command in (
        ("data/base/base.pb.gz", "searchless calibrate"),
        ("data/suites/main.csv", "searchless suites"),
        ("data/book/openings.csv", "searchless openings"),
        ("data/openings/tabiyas.csv", "git checkout"),
    ):
        assert f"{path} is missing: `{command}" in message


def test_a_file_of_the_home_folder_is_found(workspace, capsys, monkeypatch, pytestconfig):
    network = pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
    monkeypatch.setenv("HOME", str(workspace / "home"))
    (workspace / "home").mkdir()
    (workspace / "home" / "mine.pb.gz").write_bytes(network.read_bytes())
    main(["scale", "smoke"])
    path = workspace / "params.yaml"
    path.write_text(path.read_text().replace("base: maia-1900", "base: ~/mine.pb.gz"))
    assert main(["fetch"]) == 0
    assert (workspace / "data" / "fetched" / "base.pb.gz").read_bytes() == network.read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["fan-out", "--jobs", "0"],
        ["warm-start", "-1"],
        ["ui", "--port", "70000"],
        ["warm-start", "9" * 90_000],
    ],
)
def test_a_wrong_number_is_refused_with_what_is_allowed(arguments, capsys):
    with pytest.raises(SystemExit):
        main(arguments)
    message = capsys.readouterr().err
    assert "allowed: " in message or "unrecognized" in message or "expected" in message
    assert len(message) < 2000


@pytest.mark.parametrize(
    "module", ["reports.stage", "figures.stage", "pipeline.fan_out", "pipeline.inputs", "tracking.sync"]
)
def test_what_computes_no_network_needs_no_torch(module):
    """Tables, figures and the pipeline itself must not wait for torch; late imports are followed too."""
    heavy = {"board", "nets", "lc0", "selfplay", "supervised"}
    reached = {name.split(".")[1] for name in closure(f"searchless_rl.{module}") if "." in name}
    assert not heavy & reached


def test_help_needs_no_torch():
    """The small commands must not wait for torch, Lightning or MLflow."""
    heavy = "{'torch', 'pytorch_lightning', 'mlflow', 'pandas'} & set(sys.modules)"
    program = f"import sys; import searchless_rl.cli; sys.exit(bool({heavy}))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
    shown = subprocess.run(
        [sys.executable, "-m", "searchless_rl", "--help"], capture_output=True, text=True, check=True
    )
    for command in ("fetch", "suites", "train", "tactics", "tables", "sync", "scale"):
        assert command in shown.stdout


@pytest.mark.parametrize("lines", [1, 3])
def test_a_reader_that_is_gone_is_no_error(pytestconfig, lines):
    """`searchless play | head`: no message, the status of a broken pipe."""
    network = pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
    command = [sys.executable, "-m", "searchless_rl", "play", "--weights", str(network)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        for _ in range(lines):
            assert program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait(60) == 128 + signal.SIGPIPE


def test_a_human_plays_in_the_terminal(pytestconfig):
    network = pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
    command = [sys.executable, "-m", "searchless_rl", "play", "--weights", str(network), "--human", "black"]
    done = subprocess.run(
        command, input="e5\nresign\n", capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.startswith("White: micro_bt4.pb.gz\nBlack: you\n")
    assert done.stdout.endswith("1-0 (resignation)\n")
