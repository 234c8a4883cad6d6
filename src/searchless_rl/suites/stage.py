"""The stage `suites`."""

from __future__ import annotations

from pathlib import Path

from searchless_rl.params import SuiteParams
from searchless_rl.suites.build import build_suites
from searchless_rl.suites.split import SuiteSizes


def make_suites(params: SuiteParams, out: Path) -> None:
    """Build every suite and report.json into `out`."""
    sizes = SuiteSizes(
        selection=params.selection,
        main=params.main,
        hard=params.hard,
        mate_cap=params.mate_cap,
        control_pool=params.control_pool,
    )
    build_suites(
        Path(params.source).expanduser(),
        out,
        sizes,
        params.seed,
        winning=_path(params.winning),
        any_forced_mate=params.any_forced_mate,
        game_moves=_path(params.game_moves),
    )


def _path(name: str | None) -> Path | None:
    return None if name is None else Path(name).expanduser()
