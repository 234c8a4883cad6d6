"""Self-play in numbers: work on the processor, whole steps, memory, growth, number formats.

    python benchmarks/selfplay.py --make-baseline        once: lczerolens in an environment of its own
    python benchmarks/selfplay.py [--weights FILE] [--threads 1]

Everything is measured in one run, and what is compared takes turns, so that other load on the machine
touches both sides; `searchless fetch` gets the default network, maia-1900. Results go to
`benchmarks/results`, and `python benchmarks/report.py` makes them readable. `--quick` tries everything at
toy size, elsewhere.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator
from pathlib import Path

import torch
from selfplay_parts import formats, growth, host, memory, step
from selfplay_parts.baseline import VERSION, make_environment
from selfplay_parts.settings import QUICK, ROOT, Settings, warm_start
from shared.rows import Row, describe_machine, keep
from torch import nn

from searchless_rl.lc0 import NetworkFileError, load_network
from searchless_rl.params import load_params

RESULTS = ROOT / "benchmarks" / "results"
ENVIRONMENT = ROOT / "scratch" / "lczerolens"
BASE = ROOT / "data" / "base" / "base.pb.gz"


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", type=Path, default=BASE, help="an Lc0 network, .pb.gz")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of both sides")
    parser.add_argument("--out", type=Path, help="CSV file (default benchmarks/results/selfplay.csv)")
    parser.add_argument("--baseline", type=Path, default=ENVIRONMENT, help="environment of lczerolens")
    parser.add_argument("--make-baseline", action="store_true", help="make that environment and end")
    parser.add_argument("--quick", action="store_true", help="toy size; numbers without meaning")
    arguments = parser.parse_args()
    if arguments.make_baseline:
        try:
            make_environment(arguments.baseline)
        except subprocess.CalledProcessError as error:
            raise SystemExit(f"{arguments.baseline}: not made ({error}); remove it and try again") from None
        return
    torch.set_num_threads(arguments.threads)
    settings = QUICK if arguments.quick else Settings()
    folder = ROOT / "scratch" / "benchmarks" if arguments.quick else RESULTS
    out: Path = arguments.out or folder / "selfplay.csv"

    try:
        network = load_network(arguments.weights)
    except NetworkFileError as error:
        raise SystemExit(f"{error}; `searchless fetch` gets the default, --weights names another") from None
    machine = describe_machine(arguments.threads) | {"baseline": f"lczerolens {VERSION}"}
    rows = run(settings, _name(arguments.weights), network, arguments.baseline, arguments.threads)
    keep(rows, out, machine)
    print(f"written: {out}")


def _name(weights: Path) -> str:
    """What the network is called in the table; the base of the study is what params.yaml says."""
    return load_params(ROOT / "params.yaml").base if weights == BASE else weights.name.removesuffix(".pb.gz")


def run(settings: Settings, name: str, network: nn.Module, environment: Path, threads: int) -> Iterator[Row]:
    """The rows of every part, one part after the other, for a network called `name`."""
    yield from host.measure(settings, environment, threads)
    games = warm_start(network, settings.sizes[-1], settings.warm_start_moves)
    yield from step.measure(settings, network, games)
    yield from memory.measure(settings)
    yield from growth.measure(settings)
    yield from formats.measure(settings, name, network, games)


if __name__ == "__main__":
    main()
