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
from searchless_rl import layout
from searchless_rl.interruption import Interrupted
from searchless_rl.params import load_params, write_scale
from searchless_rl.pipeline import stages
from searchless_rl.pipeline.lifetime import end_with_parent
from searchless_rl.text import cut, quoted


def fan_out(arguments: argparse.Namespace) -> None:
    """Run the pipeline with several cells at a time."""
    from searchless_rl.pipeline.fan_out import run_pipeline, summary
    from searchless_rl.pipeline.timing import record, write_timings

    params = load_params()
    out = layout.reports(params.scale)
    if run_pipeline(params, arguments.jobs):
        record(stages.timings(), "fan-out")
        write_timings(stages.timings(), out, params)
    print(summary(out, layout.figures(params.scale)))


def sweep(arguments: argparse.Namespace) -> None:
    """Train and score further cells outside the pipeline; their figures go to reports/SCALE/sweep.csv."""
    from searchless_rl.cells import Cell
    from searchless_rl.checkout import revision
    from searchless_rl.pipeline.sweep import run_sweep

    params = load_params()
    stages.set_threads(params)
    run_sweep(
        params,
        [Cell.parse(text) for text in arguments.cells],
        usual=load_params(Path("scales") / f"{params.scale}.yaml"),
        revision=revision(Path.cwd()),
        base=layout.base(),
        suites=layout.suites(),
        openings=layout.openings(),
        scratch=stages.scratch() / "sweep",
        report=layout.reports(params.scale) / "sweep.csv",
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

    from searchless_rl.lc0 import NetworkFileError
    from searchless_rl.lc0 import describe as describe_network

    summary = describe_network(arguments.weights)
    print(json.dumps(summary, indent=2))
    if summary["unsupported"]:
        raise NetworkFileError(f"{arguments.weights}: {summary['unsupported']}")


def compare(arguments: argparse.Namespace) -> int:
    """Compare two report or figure folders, number by number: equal, inside the interval, outside."""
    from searchless_rl.audit.compare import agrees, summary
    from searchless_rl.audit.compare import compare as compare_folders

    numbers = compare_folders(arguments.ours, arguments.theirs)
    shown = numbers[numbers["verdict"] != "equal"] if arguments.unequal else summary(numbers)
    print(shown.to_csv(index=False) if arguments.unequal else shown.to_string(index=False))
    return 0 if agrees(numbers) else 1


def verify(arguments: argparse.Namespace) -> int:
    """Recompute a report folder from its committed files: intervals, tests, tables, findings."""
    from searchless_rl.audit.verify import report_of
    from searchless_rl.audit.verify import verify as verify_folder

    scale = arguments.folder.name
    found = verify_folder(
        arguments.folder, layout.figures(scale), load_params(Path("scales") / f"{scale}.yaml")
    )
    print(report_of(found, arguments.folder))
    return 0 if found.holds else 1


def winning(arguments: argparse.Namespace) -> None:
    """Search the winning sets of a puzzle file's mates with a UCI engine, once and for all."""
    import json

    from searchless_rl.suites.winning_search import make_winning_sets

    settings = {"engine": arguments.engine, "nodes": arguments.nodes, "workers": arguments.workers}
    print(json.dumps(make_winning_sets(arguments.source, arguments.out, **settings), indent=2))


def uci(arguments: argparse.Namespace) -> None:
    """Play as a UCI engine: one forward pass a move, or a tree search (option Sims)."""
    from searchless_rl.play.uci import run_uci

    run_uci(arguments.weights, sys.stdin, sys.stdout, seed=arguments.seed)


def play(arguments: argparse.Namespace) -> None:
    """Play against a network in the terminal, or watch one play itself or another."""
    settings = {"fen": arguments.fen, "seed": arguments.seed, "simulations": arguments.sims}
    if arguments.human is None:
        from searchless_rl.play.terminal import run_play

        run_play(arguments.weights, arguments.opponent, **settings)
    else:
        from searchless_rl.play.human import run_human

        run_human(arguments.weights, arguments.human, sys.stdin, **settings)


def ui(arguments: argparse.Namespace) -> int:
    """Browse the runs in MLflow; the address of the saved view is printed."""
    from searchless_rl.tracking.ui import run_ui

    return run_ui(load_params(), Path.cwd(), arguments.port)


def _number(text: str, least: int, most: int, what: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20 and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"{quoted(text)} is not a {what}; allowed: {least} to {most}")
    return int(text)


def _positive(text: str) -> int:
    return _number(text, 1, 2**31 - 1, "count")


def _seed(text: str) -> int:
    return _number(text, 0, 2**63 - 1, "seed")


def _port(text: str) -> int:
    return _number(text, 1, 65535, "port")


def _sims(text: str) -> int:
    return _number(text, 0, 1_000_000, "number of simulations")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="searchless", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], int | None]) -> argparse.ArgumentParser:
        text = (run.__doc__ or "").strip()
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    add("inputs", stages.inputs)
    named = 'a known file, or "histories"; default: the base of params.yaml'
    add("fetch", stages.fetch).add_argument("name", nargs="?", help=named)
    add("calibrate", stages.calibrate)
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
    add("claims", stages.claims)
    add("sync", stages.sync).add_argument(
        "--stage", action="store_true", help="as a stage of the pipeline: runs that are pending fail nothing"
    )
    add("fan-out", fan_out).add_argument("--jobs", type=_positive, default=2, help="cells at a time (2)")
    add("sweep", sweep).add_argument("cells", nargs="+", metavar="CELL")
    add("scale", scale).add_argument("name", help="a file of scales/: smoke, mini, mini-maia or paper")
    add("preset", preset).add_argument("name", help="paper or authors_code")
    search = add("winning", winning)
    search.add_argument("source", type=Path, help="a puzzle file")
    search.add_argument("out", type=Path, help="the table to write (CSV; what made it stands beside, JSON)")
    search.add_argument("--engine", type=Path, required=True, help="a UCI engine, e.g. Stockfish")
    search.add_argument("--nodes", type=_positive, default=50_000, help="per question (50000)")
    search.add_argument("--workers", type=_positive, default=2, help="engines at a time (2)")
    _add_players(add)
    add("visits", stages.visits)
    add("train-student", stages.train_student)
    add("priors", stages.priors)
    sides = add("compare", compare)
    sides.add_argument("ours", type=Path, help="a folder, e.g. reports/mini")
    sides.add_argument("theirs", type=Path, help="another, e.g. of the recorded run")
    sides.add_argument("--unequal", action="store_true", help="list what is not equal (CSV)")
    add("verify", verify).add_argument("folder", type=Path, help="e.g. reports/mini")
    add("ui", ui).add_argument("--port", type=_port, default=5000, help="on this machine only (5000)")
    add("describe", describe).add_argument("weights", type=Path, help="an Lc0 .pb.gz")
    return parser


