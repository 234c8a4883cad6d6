"""Imports inside the package go one way."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "searchless_rl"
ORDER = (
    ("__init__", "__version__"),
    ("files", "cells", "checkout", "interruption", "progress", "statistics"),
    ("unfinished",),
    ("params",),
    ("presets",),
    ("board",),
    ("nets",),
    ("lc0",),
    ("suites",),
    ("selfplay", "evaluation"),
    ("supervised", "arena"),
    ("reports",),
    ("tracking",),
    ("pipeline", "play"),
    ("cli",),
    ("__main__",),
)
LAYER = {name: layer for layer, names in enumerate(ORDER) for name in names}
MAX_LINES = 450


def _part(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imported_parts(path: Path) -> set[str]:
    parts = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (
                [node.module]
                if node.module != "searchless_rl"
                else [f"searchless_rl.{a.name}" for a in node.names]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        parts |= {name.split(".")[1] for name in names if name.startswith("searchless_rl.")}
    return parts


def test_imports_go_down_only():
    modules = sorted(PACKAGE.rglob("*.py"))
    assert len(modules) > 20
    upward = [
        f"{path.relative_to(PACKAGE)} imports {part}"
        for path in modules
        for part in _imported_parts(path)
        if part != _part(path) and LAYER[part] >= LAYER[_part(path)]
    ]
    assert not upward


def test_modules_stay_small():
    long = {
        str(path.relative_to(PACKAGE)): lines
        for path in PACKAGE.rglob("*.py")
        if (lines := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert not long
