"""Engine programs, servers and puzzles for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import game_server as games
import https_server as files
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


@pytest.fixture
def server() -> Iterator[files.Server]:
    """A server of one file."""
    with files.served() as running:
        yield running


@pytest.fixture
def target(tmp_path: Path) -> Path:
    """Where its file is to lie."""
    return tmp_path / "base" / "net.pb.gz"


@pytest.fixture
def game_server() -> Iterator[games.GameServer]:
    """A server of the games behind `puzzles`."""
    with games.served() as running:
        yield running


@pytest.fixture
def puzzles(tmp_path: Path) -> Path:
    """Four puzzles of three games, one of them with two."""
    return games.write(
        tmp_path / "p.csv",
        [
            games.row("00001", "gameAAA1"),
            games.row("00002", "gameAAA2", "https://lichess.org/gameAAA2/black#Some(6)"),
            games.row("00003", "gameAAA3"),
            games.row("00004", "gameAAA1"),
        ],
    )
