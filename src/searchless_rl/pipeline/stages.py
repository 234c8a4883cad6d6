"""The commands that are stages of the pipeline, one thin function each."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

# Imports of the heavy parts stay inside: small stages must not wait seconds for torch and Lightning.
from searchless_rl.params import Params, load_params

DATA = Path("data")
OPENINGS = DATA / "book" / "openings.csv"
TABIYAS = DATA / "openings" / "tabiyas.csv"


def scratch() -> Path:
    """Unfinished cells; of the main checkout, so that a throw-away workspace loses nothing."""
    from searchless_rl.checkout import main_checkout

    return main_checkout(Path.cwd()) / "scratch"


def set_threads(params: Params) -> None:
    import torch

    torch.set_num_threads(params.threads)


def base_path() -> Path:
    """The fetched copy of the base network, whatever `base` names."""
    return DATA / "base" / "base.pb.gz"


STAGES = (
    *("fetch", "suites", "warm-start", "train", "tactics", "openings", "control", "cell", "select"),
    *("evaluate", "coverage", "arena", "recovery", "tables", "figures", "sync"),
)
"""Commands that are stages of the pipeline; their cost is recorded."""


def timings() -> Path:
    return scratch() / "timings"


def label(arguments: argparse.Namespace) -> str:
    """A stage's name as in dvc.yaml: train@CELL."""
    given = [getattr(arguments, name, None) for name in ("seed", "cell", "model", "name")]
    return "@".join([arguments.command, *(str(value) for value in given if value is not None)])


def write_timings(params: Params) -> None:
    from searchless_rl.files import write_json
    from searchless_rl.pipeline.timing import collect
    from searchless_rl.reports.models import COVERED, EVALUATED

    names = [
        "fetch",
        "suites",
        *(f"warm-start@{seed}" for seed in params.grid.warm_starts.values()),
    ]
    names += [
        "tactics@base",
        *(f"{stage}@{cell}" for stage in ("train", "tactics") for cell in params.grid.cells),
    ]
    names += ["openings", "control", "cell", "select"]
    names += [f"evaluate@{model}" for model in EVALUATED] + [f"coverage@{model}" for model in COVERED]
    names += ["arena@argmax", "arena@swept", "arena@sampled", "recovery", "tables", "figures", "sync"]
    write_json(Path("reports") / params.scale / "timings.json", collect(timings(), names, around="fan-out"))


def interactive() -> bool:
    return sys.stderr.isatty()


def fetch(arguments: argparse.Namespace) -> None:
    """Download the base network of params.yaml, the file named, or the puzzles' games ("histories")."""
    from searchless_rl.suites.stage import fetch_base, fetch_game_moves, fetch_named

    if arguments.name == "histories":
        print(fetch_game_moves(load_params().suites.source, DATA))
    elif arguments.name:
        print(fetch_named(arguments.name, DATA))
    else:
        fetch_base(load_params().base, DATA)


def suites(arguments: argparse.Namespace) -> None:
    """Build the puzzle suites."""
    from searchless_rl.suites.stage import make_suites

    make_suites(load_params().suites, DATA / "suites")


def warm_start(arguments: argparse.Namespace) -> None:
    """Play the warm-start games of a seed."""
    from searchless_rl.selfplay.stage import make_warm_start

    params = load_params()
    set_threads(params)
    make_warm_start(
        base_path(),
        DATA / "warm_start" / f"s{arguments.seed}.json",
        games=params.selfplay.games,
        full_moves=params.selfplay.warm_start_moves,
        seed=arguments.seed,
        batch_size=params.evaluation.batch_size,
        show_progress=True,
    )


def train(arguments: argparse.Namespace) -> None:
    """Train one cell by self-play."""
    from searchless_rl.cells import Cell
    from searchless_rl.selfplay.stage import train_cell

    params = load_params()
    cell = Cell.parse(arguments.cell)
    set_threads(params)
    train_cell(
        cell,
        params.selfplay,
        base=base_path(),
        warm_start=DATA / "warm_start" / f"s{cell.seed}.json",
        out=DATA / "cells" / cell.id,
        scratch=scratch() / "cells" / cell.id,
        show_progress=True,
    )


def tactics(arguments: argparse.Namespace) -> None:
    """Score a model ("base" or a cell) on the puzzle suites."""
    from searchless_rl.cells import Cell
    from searchless_rl.evaluation.stage import run_tactics

    params = load_params()
    if arguments.model == "base":
        weights = base_path()
    else:
        weights = DATA / "cells" / Cell.parse(arguments.model).id / "weights.pb.gz"
    set_threads(params)
    run_tactics(
        weights,
        DATA / "suites",
        params.evaluation.suites,
        DATA / "tactics" / arguments.model,
        batch_size=params.evaluation.batch_size,
        show_progress=interactive(),
    )


