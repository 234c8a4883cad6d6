"""Fixtures of the coverage tests."""

import pytest

from searchless_rl.lc0 import load_network


@pytest.fixture(scope="session")
def tabiyas(pytestconfig):
    """File of the positions that coverage is measured at."""
    return pytestconfig.rootpath / "data" / "openings" / "tabiyas.csv"


@pytest.fixture(scope="session")
def network(pytestconfig):
    """A small network of the Chessformer family with random weights."""
    return load_network(pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz")
