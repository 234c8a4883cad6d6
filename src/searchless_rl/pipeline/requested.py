"""The stage `cell`: the one cell that the top-level keys term, tau, beta, seed and variant ask for.

It makes its own warm-start games and does everything that a grid cell's stages and those of chosen models do,
so that ``dvc exp run -S beta=0.003`` runs one training and no other. Asked for a cell of the grid, it repeats
it to the bit. Its games are against the base alone, never in the closed ladder.
"""

from __future__ import annotations

from pathlib import Path

from searchless_rl import layout
from searchless_rl.arena.players import Player
from searchless_rl.arena.stage import ArenaSettings, run_arena
from searchless_rl.evaluation.coverage_stage import run_coverage
from searchless_rl.evaluation.stage import DEEP_SUITES, run_tactics
from searchless_rl.params import Params
from searchless_rl.results.names import BASE
from searchless_rl.selfplay.stage import train_cell
from searchless_rl.selfplay.warm_start import make_warm_start

WARM_START = "warm_start.json"
GAMES_FOLDER = "games"
"""Below a cell: its games against the base."""


def require_inputs(*, base: Path, suites: Path, openings: Path, tabiyas: Path | None = None) -> None:
    """Look for everything that the cell is trained and measured with, before hours are spent on training.

    Raises:
        ValueError: files that are missing, each with the command that makes it.
    """
    makers = {base: "calibrate", suites / "main.csv": "suites", openings: "openings"}
    missing = [
        f"{path} is missing: `searchless {name}` makes it"
        for path, name in makers.items()
        if not path.exists()
    ]
    if tabiyas is not None and not tabiyas.exists():
        missing.append(f"{tabiyas} is missing: `git checkout {tabiyas}` restores it")
    if missing:
        raise ValueError("\n".join(missing))


def train_requested(
    params: Params, *, base: Path, out: Path, scratch: Path, show_progress: bool = False
) -> None:
    """Train `params.cell`: files as of a grid cell into `out`."""
    warm_start = out / WARM_START
    make_warm_start(
        base,
        warm_start,
        games=params.selfplay.games,
        full_moves=params.selfplay.warm_start_moves,
        seed=params.seed,
        batch_size=params.evaluation.batch_size,
        show_progress=show_progress,
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


def measure_requested(
    params: Params,
    *,
    base: Path,
    suites: Path,
    openings: Path,
    tabiyas: Path,
    out: Path,
    scratch: Path,
    show_progress: bool = False,
) -> None:
    """Measure the cell trained into `out`: out/tactics (every suite), out/coverage, out/games."""
    weights, cell = out / layout.WEIGHTS, params.cell
    batch_size = params.evaluation.batch_size
    names = (*params.evaluation.suites, *DEEP_SUITES)
    run_tactics(
        weights,
        suites,
        tuple(dict.fromkeys(names)),
        out / "tactics",
        batch_size=batch_size,
        show_progress=show_progress,
    )
    run_coverage(
        weights,
        cell.id,
        tabiyas,
        out / "coverage",
        policies=("adaptive" if cell.tau == "adaptive" else "raw",),
        plies=params.coverage.plies,
        mass_floor=params.coverage.mass_floor,
        batch_size=batch_size,
        show_progress=show_progress,
    )
    play_base(params, base=base, openings=openings, out=out, scratch=scratch, show_progress=show_progress)


def play_base(
    params: Params, *, base: Path, openings: Path, out: Path, scratch: Path, show_progress: bool = False
) -> None:
    """Let the cell trained into `out` play the base: its most likely moves, into out/games."""
    run_arena(
        [Player(BASE, base), Player(params.cell.id, out / layout.WEIGHTS)],
        openings,
        out / GAMES_FOLDER,
        ArenaSettings(
            games=params.arena.games_against_base,
            seed=params.arena.seed,
            batch_size=params.arena.batch_size,
            max_plies=params.arena.max_plies,
        ),
        scratch=scratch / GAMES_FOLDER,
        show_progress=show_progress,
    )
