"""DVC as a program: the one of this environment, and who else is using it here."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from searchless_rl.pipeline.lifetime import tied

PATIENCE = 60.0
"""Seconds to wait for others before naming them."""
HELD = Path(".dvc") / "tmp" / "rwlock"
"""Who reads and writes what, in DVC's own file: path -> {"read": [{"pid", "cmd"}, ...], "write": {...}}."""


class DvcError(RuntimeError):
    """DVC cannot be used here now."""


def command(*arguments: str) -> list[str]:
    """DVC of this Python environment, activated or not.

    Raises:
        DvcError: it is not installed.
    """
    if importlib.util.find_spec("dvc") is None:
        raise DvcError(
            f"DVC is not installed for {sys.executable}; run `make setup`, then `source .venv/bin/activate`"
        )
    return [sys.executable, "-P", "-m", "dvc", *arguments]


def environment() -> dict[str, str]:
    """This process's environment, its Python found first: stages run as `python -m searchless_rl`."""
    folder = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    return os.environ | {"PATH": path if path.split(os.pathsep)[0] == folder else folder + os.pathsep + path}


def run(*arguments: str) -> int:
    """Run DVC in the foreground; its exit status."""
    return subprocess.run(tied(command(*arguments)), check=False, env=environment()).returncode


def ask(*arguments: str) -> tuple[int, str, str]:
    """Run DVC quietly; its exit status, output and errors."""
    done = subprocess.run(command(*arguments), check=False, capture_output=True, text=True, env=environment())
    return done.returncode, done.stdout, done.stderr


def others() -> dict[int, str]:
    """Living processes that hold files of the pipeline: PID -> command."""
    try:
        held = json.loads(HELD.read_text(encoding="utf-8"))
        entries = [entry for users in held.values() for entry in _entries(users)]
        found = {int(entry["pid"]): str(entry["cmd"]) for entry in entries}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # DVC makes it anew
    return {number: text for number, text in found.items() if psutil.pid_exists(number)}


def _entries(users: dict[str, list[dict[str, str]] | dict[str, str]]) -> list[dict[str, str]]:
    writer, readers = users.get("write"), users.get("read", [])
    assert isinstance(readers, list)
    return [*readers, *([writer] if isinstance(writer, dict) and writer else [])]


def wait_for_others() -> None:
    """Wait until nobody else holds files of the pipeline.

    Raises:
        DvcError: somebody does, after a minute (named, with how to stop it).
    """
    deadline, said = time.monotonic() + PATIENCE, False
    while found := others():
        names = "; ".join(f"{number} ({text})" for number, text in sorted(found.items()))
        if time.monotonic() > deadline:
            raise DvcError(
                f"the pipeline is already running here: process {names}. Wait for it, or stop it: "
                f"kill {' '.join(map(str, sorted(found)))}"
            )
        if not said:
            print(f"waiting for process {names}", file=sys.stderr, flush=True)
            said = True
        time.sleep(0.5)
