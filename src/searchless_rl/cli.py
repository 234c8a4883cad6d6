"""`searchless`: one thin subcommand per stage of the pipeline, and a few for people."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

# Imports of the heavy parts stay inside the commands: `searchless --help` and the small stages must not
# wait seconds for torch and Lightning.
from searchless_rl.interruption import Interrupted
from searchless_rl.params import Params, load_params, write_scale

DATA = Path("data")
OPENINGS = DATA / "book" / "openings.csv"
TABIYAS = DATA / "openings" / "tabiyas.csv"


def _scratch() -> Path:
    """Unfinished cells; of the main checkout, so that a throw-away workspace loses nothing."""
    from searchless_rl.checkout import main_checkout

    return main_checkout(Path.cwd()) / "scratch"


def _set_threads(params: Params) -> None:
    import torch

    torch.set_num_threads(params.threads)


def _base_path() -> Path:
    """The fetched copy of the base network, whatever `base` names."""
    return DATA / "base" / "base.pb.gz"


STAGES = (
    *("fetch", "suites", "warm-start", "train", "tactics", "openings", "control", "cell", "select"),
    *("evaluate", "coverage", "arena", "recovery", "tables", "figures", "sync"),
)
"""Commands that are stages of the pipeline; their cost is recorded."""


def _timings() -> Path:
    return _scratch() / "timings"


def _label(arguments: argparse.Namespace) -> str:
    """A stage's name as in dvc.yaml: train@CELL."""
    given = [getattr(arguments, name, None) for name in ("seed", "cell", "model", "name")]
    return "@".join([arguments.command, *(str(value) for value in given if value is not None)])


