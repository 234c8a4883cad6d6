import pytest

from searchless_rl.cells import Cell
from searchless_rl.lc0 import load_network
from searchless_rl.params import load_params
from searchless_rl.selfplay.warm_start import make_warm_start


@pytest.fixture(scope="session")
def micro(pytestconfig):
    """Path of a small random network of the BT4 family."""
    return pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


@pytest.fixture
def network(micro):
    return load_network(micro)


@pytest.fixture
def params(pytestconfig):
    """Training parameters of toy size, in float32."""
    smoke = load_params(pytestconfig.rootpath / "scales" / "smoke.yaml").selfplay
    return smoke.model_copy(
        update={"games": 6, "micro_batch": 6, "precision": "float32", "checkpoint_every": 2}
    )


@pytest.fixture
def cell():
    return Cell.parse("forward_kl-adaptive-0.01-s0")


@pytest.fixture
def warm_start(tmp_path, micro, params):
    path = tmp_path / "warm_start" / "s0.json"
    make_warm_start(micro, path, games=params.games, full_moves=3, seed=0, batch_size=4)
    return path
