"""What an edit makes stale, asked of DVC itself.

On a copy of the project at smoke scale whose outputs are all there (their content is made up) and recorded.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from dvc.repo import Repo

from searchless_rl.pipeline.dvc import command, environment

TRAINING = ("warm_start", "train", "control")


def _run(folder, *words):
    python_path = {"PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        words, cwd=folder, env=environment() | python_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory, pytestconfig):
    """A copy in which nothing is stale."""
    root, folder = pytestconfig.rootpath, tmp_path_factory.mktemp("project")
    for name in (
        "src",
        "data/lichess",
        "data/openings",
        "data/paper",
        "scales",
        ".dvc/config",
        "dvc.yaml",
        ".dvcignore",
    ):
        source = root / name
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy2(source, folder / name)
    (folder / "my.epd").write_text("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n")
    (folder / "my.pb.gz").write_bytes(b"a network")
    smoke = (folder / "scales" / "smoke.yaml").read_text()
    assert "book: null" in smoke
    smoke = smoke.replace("book: null", "book: my.epd").replace("base: maia-1900", "base: my.pb.gz")
    cells = [line for line in smoke.splitlines(keepends=True) if line.endswith("-s0: s0\n")]
    for line in cells[2:]:  # what holds for one cell holds for all
        smoke = smoke.replace(line, "")
    (folder / "params.yaml").write_text(smoke)
    _run(folder, *command("config", "--local", "core.no_scm", "true"))
    _run(folder, sys.executable, "-m", "searchless_rl", "inputs")
    program = (
        "from dvc.repo import Repo\n"
        "from pathlib import Path\n"
        "for stage in Repo().index.stages:\n"
        "    for out in stage.outs:\n"
        "        path = Path(out.fs_path)\n"
        "        if not path.exists():\n"
        "            path = path if path.suffix else path / 'x'\n"
        "            path.parent.mkdir(parents=True, exist_ok=True)\n"
        "            path.write_text(stage.addressing)\n"
        "for stage in Repo().index.stages:\n"
        "    for dep in stage.deps:\n"
        "        path = Path(dep.fs_path)\n"
        "        if not path.exists():\n"
        "            path.parent.mkdir(parents=True, exist_ok=True)\n"
        "            path.write_text('a part')\n"
    )
    _run(folder, sys.executable, "-c", program)
    _run(folder, *command("commit", "--force", "--quiet"))
    return folder


def _stale(folder):
    """Stage -> why, of every stage that is not up to date; of items of a stage the first."""
    with Repo(str(folder)) as repo:  # as `dvc status` does, without the seconds of its start
        stages = repo.status()
    return {name.rpartition(":")[2].partition("@")[0]: reasons for name, reasons in stages.items()}


@pytest.fixture
def edited(project):
    """Edit a file of the project for one test: append to it, or replace text in it."""
    before = {}

    def edit(name, old=None, new="# edited\n"):
        path = project / name
        before[path] = path.read_bytes()
        text = path.read_text()
        assert old is None or text.count(old) == 1, name
        path.write_text(text + new if old is None else text.replace(old, new))
        return _stale(project)

    yield edit
    for path, content in before.items():
        path.write_bytes(content)


def test_nothing_is_stale_at_first_and_nothing_is_run(project):
    assert _stale(project) == {}
    assert "Running stage" not in _run(project, *command("repro"))


def test_the_oracles_sign_is_recoverys_and_no_cells(edited):
    stale = edited("src/searchless_rl/evaluation/oracle.py")
    assert set(stale) == {"recovery"}


def test_what_select_runs_is_what_it_depends_on(project, edited):
    """The module in which the models are chosen, wherever it is."""
    (module,) = (path for path in (project / "src").rglob("*.py") if "def select_models(" in path.read_text())
    stale = edited(module.relative_to(project).as_posix())
    assert "select" in stale
    assert not set(TRAINING) & set(stale)


def test_winning_sets_are_read_by_all_that_score_puzzles(edited):
    stale = edited("src/searchless_rl/suites/winning.py")
    assert {"suites", "tactics", "tactics_base", "evaluate", "control", "cell", "recovery"} <= set(stale)
    assert not {"train", "warm_start", "coverage", "arena_argmax"} & set(stale)


@pytest.mark.parametrize(
    "name", ["statistics/bootstrap.py", "figures/style.py", "figures/figure8.py", "reports/table1.py"]
)
def test_an_edit_to_reports_only_reruns_reports(edited, name):
    stale = edited(f"src/searchless_rl/{name}")
    assert stale
    assert not {*TRAINING, "cell", "tactics", "evaluate", "coverage", "recovery", "arena_argmax"} & set(stale)


def test_the_training_step_is_no_part_of_scoring(edited):
    stale = edited("src/searchless_rl/selfplay/objective.py")
    assert {"train", "cell"} <= set(stale)
    assert not {"warm_start", "tactics", "evaluate", "coverage", "tables"} & set(stale)


@pytest.mark.slow
def test_words_and_plumbing_make_nothing_stale(edited):
    assert edited("src/searchless_rl/arena/__init__.py", None, '"""Words."""\n') == {}
    assert edited("src/searchless_rl/params.py") == {}
    assert edited("src/searchless_rl/layout.py") == {}


def test_a_book_edited_in_place_makes_the_openings_stale(edited):
    stale = edited("my.epd", "4p3/4P3", "8/4P3")
    assert {"inputs", "openings"} == set(stale)
    assert stale["openings"] == [{"changed deps": {"data/inputs/book": "modified"}}]


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("my.pb.gz", "fetch"),
        ("data/lichess/torre_6605_winning.csv", "suites"),
        ("data/lichess/torre_6605_2026.csv", "suites"),
    ],
)
def test_every_file_that_a_parameter_names_is_a_dependency(edited, name, stage):
    assert set(edited(name)) == {"inputs", stage}


@pytest.mark.slow
def test_dvc_runs_the_edited_stage_and_then_nothing(project, edited):
    """The stage `inputs` for real: a no-op twice, and in between again."""
    program = command("repro", "-s", "inputs")
    assert "didn't change" in _run(project, *program)
    edited("my.epd", None, "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n")
    lock = (project / "dvc.lock").read_bytes()
    assert "Running stage 'inputs'" in _run(project, *program)
    assert "didn't change" in _run(project, *program)
    assert (project / "data" / "inputs" / "book").readlink() == Path("../../my.epd")
    (project / "dvc.lock").write_bytes(lock)