def cell(arguments: argparse.Namespace) -> None:
    """Train and score the one cell of the top-level keys term, tau, beta, seed and variant."""
    from searchless_rl.pipeline.requested import measure_requested, train_requested

    params = load_params()
    set_threads(params)
    out, folder = DATA / "requested", scratch() / "requested" / params.cell.id
    train_requested(params, base=base_path(), out=out, scratch=folder, show_progress=True)
    measure_requested(
        params,
        base=base_path(),
        suites=DATA / "suites",
        openings=OPENINGS,
        tabiyas=TABIYAS,
        out=out,
        scratch=folder,
        show_progress=interactive(),
    )


def openings(arguments: argparse.Namespace) -> None:
    """Draw the arena's openings from a book, or let the base make them."""
    from searchless_rl.pipeline.arenas import prepare_openings

    params = load_params()
    set_threads(params)
    prepare_openings(
        base_path(),
        OPENINGS,
        book=None if params.arena.book is None else Path(params.arena.book),
        count=params.arena.openings,
        seed=params.arena.seed,
        batch_size=params.evaluation.batch_size,
    )


def control(arguments: argparse.Namespace) -> None:
    """Tune the base on puzzles instead of self-play: the control."""
    from searchless_rl.supervised.control_stage import train_control

    params = load_params()
    set_threads(params)
    train_control(
        params.selfplay,
        seed=params.control.seed,
        base=base_path(),
        suites=DATA / "suites",
        out=DATA / "control",
        scratch=scratch() / "control",
        show_progress=True,
    )


def _chosen_weights(model: str) -> Path:
    """The network file behind "base", "control", "selected-ARM" and "headline-ARM"."""
    group, _, arm = model.partition("-")
    known = {"base": base_path(), "control": DATA / "control" / "weights.pb.gz"}
    weights = known.get(model) or DATA / group / f"{arm}.pb.gz"
    if not weights.exists():
        raise ValueError(f"model {model!r}: {weights} is missing; `dvc repro` makes what dvc.yaml names")
    return weights


def evaluate(arguments: argparse.Namespace) -> None:
    """Score a chosen network on every suite."""
    from searchless_rl.evaluation.stage import DEEP_SUITES, run_tactics

    params = load_params()
    set_threads(params)
    run_tactics(
        _chosen_weights(arguments.model),
        DATA / "suites",
        DEEP_SUITES,
        DATA / "evaluated" / arguments.model,
        batch_size=params.evaluation.batch_size,
        show_progress=interactive(),
    )


def coverage(arguments: argparse.Namespace) -> None:
    """Measure trajectory coverage of the base or of an arm at the headline beta."""
    from searchless_rl.evaluation.coverage_stage import POLICIES, run_coverage

    params, model = load_params(), arguments.model
    set_threads(params)
    own = {"adaptive": "adaptive", "fixed": "raw"}
    run_coverage(
        _chosen_weights(model if model == "base" else f"headline-{model}"),
        model,
        TABIYAS,
        DATA / "coverage" / model,
        policies=tuple(POLICIES) if model == "base" else (own[model.rsplit("-", 1)[1]],),
        plies=params.coverage.plies,
        mass_floor=params.coverage.mass_floor,
        batch_size=params.evaluation.batch_size,
        show_progress=interactive(),
    )


def recovery(arguments: argparse.Namespace) -> None:
    """Put base and anchors side by side at every solver position, and judge the candidates of Figure 9."""
    from searchless_rl.pipeline.recovery import run_recovery_stage

    params = load_params()
    set_threads(params)
    run_recovery_stage(params, DATA, DATA / "recovery")


def arena(arguments: argparse.Namespace) -> None:
    """Play one of the study's arenas: argmax, swept or sampled."""
    from searchless_rl.pipeline.arenas import run_study_arena

    params = load_params()
    set_threads(params)
    run_study_arena(
        arguments.name,
        params,
        DATA,
        OPENINGS,
        scratch=scratch() / "arena" / arguments.name,
        show_progress=interactive(),
    )


def select(arguments: argparse.Namespace) -> None:
    """Choose each arm's beta on the selection suite."""
    from searchless_rl.reports.stage import select_models

    select_models(load_params(), DATA)


def tables(arguments: argparse.Namespace) -> None:
    """Build the tables from what is measured."""
    from searchless_rl.reports.stage import build_tables

    params = load_params()
    build_tables(params, DATA, Path("reports") / params.scale)


def figures(arguments: argparse.Namespace) -> None:
    """Draw the figures from what is measured."""
    from searchless_rl.reports.stage import build_figures

    params = load_params()
    build_figures(params, DATA, Path("paper_figures") / params.scale)


def sync(arguments: argparse.Namespace) -> None:
    """Mirror finished files into MLflow; what is pending is listed and can be synced later."""
    from searchless_rl.files import write_atomically
    from searchless_rl.tracking import sync as sync_runs
    from searchless_rl.unfinished import drop_results

    params = load_params()
    report = sync_runs(params, Path.cwd())
    write_atomically(Path("reports") / params.scale / "sync.json", report.to_json())
    print(report.message)
    write_timings(params)
    drop_results(scratch())  # the pipeline has stored them
