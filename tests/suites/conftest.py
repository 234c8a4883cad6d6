"""Engine programs for the tests of this folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from engine_programs import FakeEngine


@pytest.fixture
def fake(tmp_path: Path) -> FakeEngine:
    return FakeEngine.install(tmp_path / "engine")


@pytest.fixture(scope="session")
def stockfish() -> Path:
    program = shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games")
    if program is None:
        pytest.skip("Stockfish is not installed")
    return Path(program)
