"""The commands that are stages of the pipeline, one thin function each.

What a function imports in its body is what its stage runs: the dependencies in dvc.yaml are derived from it
(`searchless_rl.code`), and small stages do not wait seconds for torch and Lightning.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from searchless_rl import layout
from searchless_rl.params import Params, load_params

PENDING = 75
"""Exit status of a synchronization that left runs pending: EX_TEMPFAIL of sysexits.h."""


def scratch() -> Path:
    """Unfinished cells; of the main checkout, so that a throw-away workspace loses nothing."""
    from searchless_rl.checkout import main_checkout

    return main_checkout(Path.cwd()) / layout.SCRATCH


def set_threads(params: Params) -> None:
    """Compute with as many threads as the parameters say."""
    import torch

    torch.set_num_threads(params.threads)


def timings() -> Path:
    """Where each stage leaves what it cost."""
    from searchless_rl.checkout import main_checkout

    return main_checkout(Path.cwd()) / layout.TIMINGS


def interactive() -> bool:
    """Whether someone may be looking at a progress bar."""
    return sys.stderr.isatty()


def inputs(arguments: argparse.Namespace) -> None:
    """Link the files that params.yaml names to where the stages that read them look for changes."""
    from searchless_rl.pipeline.inputs import link_inputs, named_files

    link_inputs(named_files(load_params()), layout.inputs())


def fetch(arguments: argparse.Namespace) -> None:
    """Download the base network of params.yaml, the file named, or the puzzles' games ("histories")."""
    from searchless_rl.suites.fetch_stage import fetch_base, fetch_game_moves, fetch_named

    if arguments.name == "histories":
        print(fetch_game_moves(load_params().suites.source, layout.DATA))
    elif arguments.name:
        print(fetch_named(arguments.name, layout.DATA))
    else:
        fetch_base(load_params().base, layout.DATA)


def calibrate(arguments: argparse.Namespace) -> None:
    """Hold the base's win/draw/loss forecasts against its own games, and calibrate them where asked."""
    from searchless_rl.pipeline.calibrate import calibrate_base

    params = load_params()
    set_threads(params)
    calibrate_base(
        layout.fetched(),
        layout.base(),
        apply=params.base_value == "calibrated",
        params=params.calibration,
        max_plies=params.selfplay.max_plies,
        show_progress=True,
    )


def suites(arguments: argparse.Namespace) -> None:
    """Build the puzzle suites."""
    from searchless_rl.suites.stage import make_suites

    make_suites(load_params().suites, layout.suites())


def warm_start(arguments: argparse.Namespace) -> None:
    """Play the warm-start games of a seed."""
    from searchless_rl.selfplay.warm_start import make_warm_start

    params = load_params()
    set_threads(params)
    make_warm_start(
        layout.base(),
        layout.warm_start(arguments.seed),
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
        base=layout.base(),
        warm_start=layout.warm_start(cell.seed),
        out=layout.cell(cell.id),
        scratch=scratch() / "cells" / cell.id,
        show_progress=True,
    )


def tactics(arguments: argparse.Namespace) -> None:
    """Score a model ("base" or a cell) on the puzzle suites."""
    from searchless_rl.cells import Cell
    from searchless_rl.evaluation.stage import run_tactics

    params = load_params()
    if arguments.model == "base":
        weights = layout.base()
    else:
        weights = layout.cell(Cell.parse(arguments.model).id) / layout.WEIGHTS
    set_threads(params)
    run_tactics(
        weights,
        layout.suites(),
        params.evaluation.suites,
        layout.tactics(arguments.model),
        batch_size=params.evaluation.batch_size,
        show_progress=interactive(),
    )


def cell(arguments: argparse.Namespace) -> None:
    """Train and score the one cell of the top-level keys term, tau, beta, seed and variant."""
    from searchless_rl.pipeline.requested import measure_requested, require_inputs, train_requested

    params = load_params()
    require_inputs(
        base=layout.base(), suites=layout.suites(), openings=layout.openings(), tabiyas=layout.tabiyas()
    )
    set_threads(params)
    out, folder = layout.requested(), scratch() / "requested" / params.cell.id
    train_requested(params, base=layout.base(), out=out, scratch=folder, show_progress=True)
    measure_requested(
        params,
        base=layout.base(),
        suites=layout.suites(),
        openings=layout.openings(),
        tabiyas=layout.tabiyas(),
        out=out,
        scratch=folder,
        show_progress=interactive(),
    )


def openings(arguments: argparse.Namespace) -> None:
    """Draw the arena's openings from a book, or let the base make them."""
    from searchless_rl.pipeline.openings import prepare_openings

    params = load_params()
    set_threads(params)
    prepare_openings(
        layout.base(),
        layout.openings(),
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
        base=layout.base(),
        suites=layout.suites(),
        out=layout.control(),
        scratch=scratch() / "control",
        show_progress=True,
    )


