"""Break one line of the source at a time and require that the tests which hold it fail.

    python tests/break_lines.py [--only WORDS]

``broken_lines.toml`` lists the lines, what each becomes and the tests that must notice. First all of those
tests must pass on the source as it is. Then each entry gets its own copy of the package with one change, and
its tests run on that copy in a process forked from this one, which has imported torch and Lightning already.
A broken line that its tests do not notice (it survives) ends the run with status 1. When the whole list has
been seen to fail, ``BROKEN_LINES.md`` is written from it.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PACKAGE = "searchless_rl"
SOURCE = ROOT / "src" / PACKAGE
ENTRIES = TESTS / "broken_lines.toml"
PAGE = TESTS / "BROKEN_LINES.md"
LONGEST = 180
"""Seconds that the tests of one entry may take; a broken line that hangs shows nothing."""
HEAVY = ("chess", "cozy_chess", "numpy", "pydantic.main", "pytorch_lightning", "ruamel.yaml", "torch")
NOT_A_FINDING = ("ImportError", "ModuleNotFoundError", "SyntaxError", "NameError", "UnboundLocalError")
"""Exceptions that any test would meet: the entry is misspelt, not noticed."""


class EntryError(ValueError):
    """An entry that no longer fits the source."""


@dataclass(frozen=True)
class BrokenLine:
    """One line, or several in a row, and what happens when they are wrong.

    Attributes:
        file: below src/searchless_rl.
        line: the source without the indentation of its first line; it must occur exactly once.
        becomes: what it is replaced with, indented alike; empty removes it.
        effect: what that would do to a cell, one sentence.
        tests: node ids below tests/, parameters included, each of which must fail.
    """

    file: str
    line: str
    becomes: str
    effect: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """How the entry is called in messages."""
        return f"{self.file}: {self.line.splitlines()[0]}"

    def apply(self, source: str) -> str:
        """The text of `file` with the change.

        Raises:
            EntryError: the line does not occur exactly once.
        """
        lines, wanted = source.splitlines(), self.line.splitlines()
        found = []
        for number, text in enumerate(lines):
            indent = text[: len(text) - len(text.lstrip())]
            if lines[number : number + len(wanted)] == _indented(wanted, indent):
                found.append((number, indent))
        if len(found) != 1:
            raise EntryError(f"{self.name}\n  occurs {len(found)} times; correct {ENTRIES.name}")
        number, indent = found[0]
        lines[number : number + len(wanted)] = _indented(self.becomes.splitlines(), indent)
        return "\n".join(lines) + "\n"


@dataclass
class Outcome:
    """What became of some tests in one process.

    Attributes:
        status: exit status of pytest, None where the process ended without one.
        package: the file that the package was imported from.
        tests: node id -> "passed", "failed", "skipped" or "error" (outside the test itself) and the name of
            the exception.
        log: what was printed.
    """

    status: int | None = None
    package: str = ""
    tests: dict[str, tuple[str, str]] = field(default_factory=dict)
    log: str = ""


class _Recorder:
    """Pytest plugin: results by node id."""

    def __init__(self) -> None:
        self.tests: dict[str, tuple[str, str]] = {}

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self.tests[item.nodeid.removeprefix("tests/")] = ("collected", "")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report = yield
        raised = call.excinfo.typename if call.excinfo else ""
        if report.when == "call":
            self.tests[item.nodeid.removeprefix("tests/")] = (report.outcome, raised)
        elif report.outcome != "passed":
            outcome = "skipped" if report.skipped else "error"
            self.tests[item.nodeid.removeprefix("tests/")] = (outcome, raised)
        return report


def read_entries(path: Path = ENTRIES) -> list[BrokenLine]:
    """The list, in its order."""
    with path.open("rb") as stream:
        rows = tomllib.load(stream)["broken"]
    return [BrokenLine(**(row | {"tests": tuple(row["tests"])})) for row in rows]


def complaint(entry: BrokenLine, outcome: Outcome) -> str:
    """Why this outcome does not show that the entry's tests notice it; empty where it does."""
    if outcome.status is None:
        return f"its tests did not end within {LONGEST} s, or their process died"
    for test in entry.tests:
        result, raised = outcome.tests.get(test, ("not collected", ""))
        if result != "failed":
            return f"survives: {test} {result}" + (f" ({raised})" if raised else "")
        if raised in NOT_A_FINDING:
            return f"{test} fails with {raised}, which says nothing about the test"
    if outcome.status != pytest.ExitCode.TESTS_FAILED:
        return f"pytest ended with status {outcome.status}"
    return ""


def run_tests(
    tests: Iterable[str], package: Path, log: Path, *options: str, longest: float = LONGEST
) -> Outcome:
    """Run node ids in a forked process, for at most `longest` seconds.

    Args:
        tests: node ids below tests/.
        package: folder that the package is imported from.
        log: gets the output; files beside it are temporary.
        options: further ones of pytest.
    """
    answer = log.with_suffix(".json")
    arguments = ["-q", "--tb=short", "-p", "no:cacheprovider", f"--basetemp={log.with_suffix('.tmp')}"]
    arguments += [f"--rootdir={ROOT}", f"--config-file={ROOT / 'pyproject.toml'}", *options]
    arguments += [str(TESTS / test) for test in dict.fromkeys(tests)]
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_run, args=(arguments, package, log, answer))
    process.start()
    process.join(longest)
    try:
        assert process.pid is not None
        os.killpg(process.pid, signal.SIGKILL)  # the rest of its group: what a failed test leaves behind
    except ProcessLookupError:
        pass
    process.join()
    outcome = Outcome(**json.loads(answer.read_text())) if answer.exists() else Outcome()
    outcome.log = log.read_text(errors="replace") if log.exists() else ""
    if outcome.status is not None and not Path(outcome.package).is_relative_to(package):
        raise RuntimeError(f"{PACKAGE} was imported from {outcome.package}, not from {package}")
    return outcome


def _run(arguments: list[str], package: Path, log: Path, answer: Path) -> None:
    os.setsid()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(ROOT)
    sys.path.insert(0, str(package))
    os.environ["PYTHONPATH"] = str(package)  # for programs that a test starts
    recorder = _Recorder()
    status = pytest.main(arguments, plugins=[recorder])
    imported = importlib.import_module(PACKAGE).__file__
    answer.write_text(json.dumps({"status": int(status), "package": imported, "tests": recorder.tests}))
    sys.stdout.flush()
    os._exit(0)


def _indented(lines: Sequence[str], indent: str) -> list[str]:
    return [indent + text if text else text for text in lines]


def _import_heavy_parts() -> None:
    """Import once what tests need besides the package, before processes are forked; no thread may start."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in HEAVY:
        importlib.import_module(name)
    pytest.main(["--version"])  # its plugins too
    gc.freeze()  # pytest collects garbage at its end: not among all of this in every process


def break_all(entries: Sequence[BrokenLine], folder: Path) -> list[str]:
    """Run everything with temporary files in `folder`; returns complaints, and prints as it goes.

    Raises:
        EntryError: an entry that does not fit the source.
    """
    broken = [entry.apply((SOURCE / entry.file).read_text(encoding="utf-8")) for entry in entries]
    _import_heavy_parts()
    whole = folder / "whole"
    shutil.copytree(SOURCE, whole / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    tests = list(dict.fromkeys(test for entry in entries for test in entry.tests))
    print(f"{len(tests)} tests on the source as it is", flush=True)
    outcome = run_tests(tests, whole, folder / "whole.log", longest=10 * LONGEST)
    results = {test: outcome.tests.get(test, ("not collected", ""))[0] for test in tests}
    if outcome.status != pytest.ExitCode.OK or set(results.values()) != {"passed"}:
        print(outcome.log, file=sys.stderr)
        wrong = [f"{test}: {result}" for test, result in results.items() if result != "passed"]
        return ["\n  ".join(["before anything is broken:", *(wrong or ["no test ran"])])]
    complaints = []
    for number, (entry, text) in enumerate(zip(entries, broken, strict=True), 1):
        begun = time.monotonic()
        copy = folder / str(number)
        shutil.copytree(whole / PACKAGE, copy / PACKAGE)  # with the bytecode of the first run
        (copy / PACKAGE / entry.file).write_text(text, encoding="utf-8")
        for stale in (copy / PACKAGE / entry.file).parent.glob(f"__pycache__/{Path(entry.file).stem}.*"):
            stale.unlink()
        outcome = run_tests(entry.tests, copy, folder / f"{number}.log")
        problem = complaint(entry, outcome)
        if problem:
            complaints.append(f"{entry.name}\n  {problem}")
        print(
            f"[{number}/{len(entries)}] {time.monotonic() - begun:4.1f} s  "
            f"{'SURVIVES' if problem else 'noticed '}  {entry.name}",
            flush=True,
        )
        if problem:
            print(f"    {problem}\n{outcome.log}", file=sys.stderr, flush=True)
        shutil.rmtree(copy)
    return complaints


def page(entries: Sequence[BrokenLine]) -> str:
    """The text of tests/BROKEN_LINES.md."""
    lines = [HEAD.format(count=len(entries))]
    for file in dict.fromkeys(entry.file for entry in entries):
        lines += [f"## {file}", ""]
        lines += [_item(entry) for entry in entries if entry.file == file]
        lines += [""]
    return "\n".join(lines).rstrip() + "\n"


def _item(entry: BrokenLine) -> str:
    change = f"{_code(entry.line)} → {_code(entry.becomes) if entry.becomes else '(removed)'}"
    tests = ", ".join(f"`{test}`" for test in entry.tests)
    return f"* {change}\n  {entry.effect}\n  Noticed by {tests}."


def _code(text: str) -> str:
    return " ⏎ ".join(f"`{part.strip()}`" for part in text.splitlines())


HEAD = """\
# Broken lines

Written by `python tests/break_lines.py` from `broken_lines.toml`; [README.md](README.md) says what it is for.
Each of the {count} lines below has been broken as shown, one at a time, and the tests named with it failed.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; 1 where a line survives or an entry does not fit."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", default="", metavar="WORDS", help="entries whose file, line or effect has this"
    )
    parser.add_argument(
        "--entries", type=Path, default=ENTRIES, help="another list (BROKEN_LINES.md stays as it is)"
    )
    arguments = parser.parse_args(argv)
    known = read_entries(arguments.entries)
    wanted = arguments.only.casefold()
    entries = [e for e in known if wanted in "\n".join((e.file, e.line, e.effect)).casefold()]
    if not entries:
        print(f"no entry has {arguments.only!r}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="break_lines.") as folder:
        try:
            complaints = break_all(entries, Path(folder).resolve())
        except EntryError as error:
            print(error, file=sys.stderr)
            return 1
    for problem in complaints:
        print(problem)
    if complaints:
        return 1
    print(f"{len(entries)} broken lines, all noticed")
    if entries == known and arguments.entries == ENTRIES:
        PAGE.write_text(page(entries), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
