"""What a stage cost, kept apart from its results: times differ from run to run, results do not."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

from searchless_rl.files import write_json

TIMING = "timing.json"


class Stopwatch:
    """Measures a stage from its creation."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()

    def write(self, folder: Path) -> None:
        """Write seconds and the process's peak resident memory (MiB) as `timing.json` into `folder`."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        mebibytes = peak / 2**20 if sys.platform == "darwin" else peak / 2**10
        seconds = time.perf_counter() - self._begun
        write_json(folder / TIMING, {"seconds": round(seconds, 1), "peak_memory_mib": round(mebibytes)})