def _add_players(add: Callable[..., argparse.ArgumentParser]) -> None:
    default = "default: the base of params.yaml"
    engine = add("uci", uci)
    engine.add_argument("--weights", type=Path, help=f"an Lc0 .pb.gz; {default}")
    engine.add_argument("--seed", type=_seed, default=0, help="of sampled moves (option Temperature)")
    shown = add("play", play)
    shown.add_argument("--weights", type=Path, help=f"an Lc0 .pb.gz, which plays White; {default}")
    sides = shown.add_mutually_exclusive_group()
    sides.add_argument("--opponent", type=Path, help="plays Black; default: the same network")
    sides.add_argument("--human", choices=("white", "black"), help="play this side yourself")
    shown.add_argument("--fen", help="where the game starts")
    how = shown.add_mutually_exclusive_group()
    how.add_argument("--seed", type=_seed, help="sample the moves; default: the most likely ones")
    how.add_argument("--sims", type=_sims, default=0, help="search the moves, so many simulations each")


EXPECTED = (ValueError, OSError, RuntimeError)
"""Errors whose text was written to be read on its own."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand; a failure is one message on stderr and a non-zero exit status."""
    # A notebook's backend, inherited, would fail at every import of matplotlib, Lightning's among them.
    os.environ["MPLBACKEND"] = "agg"
    arguments = _parser().parse_args(argv)
    name = f"searchless {arguments.command}"
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        print("searchless: interrupted; run the same command to continue", file=sys.stderr)
        return 128 + signal.SIGINT
    except Interrupted as stop:
        print(f"{name}: {stop}; run the same command to continue", file=sys.stderr)
        return 128 + stop.signal
    except BrokenPipeError:  # the reader of the output is gone, as in `searchless play | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # no second complaint at exit
        return 128 + signal.SIGPIPE
    except Exception as error:
        if os.environ.get("SEARCHLESS_TRACEBACK"):
            raise
        message = str(error) if isinstance(error, EXPECTED) and type(error) is not RecursionError else ""
        print(f"{name}: {message or _unexpected(error)}", file=sys.stderr)
        print("(SEARCHLESS_TRACEBACK=1 shows where)", file=sys.stderr)
        return 1


def _run(arguments: argparse.Namespace) -> int:
    """Run a subcommand and, if it is a stage of the pipeline, record what it cost; the exit status."""
    is_stage = arguments.run.__module__ == stages.__name__
    if is_stage and "DVC_STAGE" in os.environ:  # else a terminal started it, which may be left on purpose
        end_with_parent()
    status: int | None = arguments.run(arguments)
    sys.stdout.flush()  # a reader that is gone is met here, not at exit
    if is_stage:
        from searchless_rl.pipeline.timing import label, record

        record(stages.timings(), label(arguments))
    return status or 0


def _unexpected(error: Exception) -> str:
    """One line for an error that nothing foresaw."""
    if isinstance(error, MemoryError):
        return "not enough memory; lower selfplay.micro_batch and evaluation.batch_size, or close programs"
    return f"unexpected {type(error).__name__}: {cut(' '.join(str(error).split()), 500)}"
