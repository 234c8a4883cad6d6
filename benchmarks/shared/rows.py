"""Rows of a benchmark's CSV, and the machine they were measured on."""

from __future__ import annotations

import csv
import io
import operator
import platform
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch

from searchless_rl.files import write_atomically, write_json

COLUMNS = ("part", "setting", "value", "unit", "baseline", "ratio", "target", "met")
_TARGET = re.compile(r"(?P<what>value|ratio) (?P<sign><=|>=) (?P<bound>[0-9.]+)")
_SIGNS = {"<=": operator.le, ">=": operator.ge}


@dataclass(frozen=True)
class Row:
    """One measured number.

    Attributes:
        part: name of the module that measured it.
        setting: what was measured, and how.
        value: None where it could not be measured.
        unit: of the value and the baseline.
        baseline: what it is held against, in the same run.
        ratio: the two compared; which way round, the part's docstring says.
        target: "value <= 5", "ratio >= 50", or nothing.
        problem: why there is no value.
    """

    part: str
    setting: str
    value: float | None
    unit: str
    baseline: float | None = None
    ratio: float | None = None
    target: str = ""
    problem: str = ""

    def __post_init__(self) -> None:
        if self.target and not _TARGET.fullmatch(self.target):
            raise ValueError(f"target {self.target!r}: write value or ratio, <= or >=, and a number")

    @property
    def met(self) -> str:
        """Yes or no; empty without a target; the problem where nothing was measured."""
        if self.value is None:
            return f"not measured: {self.problem}"
        target = _TARGET.fullmatch(self.target)
        if target is None:
            return ""
        reached = self.value if target["what"] == "value" else self.ratio
        if reached is None:
            raise ValueError(f"{self.setting}: a target for a ratio that was not computed")
        return "yes" if _SIGNS[target["sign"]](reached, float(target["bound"])) else "no"

    @property
    def text(self) -> str:
        """One line for the terminal."""
        if self.value is None:
            return f"{self.part:8} {self.setting}: {self.met}"
        parts = [f"{self.part:8} {self.setting}: {write_number(self.value)} {self.unit}"]
        if self.baseline is not None:
            parts.append(f"beside {write_number(self.baseline)}, ratio {write_number(self.ratio)}")
        if self.target:
            parts.append(f"{self.target}: {self.met}")
        return "; ".join(parts)


def write_number(number: float | None) -> str:
    """Four significant digits as a plain decimal where that is short; empty for None."""
    return "" if number is None else f"{float(f'{number:.4g}'):.10g}"


def to_csv(rows: Sequence[Row]) -> str:
    """The rows as CSV text under `COLUMNS`."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        numbers = (write_number(number) for number in (row.value, row.baseline, row.ratio))
        value, baseline, ratio = numbers
        writer.writerow([row.part, row.setting, value, row.unit, baseline, ratio, row.target, row.met])
    return text.getvalue()


def keep(rows: Iterable[Row], out: Path, machine: dict[str, Any]) -> None:
    """Print rows as they come and write them to `out`, the machine beside it as .machine.json.

    A run that is stopped keeps what it has measured.
    """
    write_json(out.with_suffix(".machine.json"), machine)
    measured = []
    for row in rows:
        print(row.text, flush=True)
        measured.append(row)
        write_atomically(out, to_csv(measured))


def describe_machine(threads: int) -> dict[str, Any]:
    """Processor, cores and versions, for the file beside the CSV."""
    return {
        "cpu": _cpu_model(),
        "cores": psutil.cpu_count(logical=False) or psutil.cpu_count(),
        "threads": threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def _cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
