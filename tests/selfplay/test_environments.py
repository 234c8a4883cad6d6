"""Variables that a batch system, torchrun or a notebook leaves behind change nothing about a run."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

CELL = "forward_kl-adaptive-0.01-s0"
OTHER = "none-adaptive-0-s0"
SLURM = {
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NAME": "cells",
    "SLURM_NTASKS": "4",
    "SLURM_NTASKS_PER_NODE": "4",
    "SLURM_PROCID": "3",
    "SLURM_LOCALID": "3",
    "SLURM_NODEID": "1",
    "SLURM_NNODES": "2",
    "SLURM_JOB_NODELIST": "node[1-2]",
}
TORCHRUN = {
    "RANK": "3",
    "LOCAL_RANK": "3",
    "GROUP_RANK": "1",
    "WORLD_SIZE": "4",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "node1",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none",
}
JUPYTER = {"MPLBACKEND": "module://matplotlib_inline.backend_inline_of_a_notebook"}


@pytest.fixture(scope="module")
def project(tmp_path_factory, pytestconfig):
    """A project folder at smoke scale with warm-start games, on the small network."""
    root = tmp_path_factory.mktemp("project")
    scale = (pytestconfig.rootpath / "scales" / "smoke.yaml").read_text()
    (root / "params.yaml").write_text(scale.replace("precision: auto", "precision: float32"))
    (root / "data" / "base").mkdir(parents=True)
    micro = pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
    shutil.copy(micro, root / "data" / "base" / "base.pb.gz")
    _run(root, {}, "warm-start", "0")
    return root


def _environment(root, added):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    return inherited | {"SEARCHLESS_MAIN": str(root), "OMP_NUM_THREADS": "1"} | added


def _run(root, added, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "searchless_rl", *arguments],
        cwd=root,
        env=_environment(root, added),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def _weights(root, cell=CELL):
    return (root / "data" / "cells" / cell / "weights.pb.gz").read_bytes()


def _forget(root):
    shutil.rmtree(root / "data" / "cells", ignore_errors=True)
    shutil.rmtree(root / "scratch", ignore_errors=True)


@pytest.fixture(scope="module")
def expected(project):
    """The weights of a run in a plain environment."""
    _run(project, {}, "train", CELL)
    weights = _weights(project)
    _forget(project)
    return weights


@pytest.mark.slow
@pytest.mark.parametrize(
    "added",
    [SLURM, TORCHRUN, JUPYTER, SLURM | TORCHRUN | JUPYTER],
    ids=["slurm", "torchrun", "jupyter", "all"],
)
def test_a_cell_trains_to_the_same_bytes(project, expected, added):
    _forget(project)
    _run(project, added, "train", CELL)
    assert _weights(project) == expected
    assert {path.name for path in project.iterdir()} == {"params.yaml", "data", "scratch"}


@pytest.mark.slow
def test_a_checkpoint_that_a_batch_job_left_is_not_resumed(project, expected):
    """Lightning looks for hpc_ckpt files where a Slurm job runs; this one is of something else."""
    _forget(project)
    stray = project / "hpc_ckpt_1.ckpt"
    stray.write_bytes(b"of another run")
    try:
        _run(project, SLURM, "train", CELL)
    finally:
        stray.unlink()
    assert _weights(project) == expected


@pytest.mark.slow
def test_a_batch_systems_signal_leaves_nothing_behind(project, expected):
    """SIGUSR1 during a cell in a Slurm job: it goes on, nothing is requeued, no other cell is touched."""
    _forget(project)
    process = subprocess.Popen(
        [sys.executable, "-m", "searchless_rl", "train", CELL],
        cwd=project,
        env=_environment(project, SLURM),
        stderr=subprocess.PIPE,
        text=True,
    )
    metrics, deadline = project / "scratch" / "cells" / CELL / "metrics.jsonl", time.monotonic() + 120
    while process.poll() is None and not metrics.exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    if process.poll() is None:
        process.send_signal(signal.SIGUSR1)
    error = process.communicate(timeout=120)[1]
    assert process.returncode == 0, error
    assert _weights(project) == expected
    _run(project, SLURM, "train", OTHER)
    assert {path.name for path in project.iterdir()} == {"params.yaml", "data", "scratch"}


def test_figures_do_not_load_a_notebooks_backend():
    """Every command sets the backend before anything can import matplotlib."""
    program = (
        "from searchless_rl.cli import main\n"
        "try:\n"
        "    main(['scale', 'nothing'])\n"
        "finally:\n"
        "    import matplotlib\n"
        "    assert matplotlib.get_backend().lower() == 'agg'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | JUPYTER, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
