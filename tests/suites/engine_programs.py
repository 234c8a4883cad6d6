"""Stand-ins for engine programs."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class FakeEngine:
    """An executable copy of `fake_engine.py` that follows a script."""

    program: Path

    @classmethod
    def install(cls, folder: Path) -> FakeEngine:
        folder.mkdir()
        program = folder / "fake.py"
        source = Path(__file__).with_name("fake_engine.py").read_text()
        program.write_text(f"#!{sys.executable}\n{source}")
        program.chmod(0o755)
        engine = cls(program)
        engine.follow()
        return engine

    def follow(self, **script: Any) -> None:
        self.program.with_suffix(".json").write_text(json.dumps(script))

    @property
    def starts(self) -> int:
        path = self.program.with_suffix(".starts")
        return path.stat().st_size if path.exists() else 0

    @property
    def commands(self) -> list[str]:
        return self.program.with_suffix(".log").read_text().splitlines()
