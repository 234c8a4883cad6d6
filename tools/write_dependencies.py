"""Write the source files each stage runs into the pipelines: `python tools/write_dependencies.py [--check]`.

A stage's command names a function of `searchless_rl.pipeline.stages`; what that function imports, and what
this imports in turn, are the stage's dependencies below src/ (see `searchless_rl.code`). A folder whose code
is run whole is listed as the folder. Everything else in dvc.yaml stays as it is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ruamel.yaml import YAML

from searchless_rl.code import has_code, imports_of, source_files

ROOT = Path(__file__).resolve().parent.parent
PIPELINES = (ROOT / "dvc.yaml", ROOT / "pretrain" / "dvc.yaml")
SOURCE = "src/searchless_rl"
STAGES = "searchless_rl.pipeline.stages"
WIDTH = 110

_STAGE = re.compile(r"  (\w+):$")
_COMMAND = re.compile(r" +cmd: python -m searchless_rl ([\w-]+)")
_DEPS = re.compile(r"( +)deps:")


def code_dependencies(command: str, package: Path = ROOT / SOURCE) -> list[str]:
    """Files and folders below src/ that a stage's command runs, sorted; paths from the project's root.

    Args:
        command: a subcommand of `searchless`, e.g. "warm-start".
        package: the folder of the package.

    Raises:
        ValueError: no such stage.
    """
    entries = imports_of(STAGES, command.replace("-", "_"), package)
    files = set(source_files(*entries, package=package))
    folders = {path.parent for path in files} - {package}
    whole = {folder for folder in folders if set(filter(has_code, folder.rglob("*.py"))) <= files}
    listed = {next((folder for folder in path.parents if folder in whole), path) for path in files}
    return sorted(f"{SOURCE}/{path.relative_to(package).as_posix()}" for path in listed)


def with_dependencies(text: str, package: Path = ROOT / SOURCE) -> str:
    """The text of dvc.yaml with every stage's code dependencies as the source has them now.

    Raises:
        ValueError: a stage's dependencies stand before its command, or it runs no stage of `STAGES`.
    """
    lines, written, command = text.splitlines(), list[str](), None
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if _STAGE.match(line):
            command = None
        elif found := _COMMAND.match(line):
            command = found[1]
        elif found := _DEPS.match(line):
            indent = len(found[1])
            block = [line]
            while number < len(lines) and _continues(lines[number], indent):
                block.append(lines[number])
                number += 1
            if command is None:
                raise ValueError(f"dvc.yaml: the command must stand before the dependencies: {line!r}")
            data = [name for name in YAML(typ="safe").load("\n".join(block))["deps"] if not _is_code(name)]
            written += _flow_list(found[1], data, code_dependencies(command, package))
            continue
        written.append(line)
    return "\n".join(written) + "\n"


def _is_code(name: str) -> bool:
    return name.startswith(f"{SOURCE}/")


def _continues(line: str, indent: int) -> bool:
    """Whether a line belongs to a list begun at that indentation."""
    return line.startswith(" " * (indent + 1)) or line.startswith(" " * indent + "]")


def _flow_list(indent: str, data: list[str], code: list[str]) -> list[str]:
    """A list in brackets, data before code, each from a new line."""
    quoted = [f'"{name}"' if "{" in name else name for name in data]
    lines = [f"{indent}deps: ["]
    for group in (quoted, code):
        line = f"{indent} "
        for name in group:
            if len(line) + len(name) + 2 > WIDTH:
                lines.append(line)
                line = f"{indent} "
            line += f" {name},"
        if group:
            lines.append(line)
    return [*lines, f"{indent}]"]


def main(arguments: list[str]) -> int:
    """Rewrite the pipelines; with --check only say whether they are as they should be."""
    status = 0
    for path in PIPELINES:
        name, before = path.relative_to(ROOT), path.read_text(encoding="utf-8")
        after = with_dependencies(before)
        if after == before:
            print(f"{name} names what the stages run")
        elif "--check" in arguments:
            print(f"{name} does not name what the stages run; run `python tools/write_dependencies.py`")
            status = 1
        else:
            path.write_text(after, encoding="utf-8")
            print(f"{name} rewritten; stages with other dependencies than before run again")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
