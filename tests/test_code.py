"""The import closure is what Python really imports, and its fingerprint changes with every file of it."""

import subprocess
import sys

import pytest

from searchless_rl import code

STAGE_MODULES = (
    "searchless_rl.arena.stage",
    "searchless_rl.evaluation.stage",
    "searchless_rl.pipeline.recovery",
    "searchless_rl.pipeline.requested",
    "searchless_rl.selfplay.stage",
    "searchless_rl.selfplay.warm_start",
    "searchless_rl.supervised.control_stage",
)


@pytest.fixture
def package(tmp_path):
    """A package of its own, in which every way of importing occurs."""
    files = {
        "__init__.py": '"""A face."""\n',
        "top.py": (
            "from typing import TYPE_CHECKING\n"
            "import json\n"
            "from pack.room import used\n"
            "if TYPE_CHECKING:\n"
            "    from pack.types_only import Shape\n"
            "else:\n"
            "    import pack.otherwise\n"
            "def late():\n"
            "    from pack.room.inside import thing\n"
            "    return helper(thing)\n"
            "def helper(thing):\n"
            "    import pack.helped\n"
            "def unrelated(late):\n"
            "    import pack.unrelated\n"
        ),
        "types_only.py": "Shape = int\n",
        "otherwise.py": "import pack.top\n",  # a circle ends
        "helped.py": "x = 1\n",
        "unrelated.py": "x = 1\n",
        "room/__init__.py": '"""Only a docstring."""\n',
        "room/used.py": "from pack.room.inside import thing\n",
        "room/inside.py": "thing = 1\n",
        "room/never.py": "thing = 1\n",
    }
    for name, text in files.items():
        (tmp_path / "pack" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pack" / name).write_text(text)
    return tmp_path / "pack"


def test_imports_are_found_wherever_they_stand_but_for_types(package):
    assert code.closure("pack.top", package=package) == (
        *("pack", "pack.helped", "pack.otherwise", "pack.room", "pack.room.inside", "pack.room.used"),
        *("pack.top", "pack.unrelated"),
    )


def test_a_function_has_the_imports_of_what_it_calls(package):
    found = code.imports_of("pack.top", "late", package)
    assert found == {"pack", "pack.room", "pack.room.inside", "pack.helped"}


def test_a_face_of_words_only_is_no_source_of_results(package):
    names = [
        path.relative_to(package).as_posix() for path in code.source_files("pack.room.used", package=package)
    ]
    assert names == ["room/inside.py", "room/used.py"]
    (package / "room" / "__init__.py").write_text('"""Now it does something."""\nx = 1\n')
    assert package / "room" / "__init__.py" in code.source_files("pack.room.used", package=package)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from . import used\n", "line 1: write the import"),
        ("from ..pack import used\n", "line 1: write the"),
    ],
)
def test_what_cannot_be_followed_is_refused(package, text, words):
    (package / "room" / "used.py").write_text(text)
    with pytest.raises(ValueError, match=words):
        code.closure("pack.top", package=package)
    with pytest.raises(ValueError, match="'pack.none' is not in"):
        code.imports_of("pack.none", package=package)
    with pytest.raises(ValueError, match="has no function 'nothing'"):
        code.imports_of("pack.top", "nothing", package)


@pytest.mark.slow
@pytest.mark.parametrize("module", STAGE_MODULES)
def test_python_imports_nothing_outside_the_closure(module):
    """Against the interpreter: what is loaded is in the closure, and only late imports are in it unloaded."""
    program = f"import sys, {module}; print(*(n for n in sys.modules if n.startswith('searchless_rl')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded, closure = set(done.stdout.split()), set(code.closure(module))
    assert loaded <= closure
    assert {name.split(".")[1] for name in closure - loaded} <= {"lc0"}


def test_the_fingerprint_of_a_cell_changes_with_any_file_it_runs(tmp_path):
    """On a copy: an edit to the networks, far below the stage, is seen; one to a report is not."""
    copy = tmp_path / "src"
    for path in code.PACKAGE.rglob("*.py"):
        (copy / "searchless_rl" / path.relative_to(code.PACKAGE)).parent.mkdir(parents=True, exist_ok=True)
        (copy / "searchless_rl" / path.relative_to(code.PACKAGE)).write_bytes(path.read_bytes())

    def fingerprint() -> str:
        program = "from searchless_rl.code import code_of; print(code_of('searchless_rl.selfplay.stage'))"
        command, environment = [sys.executable, "-c", program], {"PYTHONPATH": str(copy)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def edit(name: str) -> None:
        path = copy / "searchless_rl" / name
        path.write_text(path.read_text() + "\n# edited\n")

    before = fingerprint()
    assert before.strip() == code.code_of("searchless_rl.selfplay.stage")
    for name in ("figures/style.py", "statistics/bootstrap.py", "suites/winning.py", "params.py"):
        edit(name)
    assert fingerprint() == before
    edit("nets/encoder.py")
    assert fingerprint() != before


def test_the_plumbing_exists():
    for module in code.PLUMBING - {"searchless_rl"}:
        assert code.PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py").is_file()
