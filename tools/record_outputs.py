"""Run the commands that docs/dvc.md shows and put their real output below them.

    python tools/record_outputs.py          # rewrite docs/dvc.md
    python tools/record_outputs.py --check  # only say whether it is up to date

A command is named in a comment, ``<!-- $ dvc metrics show --md -->``, directly above a fenced block; the
content of the block is replaced by what the command prints. Nothing else in the file changes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "dvc.md"
BLOCK = re.compile(
    r"(<!-- \$ (?P<command>[^\n]*?) -->\n```[a-z]*\n)(?P<output>.*?)(^```$)", re.DOTALL | re.MULTILINE
)


def output_of(command: str) -> str:
    """What a shell command prints in the repository root, without trailing blanks and local paths."""
    environment = os.environ | {"COLUMNS": "110", "NO_COLOR": "1", "DVC_NO_ANALYTICS": "1"}
    done = subprocess.run(
        command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command} failed with exit status {done.returncode}:\n{done.stderr}")
    lines = [line.rstrip().replace(str(ROOT), "/REPOSITORY") for line in done.stdout.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines) + "\n"


def main() -> int:
    """Rewrite or check the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    before = PAGE.read_text(encoding="utf-8")
    after = BLOCK.sub(lambda block: f"{block[1]}{output_of(block['command'])}{block[4]}", before)
    if arguments.check:
        print("docs/dvc.md is up to date" if after == before else "docs/dvc.md shows outdated output")
        return int(after != before)
    PAGE.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
