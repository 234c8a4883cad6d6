"""What imports what, how large rooms and functions are: frozen in tests/data/architecture.toml."""

import ast
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import pytest
from draw_architecture import (
    FROZEN,
    PACKAGE,
    PICTURE,
    at_module_level,
    draw,
    drawn_edges,
    frozen_text,
    heavy_imports,
    import_edges,
    modules,
    room_of,
)

from searchless_rl import layout

TESTS = Path(__file__).parent
KNOWN = tomllib.loads(FROZEN.read_text())
LAYER = {room: layer for layer, rooms in enumerate(KNOWN["order"]) for room in rooms}
MAX_LINES = 450
MAX_FUNCTION = 60
LARGEST_SHARE = 0.15
WHAT_TO_DO = "if that is meant, run tools/draw_architecture.py and commit both files"


def test_edges_between_rooms_are_the_frozen_ones():
    assert len(modules()) > 20
    assert import_edges() == KNOWN["edges"], WHAT_TO_DO


def test_imports_go_down_only():
    upward = [
        f"{room} imports {end}"
        for room, ends in import_edges().items()
        for end in ends
        if LAYER[end] >= LAYER[room]
    ]
    assert not upward


def test_heavy_libraries_are_imported_where_they_are_allowed():
    assert heavy_imports() == KNOWN["heavy"], WHAT_TO_DO


def _dotted(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def _closure(start):
    """Files that are imported when a file is, packages' __init__ included."""
    found, waiting = set(), [start]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for name in at_module_level(path):
            parts = name.split(".")
            if parts[0] == "searchless_rl":
                for cut in range(1, len(parts) + 1):
                    stem = PACKAGE.joinpath(*parts[1:cut])
                    candidates = (stem.with_suffix(".py"), stem / "__init__.py")
                    waiting += [file for file in candidates if file.exists()]
    return found


@pytest.mark.parametrize("name", KNOWN["without_torch"])
def test_what_must_be_quick_does_not_load_torch(name):
    chosen = [path for path in modules() if name in (room_of(path), _dotted(path))]
    assert chosen
    for path in chosen:
        heavy = [
            str(file.relative_to(PACKAGE))
            for file in _closure(path)
            if {name.split(".")[0] for name in at_module_level(file)} & {"torch", "pytorch_lightning"}
        ]
        assert not heavy, f"{path.relative_to(PACKAGE)} loads torch by {heavy}"


def test_the_command_line_loads_nothing_heavy():
    """The closure above against the interpreter's own list of modules."""
    code = "import sys, searchless_rl.cli; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "pandas", "matplotlib", "mlflow", "chess"} & set(done.stdout.split())


def test_the_picture_shows_exactly_the_frozen_edges():
    text = PICTURE.read_text()
    assert text == draw(KNOWN["edges"], KNOWN["plumbing"]), WHAT_TO_DO
    tree = ElementTree.fromstring(text)
    name = "{http://www.w3.org/2000/svg}"
    drawn = {tuple(path.attrib["id"].split("--")) for path in tree.iter(f"{name}path") if "id" in path.attrib}
    shown = drawn_edges(import_edges(), KNOWN["plumbing"])
    assert drawn == {(room, end) for room, ends in shown.items() for end in ends}
    assert {box.text for box in tree.iter(f"{name}text")} == shown.keys()


def test_freezing_keeps_the_hand_written_head():
    before = FROZEN.read_text()
    assert frozen_text(before).startswith(before[: before.index("[edges]")].rstrip())
    assert set(KNOWN["edges"]) <= set(LAYER)


def test_modules_stay_small():
    long = {
        str(path.relative_to(PACKAGE)): lines
        for path in modules()
        if (lines := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert not long


def test_test_files_stay_small_and_are_named_once():
    """One name for two of them would be ambiguous in a summary; the tests are no packages."""
    files = sorted(TESTS.rglob("test_*.py"))
    assert len(files) > 100
    long = {
        str(path.relative_to(TESTS)): lines
        for path in files
        if (lines := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert not long
    shared = [name for name, count in Counter(path.name for path in files).items() if count > 1]
    assert not shared


LAYOUT = PACKAGE / "layout.py"
SPELLS_ITS_OWN = {
    # Downloads and networks are below the folder they are given; an edit to them reruns the stage `fetch`.
    "suites/fetch_stage.py",
    "suites/download.py",
}


def _start(path):
    """What a path begins with: `data` of ``data / "cells" / name``, `out` of ``self.out / "x"``."""
    while True:
        match path:
            case ast.BinOp(left=left):
                path = left
            case ast.Call(func=ast.Name(id="Path"), args=[ast.Constant(value=str(text)), *_]):
                return text
            case ast.Call(func=function):
                path = function
            case ast.Attribute(attr=name) | ast.Name(id=name):
                return name.lower()
            case _:
                return None


def _named(part):
    """The first of the names that an operand of a path spells; None where it spells none."""
    match part:
        case ast.Constant(value=str(text)):
            return text.split("/")[0]
        case ast.JoinedStr(values=[first, *_]):
            return _named(first) or "{}"
        case _:
            return None


FOLDERS = {
    node.right.value
    for node in ast.walk(ast.parse(LAYOUT.read_text()))
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant) and "." not in node.right.value
} | set(layout.GROUPS)
"""Folders below data/, as the layout spells them."""


def _places_below_data(source):
    """Pieces of source that spell a place below data/; folders of `out` and `scratch` are a stage's own."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.BinOp(op=ast.Div(), left=left, right=right) if name := _named(right):
                start = _start(left)
                if start == "data" or (name in FOLDERS and start not in {"out", "scratch"}):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="data"), attr="joinpath" | "glob" | "rglob")):
                yield ast.unparse(node)
            case ast.Constant(value=str(text)) if text.startswith("data/"):
                yield text


def test_only_the_layout_spells_places_below_data():
    assert {"cells", "tactics", "evaluated", "arena", "recovery", "suites", "requested"} <= FOLDERS
    spelled = {
        name: found
        for path in modules()
        if path != LAYOUT and (found := [*_places_below_data(path.read_text())])
        if (name := path.relative_to(PACKAGE).as_posix()) not in SPELLS_ITS_OWN
    }
    assert not spelled, "take the place from searchless_rl.layout"


@pytest.mark.parametrize(
    "source",
    [
        'data / "cells" / name',
        'data / f"{group}/x.json"',
        'layout.DATA / "anything"',
        'Path("data") / "downloads"',
        'root / "data/tactics/base"',
        'folder / "tactics"',
        'data.glob("headline/*.pb.gz")',
    ],
)
def test_a_place_below_data_is_noticed(source):
    assert [*_places_below_data(source)]
    assert not [*_places_below_data('layout.cell(name, data) / layout.WEIGHTS, out / "tactics"')]


def test_no_room_holds_more_than_its_share_of_the_lines():
    lines = Counter()
    for path in modules():
        lines[room_of(path)] += len(path.read_text().splitlines())
    large = {room: count for room, count in lines.items() if count > LARGEST_SHARE * lines.total()}
    assert not large, f"of {lines.total()} lines"


def _length(function):
    """Lines of a function without its docstring."""
    length = function.end_lineno - function.lineno + 1
    first = function.body[0]
    if (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    ):
        length -= first.end_lineno - first.lineno + 1
    return length


def test_functions_stay_short():
    long = {
        f"{path.relative_to(PACKAGE)}:{node.name}": length
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if (length := _length(node)) > MAX_FUNCTION
    }
    assert not long
