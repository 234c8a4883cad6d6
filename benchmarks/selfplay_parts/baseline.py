"""The process that runs ``lczerolens_baseline.py`` in an environment of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from selfplay_parts.settings import ROOT

VERSION = "0.4.0"
"""The last whose board class is public."""
_SCRIPT = ROOT / "benchmarks" / "lczerolens_baseline.py"


def make_environment(folder: Path) -> None:
    """A virtual environment with the encoder, and with torch and python-chess at this project's versions.

    ``TORCH_PIP_ARGS`` is respected as in the Makefile. What lczerolens asks for beyond its board class
    (converters of ONNX networks) is left out.

    Raises:
        subprocess.CalledProcessError: pip failed; it has said why.
    """
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(_python(folder)), "-m", "pip", "install", "-q"]
    pinned = [*install, "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*pinned, *shlex.split(os.environ.get("TORCH_PIP_ARGS", "")), "torch"], check=True)
    subprocess.run([*pinned, "numpy", "python-chess"], check=True)
    subprocess.run([*install, "--no-deps", f"lczerolens=={VERSION}"], check=True)


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


class Baseline:
    """A running baseline; one ply at a time, so that it takes turns with what it is compared with.

    Args:
        folder: of `make_environment`.
        games: JSON file of UCI moves, a list for each game.
        threads: CPU threads.

    Raises:
        SystemExit: no such environment.
    """

    def __init__(self, folder: Path, games: Path, threads: int) -> None:
        if not _python(folder).exists():
            raise SystemExit(f"{folder}: no environment with lczerolens; run with --make-baseline")
        command = [str(_python(folder)), str(_SCRIPT), str(games), str(threads)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> Baseline:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def play(self, ply: int) -> dict[str, float]:
        """What one ply of every game took, from `ply` on (`lczerolens_baseline.play_ply`).

        Raises:
            RuntimeError: the process has ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{ply}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"the baseline ended with exit code {self._process.wait()}; see its error above"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer
