"""Fill the generated blocks of README.md and docs/*.md from the files that a run wrote.

    python tools/fill_blocks.py            # rewrite them
    python tools/fill_blocks.py --check    # only say which are outdated; exit status 1

A block lies between ``<!-- generated: NAME -->`` and ``<!-- end -->``; `BLOCKS` says what fills it. Nothing
else in a file changes, and no measured number is typed by hand. tests/test_documents.py runs the check.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.claims.findings import read_findings, summary_of, table_of
from searchless_rl.claims.judged_document import counts_of, read_claims, split_claims
from searchless_rl.params import load_params
from searchless_rl.reports.formats import Source
from searchless_rl.results import glossary
from searchless_rl.suites.sources import REGISTRY

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
SCALES = ("smoke", "mini", "mini-maia", "paper")
RECORDED = "mini"
"""The scale whose results are committed."""


def found() -> str:
    """The verdicts of the recorded run."""
    params = load_params(ROOT / "scales" / f"{RECORDED}.yaml")
    frame = read_findings(ROOT / "reports" / RECORDED / "findings.csv")
    return f"{Source.of(params)}\n\n{table_of(frame)}\n\n{summary_of(frame, params)}"


def claims() -> str:
    """How many of the paper's claims the recorded run supports, and how many not."""
    frame = read_claims(ROOT / "reports" / RECORDED / "claims.csv")
    text, tables = split_claims(frame)
    link = f"[{counts_of(frame)}](reports/{RECORDED}/claims.md)"
    parts = "; ".join(counts_of(part).replace("claims judged", where) for part, where in (
        (text, "of them in the text"), (tables, "numbers of its tables"),
    ))  # fmt: skip
    return f"{link}, each with its interval, the paper's number and the file it comes from ({parts})."


def costs() -> str:
    """Installed size, wall time and memory, measured."""
    install = json.loads((ROOT / "docs" / "install.json").read_text(encoding="utf-8"))
    timings = _timings()
    whole = timings["stages"]["fan-out"]["seconds"]
    memory = max(stage["peak_memory_mib"] for stage in timings["stages"].values())
    size = f"{install['megabytes'] / 1000:.1f} GB in `.venv`, {install['packages']} packages"
    return "\n".join(
        [
            "| what | measured |",
            "|---|---|",
            f"| installed | {size} (torch {install['torch']}, {install['system']}) |",
            f"| `make repro` at {RECORDED}, after the install | {_minutes(whole)}, several cells at a time; "
            f"{_minutes(timings['sum_seconds'])} of one-thread work |",
            f"| most memory of one stage | {memory:,.0f} MiB |",
            "| `paper` | GPU-hours not measured yet |",
        ]
    )


def stage_costs() -> str:
    """Wall time and memory by command, the cells of a stage together."""
    rows = [
        {"command": name.split("@")[0], "seconds": cost["seconds"], "memory": cost["peak_memory_mib"]}
        for name, cost in _timings()["stages"].items()
    ]
    lines = ["| `searchless` ... | runs | longest | together | most memory |", "|---|---|---|---|---|"]
    for command, runs in pd.DataFrame(rows).groupby("command", sort=False):
        seconds = runs["seconds"]
        lines.append(
            f"| `{command}` | {len(runs)} | {_minutes(seconds.max())} | {_minutes(seconds.sum())} "
            f"| {runs['memory'].max():,.0f} MiB |"
        )
    return "\n".join(lines)


def scales() -> str:
    """What the scales set, from their files."""
    params = {name: load_params(ROOT / "scales" / f"{name}.yaml") for name in SCALES}
    rows: dict[str, Callable[[Any], str]] = {
        "base": lambda scale: f"`{scale.base}`",
        "its value head": lambda scale: "as in its file" if scale.base_value == "file" else scale.base_value,
        "cells": lambda scale: str(len(scale.grid.cells)),
        "parallel games": lambda scale: f"{scale.selfplay.games:,}",
        "steps": lambda scale: f"{scale.selfplay.steps:,}",
        "puzzles: selection / main / hard": lambda scale: (
            f"{scale.suites.selection:,} / {scale.suites.main:,} / {scale.suites.hard:,}"
        ),
        "games a pair / against the base": lambda scale: (
            f"{scale.arena.games:,} / {scale.arena.games_against_base:,}"
        ),
    }
    head = "| | " + " | ".join(f"`{name}`" for name in SCALES) + " |"
    lines = [head, "|---" * (1 + len(SCALES)) + "|"]
    for label, text in rows.items():
        lines.append(f"| {label} | " + " | ".join(text(params[name]) for name in SCALES) + " |")
    return "\n".join(lines)


def metrics() -> str:
    """The names of metrics in files and in MLflow, from the code's own dictionary."""
    parts = []
    for heading, names in (
        ("A network", glossary.COLUMNS),
        ("A suite", glossary.SUITE_FIGURES),
        ("A step of training", glossary.TRAINING),
    ):
        rows = [f"| `{name}` | {text} | {unit} | {source} |" for name, (text, unit, source) in names.items()]
        parts += [
            f"### {heading}",
            "\n".join(["| name | meaning | unit | paper |", "|---|---|---|---|", *rows]),
        ]
    return "\n\n".join(parts)


def networks() -> str:
    """The networks that may be fetched by name."""
    rows = [
        "| name | what it is | bytes | licence | to load it | SHA-256 | from |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in REGISTRY.values():
        if not entry.is_network:
            continue
        steps = ["ONNX graph read"] if entry.file_name.endswith(".onnx.bin") else []
        steps += ["scalar value as win/draw/loss"] if "scalar value" in entry.description else []
        size = f"{entry.size:,}" if entry.size else "not pinned"
        digest = f"`{entry.sha256}`" if entry.sha256 else f"`{entry.sha256_unpacked}` (unpacked)"
        cells = [f"`{entry.name}`", entry.description, size, entry.licence, ", ".join(steps) or "as it is"]
        rows.append(f"| {' | '.join(cells)} | {digest} | {'; or '.join(map(str, entry.sources))} |")
    return "\n".join(rows)


def visits() -> str:
    """What the bundled network is, from its card and the times of its making."""
    card = json.loads((ROOT / "data" / "networks" / "visits.json").read_text(encoding="utf-8"))
    times = json.loads((ROOT / "pretrain" / "timings.json").read_text(encoding="utf-8"))
    games, played, trained = card["games"], times["visits"], times["student"]
    rate = 3600 * games["positions"] / played["seconds"]
    lines = [
        f"{games['games']:,} games of {card['parent']['name']} with {games['positions']:,} searched "
        f"positions, {card['search']['simulations']} visits each, took {_minutes(played['seconds'])} with "
        f"{played['processes']} processes ({times['machine']}): {rate:,.0f} positions an hour. The student "
        f"took {_minutes(trained['seconds'])} on {trained['threads']} thread, on a busy machine.",
        "",
        "| the student | is | wanted of a default base | met |",
        "|---|---|---|---|",
    ]
    for name, mark in card["marks"].items():
        lines.append(
            f"| {name} | {mark['value']:.3f} | {mark['wanted']} | {'yes' if mark['met'] else 'no'} |"
        )
    return "\n".join(lines)


BLOCKS: dict[str, Callable[[], str]] = {
    "networks": networks,
    "visits": visits,
    "findings": found,
    "claims": claims,
    "costs": costs,
    "stage-costs": stage_costs,
    "scales": scales,
    "metrics": metrics,
}


def _timings() -> Any:
    return json.loads((ROOT / "reports" / RECORDED / "timings.json").read_text(encoding="utf-8"))


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def filled(text: str) -> str:
    """The text with every block filled.

    Raises:
        KeyError: a block that nothing fills.
    """
    return BLOCK.sub(lambda block: f"{block[1]}\n{BLOCKS[block['name']]()}\n\n{block[3]}", text)


def documents() -> list[Path]:
    """The files that may hold blocks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def main(argv: list[str] | None = None) -> int:
    """Rewrite or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(argv)
    outdated = []
    for path in documents():
        before = path.read_text(encoding="utf-8")
        after = filled(before)
        if after != before:
            outdated.append(path)
            if not arguments.check:
                path.write_text(after, encoding="utf-8")
    done = "outdated; run tools/fill_blocks.py" if arguments.check else "filled"
    for path in outdated:
        print(f"{path.name}: {done}")
    return int(arguments.check and bool(outdated))


if __name__ == "__main__":
    sys.exit(main())
