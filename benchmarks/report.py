"""Writes benchmarks/README.md: what each script measures, how to run it, and every table of results.

python benchmarks/report.py
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from searchless_rl.files import write_atomically

BENCHMARKS = Path(__file__).resolve().parent

_HEAD = """# Benchmarks

Written by `python benchmarks/report.py` from the docstrings of the scripts and the CSV files in `results/`:
change those, not this file.

Benchmarks are not tests: they take minutes, and nothing depends on them. The things compared are measured in
turns in one run, so a ratio holds about as well on other machines and on a busy one; a time or a speed holds
for the machine that is named with it.
"""
_COLUMNS = """
`setting` says what was measured, `value` is the result and `baseline` what it is held against, both in
`unit`; `ratio` compares the two, which way round the text above a table says; `met` tells whether the value
or the ratio reaches its `target`.
"""


def render(folder: Path) -> str:
    """The README of a folder of benchmarks.

    Each script NAME.py has a section: its docstring, then results/NAME.csv where there is one, a table for
    each part with the docstring of NAME_parts/PART.py above it. A CSV without a script gets its table alone.

    Raises:
        ValueError: a CSV without the column that it needs, or a file beside it that is not JSON (file named).
    """
    results = {path.stem: path for path in sorted((folder / "results").glob("*.csv"))}
    scripts = {path.stem: path for path in sorted(folder.glob("*.py")) if path.stem != "report"}
    names = sorted(results.keys() | scripts.keys())
    listing = pd.DataFrame(
        {
            "script": f"`{name}.py`" if name in scripts else "",
            "what": _summary(scripts[name]) if name in scripts else "",
            "results": f"[{name}.csv](results/{name}.csv)" if name in results else "printed only",
        }
        for name in names
    )
    sections = [_HEAD, _table(listing)]
    for name in names:
        sections.append(f"## {name}")
        if name in scripts:
            sections.append(_docstring(scripts[name]))
        if name in results:
            sections += _results(results[name], folder / f"{name}_parts")
    return "\n\n".join(section.strip("\n") for section in sections) + "\n"


def _results(path: Path, parts: Path) -> Iterable[str]:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    machine = path.with_suffix(".machine.json")
    if machine.exists():
        yield _machine_line(machine)
    if "part" not in frame:
        yield _table(frame)
        return
    yield _COLUMNS
    if "met" in frame:
        yield _targets(frame, path)
    for part, rows in frame.groupby("part", sort=False):
        yield f"### {part}"
        script = parts / f"{part}.py"
        if script.exists():
            yield _docstring(script)
        shown = rows.drop(columns="part")
        yield _table(shown.loc[:, (shown != "").any()])


def _targets(frame: pd.DataFrame, path: Path) -> str:
    """How many targets are met, and which are not."""
    for column in ("setting", "target"):
        if column not in frame:
            raise ValueError(f"{path}: no column {column!r}; run its script again")
    aimed = frame[frame["target"] != ""]
    missed = aimed[aimed["met"] != "yes"]
    text = f"{len(aimed) - len(missed)} of {len(aimed)} targets are met."
    if len(missed):
        names = "; ".join(f"{row.setting} ({row.target})" for row in missed.itertuples())
        text += f" Not met: {names}."
    return text


def _machine_line(path: Path) -> str:
    try:
        machine = json.loads(path.read_text(encoding="utf-8"))
        text = "Measured on {cpu}, {cores} cores, {threads} thread(s), torch {torch}, Python {python}".format(
            **machine
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: not a description of a machine ({error}); run its script again") from error
    return text + (f", beside {machine['baseline']}." if "baseline" in machine else ".")


def _docstring(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    if not text:
        raise ValueError(f"{path}: no docstring to print; write one")
    return text


def _summary(path: Path) -> str:
    return _docstring(path).partition("\n")[0]


def _table(frame: pd.DataFrame) -> str:
    escaped = frame.map(lambda text: text.replace("|", "\\|"))
    return escaped.to_markdown(index=False, disable_numparse=True)


def main() -> None:
    """Write the README."""
    write_atomically(BENCHMARKS / "README.md", render(BENCHMARKS))


if __name__ == "__main__":
    main()
