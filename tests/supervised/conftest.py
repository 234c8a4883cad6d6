import itertools

import pytest

from searchless_rl.lc0 import load_network
from searchless_rl.params import load_params
from searchless_rl.suites.files import SuiteItem, write_suite
from searchless_rl.suites.puzzles import iter_puzzles
from searchless_rl.suites.rows import ReadReport
from searchless_rl.suites.split import SUITE_NAMES
from searchless_rl.suites.winning import winning_sets


@pytest.fixture(scope="session")
def micro(pytestconfig):
    """Path of a small random network of the BT4 family."""
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


@pytest.fixture
def network(micro):
    return load_network(micro)


@pytest.fixture(scope="session")
def puzzles(pytestconfig):
    """Sixty of the bundled puzzles."""
    source = pytestconfig.rootpath / "data" / "lichess" / "torre_6605_2026.csv"
    return list(itertools.islice(iter_puzzles(source, ReadReport()), 60))


@pytest.fixture
def params(pytestconfig):
    """Training parameters of toy size, in float32."""
    smoke = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml").selfplay
    return smoke.model_copy(
        update={"games": 6, "micro_batch": 6, "precision": "float32", "checkpoint_every": 2}
    )


@pytest.fixture(scope="session")
def write_suites():
    """A function that writes a suite file for every name, empty where no puzzles are given."""

    def write(folder, suites):
        for name in {*SUITE_NAMES, *suites}:
            items = [SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in suites.get(name, ())]
            write_suite(folder / f"{name}.csv", items)

    return write


@pytest.fixture
def suites(tmp_path, puzzles, write_suites):
    """A folder with ten training puzzles and three evaluation puzzles."""
    members = {"control": puzzles[:10], "main": puzzles[10:12], "mate2": puzzles[12:13]}
    write_suites(tmp_path / "suites", members)
    return tmp_path / "suites"
