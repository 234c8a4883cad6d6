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
from searchless_rl.params import load_params, write_scale
from searchless_rl.pipeline import stages


def fan_out(arguments: argparse.Namespace) -> None:
    """Run the pipeline with several cells at a time."""
    from searchless_rl.pipeline.fan_out import run_pipeline
    from searchless_rl.pipeline.timing import record

    params = load_params()
    if run_pipeline(params, arguments.jobs):
        record(stages.timings(), "fan-out")
        stages.write_timings(params)


def sweep(arguments: argparse.Namespace) -> None:
    """Train and score further cells outside the pipeline; their figures go to reports/SCALE/sweep.csv."""
    from searchless_rl.cells import Cell
    from searchless_rl.pipeline.sweep import run_sweep

    params = load_params()
    stages.set_threads(params)
    run_sweep(
        params,
        [Cell.parse(text) for text in arguments.cells],
        base=stages.base_path(),
        suites=stages.DATA / "suites",
        scratch=stages.scratch() / "sweep",
        report=Path("reports") / params.scale / "sweep.csv",
        show_progress=stages.interactive(),
    )


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


def winning(arguments: argparse.Namespace) -> None:
    """Search the winning sets of a puzzle file's mates with a UCI engine, once and for all."""
    import json

    from searchless_rl.suites.winning_search import make_winning_sets

    settings = {"engine": arguments.engine, "nodes": arguments.nodes, "workers": arguments.workers}
    print(json.dumps(make_winning_sets(arguments.source, arguments.out, **settings), indent=2))


def uci(arguments: argparse.Namespace) -> None:
    """Play as a UCI engine: one forward pass a move."""
    from searchless_rl.play.uci import run_uci

    run_uci(arguments.weights, sys.stdin, sys.stdout, seed=arguments.seed)


def play(arguments: argparse.Namespace) -> None:
    """Show a game in the terminal, of a network with itself or with another."""
    from searchless_rl.play.terminal import run_play

    run_play(arguments.weights, arguments.opponent, fen=arguments.fen, seed=arguments.seed)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no count; allowed: 1, 2, 3, ...")
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

    named = 'a known file, or "histories"; default: the base of params.yaml'
    add("fetch", stages.fetch).add_argument("name", nargs="?", help=named)
    add("suites", stages.suites)
    add("warm-start", stages.warm_start).add_argument("seed", type=_seed)
    add("train", stages.train).add_argument("cell", help="e.g. forward_kl-adaptive-0.01-s0")
    add("tactics", stages.tactics).add_argument("model", help='"base" or a cell')
    add("cell", stages.cell)
    add("openings", stages.openings)
    add("control", stages.control)
    add("evaluate", stages.evaluate).add_argument(
        "model", help='"base", "control", "selected-ARM" or "headline-ARM"'
    )
    add("coverage", stages.coverage).add_argument("model", help='"base" or an arm, e.g. forward_kl-adaptive')
    add("recovery", stages.recovery)
    add("arena", stages.arena).add_argument("name", choices=("argmax", "swept", "sampled"))
    add("select", stages.select)
    add("tables", stages.tables)
    add("figures", stages.figures)
    add("sync", stages.sync)
    add("fan-out", fan_out).add_argument("--jobs", type=_positive, default=2, help="cells at a time (2)")
    add("sweep", sweep).add_argument("cells", nargs="+", metavar="CELL")
    add("scale", scale).add_argument("name", help="smoke, mini or paper")
    add("preset", preset).add_argument("name", help="paper or authors_code")
    search = add("winning", winning)
    search.add_argument("source", type=Path, help="a puzzle file")
    search.add_argument("out", type=Path, help="the table to write (CSV; what made it stands beside, JSON)")
    search.add_argument("--engine", type=Path, required=True, help="a UCI engine, e.g. Stockfish")
    search.add_argument("--nodes", type=_positive, default=50_000, help="per question (50000)")
    search.add_argument("--workers", type=_positive, default=2, help="engines at a time (2)")
    engine = add("uci", uci)
    engine.add_argument("--weights", type=Path, required=True, help="an Lc0 .pb.gz")
    engine.add_argument("--seed", type=_seed, default=0, help="of sampled moves (option Temperature)")
    shown = add("play", play)
    shown.add_argument("--weights", type=Path, required=True, help="an Lc0 .pb.gz, which plays White")
    shown.add_argument("--opponent", type=Path, help="plays Black; default: the same network")
    shown.add_argument("--fen", help="where the game starts")
    shown.add_argument("--seed", type=_seed, help="sample the moves; default: the most likely ones")
    add("describe", describe).add_argument("weights", type=Path, help="an Lc0 .pb.gz")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; a failure is one message on stderr and a non-zero exit status."""
    # A notebook's backend, inherited, would fail at every import of matplotlib, Lightning's among them.
    os.environ["MPLBACKEND"] = "agg"
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
        if arguments.command in stages.STAGES:
            from searchless_rl.pipeline.timing import record

            record(stages.timings(), stages.label(arguments))
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
