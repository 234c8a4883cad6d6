"""The stage `cell`: the one cell that the top-level keys term, tau, beta, seed and variant ask for.

It makes its own warm-start games and does everything a grid cell's stages do, so that
``dvc exp run -S beta=0.003`` runs one training and no other. Asked for a cell of the grid, it repeats it to
the bit.
"""

from __future__ import annotations

from pathlib import Path

from searchless_rl.evaluation.stage import run_tactics
from searchless_rl.params import Params
from searchless_rl.selfplay.stage import make_warm_start, train_cell

WARM_START = "warm_start.json"


def run_requested(
    params: Params, *, base: Path, suites: Path, out: Path, scratch: Path, show_progress: bool = False
) -> None:
    """Train and measure `params.cell`: files as of a grid cell into `out`, measurements into out/tactics."""
    warm_start = out / WARM_START
    make_warm_start(
        base,
        warm_start,
        games=params.selfplay.games,
        full_moves=params.selfplay.warm_start_moves,
        seed=params.seed,
        batch_size=params.evaluation.batch_size,
    )
    train_cell(
        params.cell,
        params.selfplay,
        base=base,
        warm_start=warm_start,
        out=out,
        scratch=scratch,
        show_progress=show_progress,
    )
    run_tactics(
        out / "weights.pb.gz",
        suites,
        params.evaluation.suites,
        out / "tactics",
        batch_size=params.evaluation.batch_size,
        show_progress=show_progress,
    )
