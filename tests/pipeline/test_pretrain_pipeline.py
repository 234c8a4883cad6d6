"""The pipeline of pretrain/ at toy size, in a clone of its own: games, a student, its card and reports."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from searchless_rl.lc0 import describe
from searchless_rl.pretrain.records import read_shard, shards
from searchless_rl.suites.download import FetchError, resolve_base

pytestmark = pytest.mark.slow

TOY = {
    "  games: 2560": "  games: 24",
    "  games_per_shard: 64": "  games_per_shard: 8",
    "    simulations: 100": "    simulations: 8",
    "  slots: 192": "  slots: 24",
    "  max_plies: 300": "  max_plies: 120",
    "  steps: 1500": "  steps: 4",
    "  warmup_steps: 100": "  warmup_steps: 2",
    "  batch_size: 256": "  batch_size: 16",
    "  validation_every: 20": "  validation_every: 4",
    "  checkpoint_every: 500": "  checkpoint_every: 2",
    "  networks: [maia-1900]": "  networks: []",
    "  games: 200 #": "  games: 30 #",
    "  arena_games: 400": "  arena_games: 4",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory, pytestconfig):
    """A clone with this checkout's files, its pretraining cut to toy size."""
    root, folder = pytestconfig.rootpath, tmp_path_factory.mktemp("pretrain")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, listed):
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    if (root / "data" / "downloads").is_dir():
        shutil.copytree(root / "data" / "downloads", folder / "data" / "downloads")
    try:
        resolve_base("meangirl-8", folder / "data")
    except FetchError as error:
        pytest.skip(f"meangirl-8 cannot be fetched: {error}")
    settings = folder / "pretrain" / "params.yaml"
    text = settings.read_text()
    for old, new in TOY.items():
        assert old in text, old
        text = text.replace(old, new)
    settings.write_text(text)
    for name in ("dvc.lock", "pretrain/dvc.lock"):
        (folder / name).unlink(missing_ok=True)
    shutil.copy(folder / "scales" / "smoke.yaml", folder / "params.yaml")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def repro(folder):
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    environment["PYTHONPATH"] = str(folder / "src")
    return subprocess.run(
        [sys.executable, "-m", "dvc", "repro", "pretrain/dvc.yaml"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_one_command_makes_games_student_card_and_reports(project):
    done = repro(project)
    assert done.returncode == 0, done.stdout + done.stderr
    games = [game for path in shards(project / "data" / "visits") for game in read_shard(path)]
    assert len(games) == 24
    assert describe(project / "data" / "student" / "weights.pb.gz")["sizes"]["filters"] == 32
    card = json.loads((project / "data" / "networks" / "visits.json").read_text())
    assert card["games"]["positions"] == sum(len(game.plies) for game in games)
    assert set(card["marks"]) == {
        *("accuracy on the main suite", "entropy at solver positions, nats"),
        *("Elo against its parent", "Brier out of sample"),
    }
    assert resolve_base("visits", project / "data") == project / "data" / "networks" / "visits.pb.gz"
    for name in ("priors", "decidedness"):
        assert (project / "reports" / "pretrain" / f"{name}.md").stat().st_size > 300
    assert (project / "paper_figures" / "pretrain" / "decidedness.pdf").exists()


def test_a_second_run_has_nothing_to_do(project):
    done = repro(project)
    assert done.returncode == 0
    assert "Running stage" not in done.stdout
