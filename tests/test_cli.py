"""The command line: errors are one message and a non-zero exit, help is quick."""

import signal
import subprocess
import sys

import pytest

from searchless_rl.cli import main
from searchless_rl.interruption import Interrupted


@pytest.fixture
def workspace(tmp_path, monkeypatch, pytestconfig):
    (tmp_path / "scales").mkdir()
    for path in (pytestconfig.rootpath / "scales").glob("*.yaml"):
        (tmp_path / "scales" / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEARCHLESS_DEBUG", raising=False)
    return tmp_path


def _fails(capsys, *arguments):
    assert main(arguments) == 1
    message = capsys.readouterr().err
    assert "Traceback" not in message
    assert message.startswith(f"searchless {arguments[0]}: ")
    return message


def test_scale_then_errors_that_say_what_to_do(workspace, capsys):
    assert "searchless scale mini" in _fails(capsys, "tables")
    assert "allowed: mini, paper, smoke" in _fails(capsys, "scale", "huge")
    assert main(["scale", "smoke"]) == 0
    assert (workspace / "params.yaml").read_bytes() == (workspace / "scales" / "smoke.yaml").read_bytes()
    assert "write TERM-TAU-BETA-sSEED" in _fails(capsys, "train", "forward_kl")
    assert "base.pb.gz" in _fails(capsys, "tactics", "base")
    assert "known: bt4, maia-1900" in _fails(capsys, "fetch", "stockfish")
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
    assert (workspace / "data" / "base" / "base.pb.gz").read_bytes() == network.read_bytes()
    assert main(["describe", "data/base/base.pb.gz"]) == 0
    path.write_text(smoke.replace("base: maia-1900", "base: nets/none.pb.gz"))
    assert "nets/none.pb.gz" in _fails(capsys, "fetch")


def test_a_damaged_base_is_named(workspace, capsys):
    main(["scale", "smoke"])
    base = workspace / "data" / "base" / "base.pb.gz"
    base.parent.mkdir(parents=True)
    base.write_bytes(b"<html>not found</html>")
    assert "base.pb.gz" in _fails(capsys, "warm-start", "0")


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
