"""Fixtures of the network-file tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

DATA = Path(__file__).resolve().parent.parent / "data" / "lc0"


class Golden(NamedTuple):
    """A network file and what the real lc0 returned for it."""

    network: Path
    outputs: Path  # .npz
    positions: Path  # .json


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], Golden]:
    """Name -> files; only micro_bt4 is in the repository, the rest skips where it is absent."""

    def find(name: str) -> Golden:
        if name == "micro_bt4":
            return Golden(*(DATA / f"{name}.{suffix}" for suffix in ("pb.gz", "npz", "json")))
        folder = request.getfixturevalue("shared") / "lc0"
        outputs = folder / "golden" / name
        return Golden(folder / f"{name}.pb.gz", outputs.with_suffix(".npz"), outputs.with_suffix(".json"))

    return find
