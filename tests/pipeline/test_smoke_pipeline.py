"""The whole pipeline at smoke scale in a clone of its own; the tests are in order and build on each other."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import chess.pgn
import pandas as pd
import psutil
import pytest
from ruamel.yaml import YAML

from searchless_rl.results.names import COVERED, EVALUATED
from searchless_rl.statistics.intervals import wilson

pytestmark = pytest.mark.slow

GIT = ("git", "-c", "user.name=Test", "-c", "user.email=test@example.org")
FAN_OUT = (sys.executable, "-m", "searchless_rl", "fan-out", "--jobs", "2")


@pytest.fixture(scope="module")
def clone(tmp_path_factory, pytestconfig):
    """A clone with this checkout's files, committed or not, switched to smoke scale."""
    root, folder = pytestconfig.rootpath, tmp_path_factory.mktemp("clone")
    names = _run(root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    for name in filter(None, names):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    downloads = root / "data" / "downloads"
    if downloads.is_dir():  # spare the network where the base is at hand
        shutil.copytree(downloads, folder / "data" / "downloads")
    (folder / "dvc.lock").unlink(missing_ok=True)
    _run(folder, sys.executable, "-m", "searchless_rl", "scale", "smoke")
    _run(folder, "git", "init", "-q")
    _commit(folder)
    return folder


def _commit(folder):
    _run(folder, *GIT, "add", "-A")
    _run(folder, *GIT, "commit", "-qm", "A commit")


def _environment(folder):
    tools = str(Path(sys.executable).parent)
    path = f"{tools}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder / "src")}
    environment.pop("MLFLOW_TRACKING_URI", None)
    return environment


def _run(folder, *command):
    done = subprocess.run(
        command, cwd=folder, env=_environment(folder), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _stages_run(output):
    return {line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")}


def _kill_everything_in(folder):
    """SIGKILL to every process that works below a folder: the pipeline, DVC, and the stages they leave."""
    killed = set()
    while found := [number for number in map(int, _numbers()) if _works_in(number, folder)]:
        for number in found:
            killed.add(number)
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.2)  # one that was being started meanwhile is seen in the next round
    deadline = time.monotonic() + 60  # DVC takes one that nobody has waited for yet as alive
    while any(map(psutil.pid_exists, killed)) and time.monotonic() < deadline:
        time.sleep(0.1)


def _numbers():
    return (path.name for path in Path("/proc").glob("[0-9]*"))


def _works_in(number, folder):
    try:
        return Path(f"/proc/{number}/cwd").resolve().is_relative_to(folder)
    except OSError:  # gone meanwhile, or not ours
        return False


def _trained_at(folder, stage):
    return (folder / "data" / "cells" / stage.removeprefix("train@") / "weights.pb.gz").stat().st_mtime_ns


def test_a_killed_run_is_continued_and_no_finished_cell_is_run_again(clone):
    """Killed as soon as two cells are done; the next run leaves these as they are."""
    with subprocess.Popen(
        FAN_OUT, cwd=clone, env=_environment(clone), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 300
        while len(list(clone.glob("data/tactics/*-s0/summary.json"))) < 2:
            assert process.poll() is None, "the pipeline ended before it could be killed"
            assert time.monotonic() < deadline, "no cell is done after five minutes"
            time.sleep(0.05)
        process.kill()
        process.wait()
        _kill_everything_in(clone)
    lock = YAML(typ="safe").load((clone / "dvc.lock").read_text())
    finished = [name for name in lock["stages"] if name.startswith("train@")]
    assert 2 <= len(finished) < 14
    before = {name: _trained_at(clone, name) for name in finished}
    _run(clone, *FAN_OUT)
    assert {name: _trained_at(clone, name) for name in finished} == before


def test_every_output_is_there(clone):
    reports = clone / "reports" / "smoke"
    table6 = pd.read_csv(reports / "table6.csv")
    assert len(table6) == 1 + 14
    for row in table6.itertuples():
        assert (row.low, row.high) == pytest.approx(wilson(row.k, row.n), rel=1e-7)
        assert row.n == 120
    tables = (f"table{number}" for number in range(1, 7))
    for name in (
        *tables,
        "ladder",
        "coverage",
        "deviations",
        "published",
        "paired",
        "recovery",
        "puzzle_ratings",
    ):
        for suffix in ("csv", "md", "tex"):
            assert (reports / f"{name}.{suffix}").stat().st_size > 100
    for name in (*(f"figure{number}" for number in range(5, 11)), "dissociation", "strength", "tiers"):
        for suffix in ("pdf", "png", "csv"):
            assert (clone / "paper_figures" / "smoke" / f"{name}.{suffix}").stat().st_size > 100
    for name in ("paired", "recovery", "strength", "cells", "learning_curves"):
        assert len(pd.read_csv(reports / f"{name}.csv")) > 0
    claims = pd.read_csv(reports / "claims.csv")
    assert len(claims) > 300
    assert (claims["verdict"] != "not measurable here").sum() > 120
    timings = json.loads((reports / "timings.json").read_text())
    assert len(timings["stages"]) == 1 + 6 + 2 * 14 + 4 + len(EVALUATED) + len(COVERED) + 3 + 5
    assert all(stage["peak_memory_mib"] < 4096 for stage in timings["stages"].values())
    sync = json.loads((reports / "sync.json").read_text())
    assert sync["pending"] == []
    assert len(sync["done"]) == 2 + 14 + 1


def test_every_game_opens_in_python_chess_and_is_what_the_table_counts(clone):
    """PGN read with no error; the counts of Table 1 are those of the games."""
    table = pd.read_csv(clone / "reports" / "smoke" / "table1.csv").set_index("model")
    games = []
    with (clone / "data" / "arena" / "argmax" / "games.pgn").open() as stream:
        while game := chess.pgn.read_game(stream):
            assert not game.errors
            games.append(game.headers)
    assert len(games) == 9 * 4 + 36 * 2
    for model, row in table.iterrows():
        if model == "base":
            continue
        met = [each for each in games if {each["White"], each["Black"]} == {model, "base"}]
        won = sum(each["Result"] == ("1-0" if each["White"] == model else "0-1") for each in met)
        assert (len(met), won) == (4, row["wins"])


def _processor_seconds(call):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = call()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_nothing_is_left_to_do(clone):
    output, one_look = _processor_seconds(lambda: _run(clone, "dvc", "repro"))
    assert _stages_run(output) == set()
    _, used = _processor_seconds(lambda: _run(clone, *FAN_OUT))
    assert used < 8 * one_look  # it has DVC look five times, and does no more


def test_a_requested_cell_of_the_grid_is_that_cell_to_the_bit(clone):
    requested = clone / "data" / "requested"
    same = clone / "data" / "cells" / "forward_kl-adaptive-0.01-s0"
    for name in ("weights.pb.gz", "metrics.jsonl", "cell.json"):
        assert (requested / name).read_bytes() == (same / name).read_bytes()
    cells = pd.read_csv(clone / "reports" / "smoke" / "cells.csv")
    assert cells["model"].is_unique
    assert cells.loc[cells["requested"], "model"].tolist() == ["forward_kl-adaptive-0.01-s0"]


def test_what_the_pipeline_makes_is_ignored_or_meant_for_git(clone):
    status = _run(clone, "git", "status", "--porcelain", "--untracked-files=all").splitlines()
    meant = ("reports/smoke/", "paper_figures/smoke/", "dvc.lock")
    assert [line for line in status if not line[3:].startswith(meant)] == []


def test_an_experiment_trains_one_cell_and_redoes_reports(clone):
    _commit(clone)
    output = _run(clone, "dvc", "exp", "run", "-S", "term=reverse_kl", "-S", "tau=fixed", "-S", "beta=0.05")
    assert _stages_run(output) == {"cell", "tables", "figures", "claims", "sync"}
    cells = pd.read_csv(clone / "reports" / "smoke" / "cells.csv").set_index("model")
    assert cells.loc["reverse_kl-fixed-0.05-s0", "requested"]
    assert cells.loc["reverse_kl-fixed-0.05-s0", "selection_n"] == 120
    assert "reverse_kl-fixed-0.05-s0" in json.loads((clone / "reports/smoke/sync.json").read_text())["done"]
    _run(clone, "git", "checkout", "-q", ".")
    _run(
        clone, "dvc", "checkout", "-q", "dvc.yaml"
    )  # pretrain/ was never run here and has nothing to restore


def test_an_edit_to_a_table_retrains_nothing(clone):
    path = clone / "src" / "searchless_rl" / "reports" / "tables.py"
    path.write_text(path.read_text() + "\n# edited\n")
    assert "tables" in _stages_run(output := _run(clone, "dvc", "repro"))
    assert _stages_run(output) <= {"tables", "figures", "claims", "sync"}


def test_openings_are_drawn_again_where_their_book_was_edited(clone):
    """A file that params.yaml names; `dvc status` says so, and a second run has nothing to do."""
    board, book = chess.Board(), clone / "my.epd"
    fens = [chess.Board(board.fen()) for _ in board.legal_moves]
    for position, move in zip(fens, board.legal_moves, strict=True):
        position.push(move)
    epd = [position.epd() for position in fens]
    params = clone / "params.yaml"
    params.write_text(params.read_text().replace("book: null", "book: my.epd"))
    book.write_text("\n".join(epd[:10]) + "\n")
    assert {"inputs", "openings"} <= _stages_run(_run(clone, "dvc", "repro", "openings"))
    first = (clone / "data" / "book" / "openings.csv").read_text()
    assert "openings" not in json.loads(_run(clone, "dvc", "status", "--json", "openings"))
    book.write_text("\n".join(epd[10:]) + "\n")
    assert "openings" in json.loads(_run(clone, "dvc", "status", "--json", "openings"))
    assert {"inputs", "openings"} == _stages_run(_run(clone, "dvc", "repro", "openings"))
    assert (clone / "data" / "book" / "openings.csv").read_text() != first
    assert _stages_run(_run(clone, "dvc", "repro", "openings")) == set()
    _run(clone, "git", "checkout", "-q", "params.yaml", "dvc.lock")
    _run(clone, "dvc", "checkout", "-q", "--force", "openings")
