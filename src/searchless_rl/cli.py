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


STAGES = ("fetch", "suites", "warm-start", "train", "tactics", "cell", "select", "tables", "figures", "sync")
"""Commands that are stages of the pipeline; their cost is recorded."""


def _timings() -> Path:
    return _scratch() / "timings"


def _label(arguments: argparse.Namespace) -> str:
    """A stage's name as in dvc.yaml: train@CELL."""
    given = [getattr(arguments, name, None) for name in ("seed", "cell", "model")]
    return "@".join([arguments.command, *(str(value) for value in given if value is not None)])


def _write_timings(params: Params) -> None:
    from searchless_rl.files import write_json
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
    names += ["cell", "select", "tables", "figures", "sync"]
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
    from searchless_rl.evaluation.requested import run_requested

    params = load_params()
    _set_threads(params)
    run_requested(
        params,
        base=_base_path(),
        suites=DATA / "suites",
        out=DATA / "requested",
        scratch=_scratch() / "requested" / params.cell.id,
        show_progress=_interactive(),
    )


def select(arguments: argparse.Namespace) -> None:
    """Choose each arm's beta on the selection suite."""
    from searchless_rl.reports.stage import select_models

    select_models(load_params(), DATA, DATA / "selected")


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
