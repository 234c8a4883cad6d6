"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Small networks are slower on several threads, and far slower where other work shares the cores."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def _hangups_arrive() -> None:
    """Under nohup what a test starts would ignore SIGHUP too, and tests of that signal would wait forever."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of larger reference data that a public clone does not carry."""
    folder = Path(os.environ.get("SEARCHLESS_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"reference data not found: {folder} (set SEARCHLESS_SHARED)")
    return folder
