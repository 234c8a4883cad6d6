"""A pipeline folder whose results are made by hand, small or at the size of a scale."""

from __future__ import annotations

import json
import logging
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from searchless_rl.cells import Cell
from searchless_rl.params import GridParams, Params, load_params

ROOT = Path(__file__).resolve().parents[2]
CELLS = (
    "forward_kl-adaptive-0.01-s0",
    "forward_kl-adaptive-0.1-s0",
    "entropy-fixed-0.01-s0",
    "none-fixed-0-s0",
)
BEST = "forward_kl-adaptive-0.1-s0"


class EmptyStore(NamedTuple):
    """A database without experiments of ours, and what making it did to the logging of the program."""

    database: Path
    logging_before: tuple[int, list[logging.Handler], bool]
    logging_after: tuple[int, list[logging.Handler], bool]


def make_params(cells: tuple[str, ...] = CELLS) -> Params:
    """The smoke parameters with these cells; the requested cell is one of them."""
    params = load_params(ROOT / "scales/smoke.yaml")
    return params.model_copy(
        update={"grid": GridParams(cells=dict.fromkeys(cells, "s0"), warm_starts={"s0": 0})}
    )


def make_pipeline(root: Path, cells: tuple[str, ...] = CELLS, steps: int = 12) -> Params:
    """Write base, cells, suites report and two tables into `root`."""
    params = make_params(cells)
    write_json(root / "data/suites/report.json", {"selection": 120})
    write_summary(root, "base", 0.40)
    for place, text in enumerate(cells):
        write_cell(root, params, text, steps)
        write_summary(root, text, 0.62 if text == BEST else 0.50 + 0.001 * place)
    write_control(root, steps)
    write_text(root / "reports/smoke/table1.csv", "model,accuracy\nbase,0.4\n")
    write_text(root / "paper_figures/smoke/figure5.csv", "beta,accuracy\n0.01,0.5\n")
    write_text(root / "params.yaml", (ROOT / "scales/smoke.yaml").read_text(encoding="utf-8"))
    return params


def write_cell(root: Path, params: Params, text: str, steps: int = 12, shift: float = 0.0) -> None:
    """Curves of 23 metrics, some of them only at some steps, as the trainer writes them."""
    lines = []
    for step in range(1, steps + 1):
        record: dict[str, float] = {"step": step, "loss": 1 / step + shift, "entropy": 2 - step / (2 * steps)}
        record |= {f"metric_{place}": math.sin(step * place) for place in range(19)}
        if step % 2 == 0:
            record |= {"kl_base_policy": step / 1000, "plies": 40.0 + step}
        lines.append(json.dumps(record) + "\n")
    write_text(root / "data/cells" / text / "metrics.jsonl", "".join(lines))
    write_json(
        root / "data/cells" / text / "cell.json",
        {
            "cell": Cell.parse(text).id,
            "base_sha256": "b" * 64,
            "warm_start_sha256": "c" * 64,
            "precision": "float32",
            "params": params.selfplay.model_dump(),
            "final": {"entropy": 1.5, "kl_base_policy": 0.012},
        },
    )


def write_control(root: Path, steps: int = 12) -> None:
    """The puzzle-tuned control, with curves of its own."""
    lines = [json.dumps({"step": step, "loss": 1 / step}) + "\n" for step in range(1, steps + 1)]
    write_text(root / "data/control/metrics.jsonl", "".join(lines))
    write_json(root / "data/control/control.json", {"precision": "float32", "final": {"loss": 0.5}})
    summary = {"weights_sha256": "d" * 64, "suites": {"main": {"accuracy": 0.6, "k": 6, "n": 10}}}
    write_json(root / "data/evaluated/control/summary.json", summary)


def write_summary(root: Path, model: str, accuracy: float) -> None:
    """Scores on two suites and an empty third."""
    figures = {
        "n": 120,
        "k": round(120 * accuracy),
        "accuracy": accuracy,
        "low": accuracy - 0.09,
        "high": accuracy + 0.09,
        "geometric_mean": accuracy / 2,
        "arithmetic_mean": accuracy / 1.5,
        "positions": 300,
        "correct": 200,
        "ties": 1,
    }
    empty = dict.fromkeys(figures) | {"n": 0, "k": 0, "positions": 0, "correct": 0, "ties": 0}
    write_json(
        root / "data/tactics" / model / "summary.json",
        {"weights_sha256": "d" * 64, "suites": {"selection": figures, "main": figures, "mate_5": empty}},
    )


def write_json(path: Path, value: object) -> None:
    """Write JSON, with its folders."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write text, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def sync_process(root: Path, uri: str, prelude: str = "") -> subprocess.Popen[str]:
    """A process that syncs the fake pipeline in `root` and prints the report; `prelude` runs before."""
    code = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from fake_pipeline import make_params
from searchless_rl.tracking import sync
{prelude}
print(sync(make_params(), Path({str(root)!r}), tracking_uri={uri!r}).to_json())
"""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"MLFLOW_DISABLE_TELEMETRY": "true"},
    )
