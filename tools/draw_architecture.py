"""Read the imports of the package, freeze them and draw them.

    python tools/draw_architecture.py          # write tests/data/architecture.toml, docs/architecture.svg
    python tools/draw_architecture.py --check  # only say whether they are up to date; exit status 1

A room is a subpackage of searchless_rl or a module at its top. An edge says that something in one room
imports something of another, anywhere in its code. tests/test_architecture.py holds the frozen edges, their
order and the heavy libraries that a room imports at module level; the picture shows the same edges.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "searchless_rl"
FROZEN = ROOT / "tests" / "data" / "architecture.toml"
PICTURE = ROOT / "docs" / "architecture.svg"
GENERATED = "# Below this line: written by tools/draw_architecture.py.\n"
HEAVY = (
    *("torch", "pytorch_lightning", "mlflow", "matplotlib", "seaborn", "statsmodels", "pandas", "pyarrow"),
    *("dvc", "chess", "cozy_chess", "numpy", "pydantic"),
)

Edges = Mapping[str, Sequence[str]]

_WIDTH, _HEIGHT, _GAP, _ROW, _MARGIN = 104, 30, 18, 78, 24


def room_of(path: Path) -> str:
    """The room that a file of the package belongs to."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def modules() -> list[Path]:
    """Every module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """Dotted names of what a piece of code imports; of ``from x import y`` also x.y."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def import_edges() -> dict[str, list[str]]:
    """Room -> the other rooms that it imports, sorted."""
    edges: dict[str, set[str]] = {}
    for path in modules():
        names = [name.split(".") for name in imported(ast.parse(path.read_text(encoding="utf-8")))]
        rooms = {parts[1] for parts in names if parts[0] == "searchless_rl" and len(parts) > 1}
        edges.setdefault(room_of(path), set()).update(room for room in rooms if _is_room(room))
    return {room: sorted(found - {room}) for room, found in sorted(edges.items())}


def _is_room(name: str) -> bool:
    return (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()


def at_module_level(path: Path) -> set[str]:
    """Dotted names that a module imports when it is imported itself."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {
        name for node in body if isinstance(node, (ast.Import, ast.ImportFrom)) for name in imported(node)
    }


def heavy_imports() -> dict[str, list[str]]:
    """Room -> the heavy libraries that its modules import at module level, sorted."""
    found: dict[str, set[str]] = {}
    for path in modules():
        names = {name.split(".")[0] for name in at_module_level(path)}
        found.setdefault(room_of(path), set()).update(names & set(HEAVY))
    return {room: sorted(names) for room, names in sorted(found.items()) if names}


def frozen_text(before: str) -> str:
    """The file of frozen edges, its hand-written head kept."""
    lines = [before.partition(GENERATED)[0] + GENERATED]
    for title, table in (("edges", import_edges()), ("heavy", heavy_imports())):
        rows = [f"{room} = [{', '.join(repr(name) for name in names)}]" for room, names in table.items()]
        lines += [f"\n[{title}]\n" + "\n".join(row.replace("'", '"') for row in rows) + "\n"]
    return "".join(lines)


def implied(edges: Edges) -> set[tuple[str, str]]:
    """Edges whose end is also reached by a longer way."""

    def reached(room: str) -> set[str]:
        return {room}.union(*(reached(other) for other in edges.get(room, ())))

    return {
        (room, end)
        for room, ends in edges.items()
        for end in ends
        if any(end in reached(other) for other in ends if other != end)
    }


def drawn_edges(edges: Edges, plumbing: Iterable[str]) -> dict[str, list[str]]:
    """The edges of the picture: those between rooms that are not plumbing."""
    hidden = set(plumbing)
    return {
        room: [end for end in ends if end not in hidden] for room, ends in edges.items() if room not in hidden
    }


def levels(edges: Edges) -> dict[str, int]:
    """Room -> the longest way down to the ground, which is 0."""

    def height(room: str) -> int:
        return 1 + max((height(end) for end in edges.get(room, ())), default=-1)

    return {room: height(room) for room in edges}


def _rows(edges: Edges) -> list[list[str]]:
    """Rooms by level from the top, each row in the order of what it imports, so that few arrows cross."""
    level = levels(edges)
    rows: list[list[str]] = []
    place: dict[str, float] = {}
    for number in range(max(level.values()) + 1):
        names = sorted(room for room in edges if level[room] == number)
        below = {room: [place[end] for end in edges[room] if end in place] for room in names}
        names.sort(key=lambda room: sum(below[room]) / max(len(below[room]), 1))
        place |= {room: index - (len(names) - 1) / 2 for index, room in enumerate(names)}
        rows.append(names)
    return rows[::-1]


def draw(edges: Edges, plumbing: Sequence[str]) -> str:
    """An SVG of the rooms, from the ground up; pale arrows are implied by others."""
    shown = drawn_edges(edges, plumbing)
    rows = _rows(shown)
    width = (max(len(names) for names in rows) + 0.5) * (_WIDTH + 3 * _GAP) + 2 * _MARGIN
    height = (len(rows) - 1) * _ROW + _HEIGHT + 2 * _MARGIN
    places: dict[str, tuple[float, float]] = {}
    for number, names in enumerate(rows):
        shift = (number % 2 - 0.5) * (_WIDTH / 2 + _GAP)  # so that long arrows pass beside boxes
        for column, room in enumerate(names):
            x = width / 2 + shift + (column - (len(names) - 1) / 2) * (_WIDTH + 3 * _GAP)
            places[room] = (x, _MARGIN + number * _ROW + _HEIGHT / 2)
    pale = implied(shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        'font-family="DejaVu Sans, sans-serif" font-size="13">',
        "<title>Rooms of searchless_rl and what they import</title>",
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#456"/></marker></defs>',
    ]
    arrows = [(room, end) for room, ends in shown.items() for end in ends]
    for room, end in sorted(arrows, key=lambda edge: edge not in pale):
        (x1, y1), (x2, y2) = places[room], places[end]
        style = (
            'stroke="#ccd6dd"'
            if (room, end) in pale
            else 'stroke="#456" stroke-width="1.4" marker-end="url(#tip)"'
        )
        parts.append(
            f'<path id="{room}--{end}" d="M{x1:g},{y1 + _HEIGHT / 2:g} C{x1:g},{y1 + _ROW / 2:g} '
            f'{x2:g},{y2 - _ROW / 2:g} {x2:g},{y2 - _HEIGHT / 2:g}" fill="none" {style}/>'
        )
    for room, (x, y) in places.items():
        parts += [
            f'<rect x="{x - _WIDTH / 2:g}" y="{y - _HEIGHT / 2:g}" width="{_WIDTH}" height="{_HEIGHT}" '
            'rx="5" fill="#f3f6f8" stroke="#456"/>',
            f'<text x="{x:g}" y="{y + 4.5:g}" text-anchor="middle">{room}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Rewrite or check both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(argv)
    frozen = frozen_text(FROZEN.read_text(encoding="utf-8"))
    known = tomllib.loads(frozen)
    picture = draw(known["edges"], known["plumbing"])
    outdated = 0
    for path, text in ((FROZEN, frozen), (PICTURE, picture)):
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        outdated += 1
        print(f"{path.relative_to(ROOT)}: {'outdated' if arguments.check else 'written'}")
        if not arguments.check:
            path.write_text(text, encoding="utf-8")
    return int(arguments.check and outdated > 0)


if __name__ == "__main__":
    sys.exit(main())
