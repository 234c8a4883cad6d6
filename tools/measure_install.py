"""Measure what an installation takes on disk: docs/install.json, which the README quotes.

    python tools/measure_install.py [FOLDER]    # a virtual environment; default .venv

Bytes are those of `du`; packages are counted by their metadata.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def measure(environment: Path) -> dict[str, str | int]:
    """Size in MB, number of packages, versions of Python and torch.

    Raises:
        FileNotFoundError: no virtual environment there.
    """
    packages = sorted(environment.glob("lib/python*/site-packages/*.dist-info"))
    if not packages:
        raise FileNotFoundError(f"{environment}: no packages there; `make setup` installs them into .venv")
    size = subprocess.run(["du", "-s", "-B1000000", environment], capture_output=True, text=True, check=True)
    torch = next(path.name for path in packages if path.name.startswith("torch-"))
    return {
        "megabytes": int(size.stdout.split()[0]),
        "packages": len(packages),
        "torch": torch.removeprefix("torch-").removesuffix(".dist-info"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def main() -> int:
    """Write docs/install.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("environment", type=Path, nargs="?", default=ROOT / ".venv")
    found = measure(parser.parse_args().environment)
    (ROOT / "docs" / "install.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