def _chosen_weights(model: str) -> Path:
    """The network file behind "base", "control", "selected-ARM" and "headline-ARM"."""
    weights = layout.chosen(model)
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
        layout.suites(),
        DEEP_SUITES,
        layout.evaluated(arguments.model),
        batch_size=params.evaluation.batch_size,
        show_progress=interactive(),
    )


def coverage(arguments: argparse.Namespace) -> None:
    """Measure trajectory coverage of the base or of an arm at the headline beta."""
    from searchless_rl.evaluation.coverage_stage import run_coverage
    from searchless_rl.results.names import policies_of

    params, model = load_params(), arguments.model
    set_threads(params)
    run_coverage(
        _chosen_weights(model if model == "base" else f"headline-{model}"),
        model,
        layout.tabiyas(),
        layout.coverage(model),
        policies=policies_of(model),
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
    run_recovery_stage(params, layout.DATA, layout.recovery())


def arena(arguments: argparse.Namespace) -> None:
    """Play one of the study's arenas: argmax, swept or sampled."""
    from searchless_rl.pipeline.arenas import run_study_arena

    params = load_params()
    set_threads(params)
    run_study_arena(
        arguments.name,
        params,
        layout.DATA,
        layout.openings(),
        scratch=scratch() / "arena" / arguments.name,
        show_progress=interactive(),
    )


def select(arguments: argparse.Namespace) -> None:
    """Choose each arm's beta on the selection suite."""
    from searchless_rl.results.selection import select_models

    select_models(load_params(), layout.DATA)


def tables(arguments: argparse.Namespace) -> None:
    """Build the tables from what is measured."""
    from searchless_rl.claims.stage import build_findings
    from searchless_rl.reports.stage import build_tables

    params = load_params()
    out = layout.reports(params.scale)
    build_tables(params, layout.DATA, out)
    build_findings(params, layout.DATA, out)


def figures(arguments: argparse.Namespace) -> None:
    """Draw the figures from what is measured."""
    from searchless_rl.figures.stage import build_figures

    params = load_params()
    build_figures(params, layout.DATA, layout.figures(params.scale))


def claims(arguments: argparse.Namespace) -> None:
    """Judge what the paper states by the tables and figures of this scale."""
    from searchless_rl.claims.judged_stage import build_claims

    params = load_params()
    reports, figures = layout.reports(params.scale), layout.figures(params.scale)
    build_claims(params, layout.paper(), reports, figures)


def sync(arguments: argparse.Namespace) -> int:
    """Mirror finished files into MLflow; what is pending is listed and can be synced later.

    With runs pending the exit status is 75 (try again later); as a stage of the pipeline, 0 all the same.
    """
    from searchless_rl.files import write_atomically
    from searchless_rl.pipeline.timing import write_timings
    from searchless_rl.tracking import sync as sync_runs
    from searchless_rl.unfinished import drop_results

    params = load_params()
    report = sync_runs(params, Path.cwd())
    out = layout.reports(params.scale)
    write_atomically(out / layout.SYNC_REPORT, report.to_json())
    print(report.message)
    write_timings(timings(), out, params)
    drop_results(scratch())  # the pipeline has stored them
    return PENDING if report.pending and not arguments.stage else 0


def visits(arguments: argparse.Namespace) -> None:
    """Play games by tree search and keep the visit counts (pretrain/params.yaml)."""
    from searchless_rl.pretrain.settings import load_pretrain_params
    from searchless_rl.pretrain.stage import make_visits

    made = make_visits(load_pretrain_params().visits, layout.DATA, layout.visits())
    print(f"{made['games']} games, {made['positions']} positions with visit counts")


def train_student(arguments: argparse.Namespace) -> None:
    """Distil a student from the games of `searchless visits` (pretrain/params.yaml)."""
    import torch

    from searchless_rl.pretrain import student_stage
    from searchless_rl.pretrain.settings import load_pretrain_params
    from searchless_rl.suites.download import resolve_base

    params = load_pretrain_params()
    torch.set_num_threads(params.threads)
    student_stage.train_student(
        params.student,
        base=resolve_base(params.visits.base, layout.DATA),
        games=layout.visits(),
        out=layout.student(),
        scratch=scratch() / "student",
        show_progress=True,
    )


def priors(arguments: argparse.Namespace) -> None:
    """Measure priors of several origins, and put the student in place with its card."""
    import torch

    from searchless_rl.pipeline.priors import make_priors
    from searchless_rl.pretrain.settings import load_pretrain_params

    params = load_pretrain_params()
    torch.set_num_threads(params.threads)
    make_priors(params, layout.DATA, scratch() / "priors")