def _write_timings(params: Params) -> None:
    from searchless_rl.files import write_json
    from searchless_rl.reports.models import COVERED, EVALUATED
    from searchless_rl.timing import collect

    names = [
        "fan-out",
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
    write_json(Path("reports") / params.scale / "timings.json", collect(_timings(), names))


def _interactive() -> bool:
    return sys.stderr.isatty()


def fetch(arguments: argparse.Namespace) -> None:
    """Download the base network of params.yaml, or the file named."""
    from searchless_rl.suites.stage import fetch_base, fetch_named

    if arguments.name:
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
    _set_threads(params)
    make_warm_start(
        _base_path(),
        DATA / "warm_start" / f"s{arguments.seed}.json",
        games=params.selfplay.games,
        full_moves=params.selfplay.warm_start_moves,
        seed=arguments.seed,
        batch_size=params.evaluation.batch_size,
    )


def train(arguments: argparse.Namespace) -> None:
    """Train one cell by self-play."""
    from searchless_rl.cells import Cell
    from searchless_rl.selfplay.stage import train_cell

    params = load_params()
    cell = Cell.parse(arguments.cell)
    _set_threads(params)
    train_cell(
        cell,
        params.selfplay,
        base=_base_path(),
        warm_start=DATA / "warm_start" / f"s{cell.seed}.json",
        out=DATA / "cells" / cell.id,
        scratch=_scratch() / "cells" / cell.id,
        show_progress=_interactive(),
    )


def tactics(arguments: argparse.Namespace) -> None:
    """Score a model ("base" or a cell) on the puzzle suites."""
    from searchless_rl.cells import Cell
    from searchless_rl.evaluation.stage import run_tactics

    params = load_params()
    if arguments.model == "base":
        weights = _base_path()
    else:
        weights = DATA / "cells" / Cell.parse(arguments.model).id / "weights.pb.gz"
    _set_threads(params)
    run_tactics(
        weights,
        DATA / "suites",
        params.evaluation.suites,
        DATA / "tactics" / arguments.model,
        batch_size=params.evaluation.batch_size,
        show_progress=_interactive(),
    )


def cell(arguments: argparse.Namespace) -> None:
    """Train and score the one cell of the top-level keys term, tau, beta, seed and variant."""
    from searchless_rl.evaluation.requested import measure_requested, train_requested

    params = load_params()
    _set_threads(params)
    out, scratch = DATA / "requested", _scratch() / "requested" / params.cell.id
    train_requested(params, base=_base_path(), out=out, scratch=scratch, show_progress=_interactive())
    measure_requested(
        params,
        base=_base_path(),
        suites=DATA / "suites",
        openings=OPENINGS,
        tabiyas=TABIYAS,
        out=out,
        scratch=scratch,
        show_progress=_interactive(),
    )


def openings(arguments: argparse.Namespace) -> None:
    """Draw the arena's openings from a book, or let the base make them."""
    from searchless_rl.evaluation.arena.study import prepare_openings

    params = load_params()
    _set_threads(params)
    prepare_openings(
        _base_path(),
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
    _set_threads(params)
    train_control(
        params.selfplay,
        seed=params.control.seed,
        base=_base_path(),
        suites=DATA / "suites",
        out=DATA / "control",
        scratch=_scratch() / "control",
        show_progress=_interactive(),
    )


def _chosen_weights(model: str) -> Path:
    """The network file behind "base", "control", "selected-ARM" and "headline-ARM"."""
    group, _, arm = model.partition("-")
    known = {"base": _base_path(), "control": DATA / "control" / "weights.pb.gz"}
    weights = known.get(model) or DATA / group / f"{arm}.pb.gz"
    if not weights.exists():
        raise ValueError(f"model {model!r}: {weights} is missing; `dvc repro` makes what dvc.yaml names")
    return weights


def evaluate(arguments: argparse.Namespace) -> None:
    """Score a chosen network on every suite."""
    from searchless_rl.evaluation.stage import DEEP_SUITES, run_tactics

    params = load_params()
    _set_threads(params)
    run_tactics(
        _chosen_weights(arguments.model),
        DATA / "suites",
        DEEP_SUITES,
        DATA / "evaluated" / arguments.model,
        batch_size=params.evaluation.batch_size,
        show_progress=_interactive(),
    )


def coverage(arguments: argparse.Namespace) -> None:
    """Measure trajectory coverage of the base or of an arm at the headline beta."""
    from searchless_rl.evaluation.coverage_stage import POLICIES, run_coverage

    params, model = load_params(), arguments.model
    _set_threads(params)
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
        show_progress=_interactive(),
    )


def recovery(arguments: argparse.Namespace) -> None:
    """Put base and anchors side by side at every solver position, and judge the candidates of Figure 9."""
    from searchless_rl.evaluation.recovery_stage import run_recovery_stage

    params = load_params()
    _set_threads(params)
    run_recovery_stage(params, DATA, DATA / "recovery")


def arena(arguments: argparse.Namespace) -> None:
    """Play one of the study's arenas: argmax, swept or sampled."""
    from searchless_rl.evaluation.arena.study import run_study_arena

    params = load_params()
    _set_threads(params)
    run_study_arena(
        arguments.name,
        params,
        DATA,
        OPENINGS,
        scratch=_scratch() / "arena" / arguments.name,
        show_progress=_interactive(),
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


def fan_out(arguments: argparse.Namespace) -> None:
    """Run the pipeline with several cells at a time."""
    from searchless_rl.fan_out import run_pipeline
    from searchless_rl.timing import record

    params = load_params()
    if run_pipeline(params, arguments.jobs):
        record(_timings(), "fan-out")
        _write_timings(params)


def sweep(arguments: argparse.Namespace) -> None:
    """Train and score further cells outside the pipeline; their figures go to reports/SCALE/sweep.csv."""
    from searchless_rl.cells import Cell
    from searchless_rl.reports.sweep import run_sweep

    params = load_params()
    _set_threads(params)
    run_sweep(
        params,
        [Cell.parse(text) for text in arguments.cells],
        base=_base_path(),
        suites=DATA / "suites",
        scratch=_scratch() / "sweep",
        report=Path("reports") / params.scale / "sweep.csv",
        show_progress=_interactive(),
    )


def sync(arguments: argparse.Namespace) -> None:
    """Mirror finished files into MLflow; what is pending is listed and can be synced later."""
    from searchless_rl.files import write_atomically
    from searchless_rl.tracking import sync as sync_runs

    params = load_params()
    report = sync_runs(params, Path.cwd())
    write_atomically(Path("reports") / params.scale / "sync.json", report.to_json())
    print(report.message)
    _write_timings(params)


def scale(arguments: argparse.Namespace) -> None:
    """Write scales/NAME.yaml to params.yaml."""
    print(f"{write_scale(arguments.name)} now holds scales/{arguments.name}.yaml")


def preset(arguments: argparse.Namespace) -> None:
    """Set the method's keys in params.yaml: the paper's words, or the authors' released code."""
    from searchless_rl.presets import write_preset

    changed = write_preset(arguments.name)
    for key, value in changed.items():
        print(f"selfplay.{key}: {value}")
    print(f"params.yaml {'now follows' if changed else 'already follows'} {arguments.name}")


def describe(arguments: argparse.Namespace) -> None:
    """Print what an Lc0 network file holds."""
    import json

    from searchless_rl.lc0 import describe as describe_network

    print(json.dumps(describe_network(arguments.weights), indent=2))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of jobs; allowed: 1, 2, 3, ...")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; allowed: 0, 1, 2, ...")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="searchless", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        text = (run.__doc__ or "").strip()
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    add("fetch", fetch).add_argument("name", nargs="?", help="a known file; default: the base of params.yaml")
    add("suites", suites)
    add("warm-start", warm_start).add_argument("seed", type=_seed)
    add("train", train).add_argument("cell", help="TERM-TAU-BETA-sSEED, e.g. forward_kl-adaptive-0.01-s0")
    add("tactics", tactics).add_argument("model", help='"base" or a cell')
    add("cell", cell)
    add("openings", openings)
    add("control", control)
    add("evaluate", evaluate).add_argument(
        "model", help='"base", "control", "selected-ARM" or "headline-ARM"'
    )
    add("coverage", coverage).add_argument("model", help='"base" or an arm, e.g. forward_kl-adaptive')
    add("recovery", recovery)
    add("arena", arena).add_argument("name", choices=("argmax", "swept", "sampled"))
    add("select", select)
    add("tables", tables)
    add("figures", figures)
    add("sync", sync)
    add("fan-out", fan_out).add_argument("--jobs", type=_positive, default=2, help="cells at a time (2)")
    add("sweep", sweep).add_argument("cells", nargs="+", metavar="CELL")
    add("scale", scale).add_argument("name", help="smoke, mini or paper")
    add("preset", preset).add_argument("name", help="paper or authors_code")
    add("describe", describe).add_argument("weights", type=Path, help="an Lc0 .pb.gz")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; a failure is one message on stderr and a non-zero exit status."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
        if arguments.command in STAGES:
            from searchless_rl.timing import record

            record(_timings(), _label(arguments))
    except KeyboardInterrupt:
        print("searchless: interrupted; run the same command to continue", file=sys.stderr)
        return 128 + signal.SIGINT
    except Interrupted as stop:
        print(f"searchless {arguments.command}: {stop}; run the same command to continue", file=sys.stderr)
        return 128 + stop.signal
    except (ValueError, OSError, RuntimeError) as error:
        if os.environ.get("SEARCHLESS_DEBUG"):
            raise
        print(f"searchless {arguments.command}: {error}", file=sys.stderr)
        print("(SEARCHLESS_DEBUG=1 shows where)", file=sys.stderr)
        return 1
    return 0
