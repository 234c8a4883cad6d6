"""The stage `coverage`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from tqdm import tqdm

from searchless_rl.evaluation.coverage import (
    Trajectories,
    coverage_bounds,
    draws_to_cover,
    enumerate_trajectories,
    lines_bounds,
)
from searchless_rl.evaluation.tabiyas import read_tabiyas
from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.results.names import POLICIES, SHARE, Policy

TAU_OF_POLICY: dict[Policy, float | Literal["adaptive"]] = {"raw": 1.0, "adaptive": "adaptive"}
"""Sampling temperature of each policy."""
DRAWS = np.unique(np.round(np.geomspace(1, 1e7, 71)).astype(np.int64))
"""int64: the K of the curves, ten a decade (fewer below 10, where they would coincide)."""


def run_coverage(
    weights: Path,
    model: str,
    positions: Path,
    out: Path,
    *,
    policies: Sequence[Policy],
    plies: int,
    mass_floor: float,
    batch_size: int,
    show_progress: bool = False,
) -> None:
    """Measure trajectory coverage at the start position and at the tabiyas (section 3.3, appendix H).

    Writes summary.json (per position and policy: draws that cover 95 % and lines that hold it, with bounds,
    cut mass, evaluations, entropy in nats, mass of the heaviest line) and curves.csv (position, policy,
    draws, coverage, upper: Ω lies between the last two) into `out`.

    Args:
        weights: network file.
        model: its name, recorded.
        positions: file of tabiyas, see `read_tabiyas`.
        out: folder to write into.
        policies: of `POLICIES`, each once.
        plies: moves in a line.
        mass_floor: prefixes of less mass are not followed.
        batch_size: positions per forward pass.
        show_progress: draw a progress bar for every position and policy.

    Raises:
        ValueError: an unknown or repeated policy, a faulty file of tabiyas, or as `enumerate_trajectories`.
        OSError: a file that cannot be read.
    """
    if not policies or len(set(policies)) < len(policies) or not set(policies) <= set(POLICIES):
        raise ValueError(f"policies {list(policies)}: name {' or '.join(POLICIES)}, each at most once")
    tabiyas = read_tabiyas(positions)
    evaluator = Evaluator(load_network(weights), batch_size)
    summary: dict[str, dict[str, Any]] = {}
    curves = []
    for tabiya in tabiyas:
        summary[tabiya.name] = {}
        for policy in policies:
            description = f"{model} {tabiya.name} {policy}"
            with tqdm(desc=description, unit="position", disable=not show_progress) as bar:
                lines = enumerate_trajectories(
                    evaluator,
                    None,
                    tabiya.moves,
                    tau=TAU_OF_POLICY[policy],
                    plies=plies,
                    mass_floor=mass_floor,
                    advance=bar.update,
                )
            summary[tabiya.name][policy] = _summarize(lines)
            low, high = coverage_bounds(lines, DRAWS)
            curve = pd.DataFrame({"draws": DRAWS, "coverage": low, "upper": high})
            curves.append(curve.assign(position=tabiya.name, policy=policy))
    table = pd.concat(curves)[["position", "policy", "draws", "coverage", "upper"]]
    write_atomically(out / "curves.csv", table.to_csv(index=False, lineterminator="\n"))
    settings = {"plies": plies, "mass_floor": mass_floor, "share": SHARE}
    identity = {"model": model, "weights_sha256": sha256_of(weights)}
    # Last, so that a summary means that the curves beside it are complete.
    write_json(out / "summary.json", identity | settings | {"positions": summary})


def _summarize(lines: Trajectories) -> dict[str, Any]:
    return {
        "draws_95": draws_to_cover(lines, SHARE)._asdict(),
        "lines_95": lines_bounds(lines, SHARE)._asdict(),
        "cut_mass": lines.cut_mass,
        "evaluations": lines.evaluations,
        "entropy": lines.entropy,
        "heaviest": float(lines.probability[0]) if len(lines.probability) else None,
    }
