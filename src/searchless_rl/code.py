"""Which source files a piece of the package runs: its import closure, read from the source.

Both notions of "the code changed" come from here: the dependencies of the stages in dvc.yaml
(`tools/write_dependencies.py` writes them, a test holds them) and the fingerprint by which an interrupted
run decides whether it may be continued.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent

PLUMBING = frozenset(
    f"{PACKAGE.name}.{name}"
    for name in (
        "cells",
        "checkout",
        "code",
        "files",
        "interruption",
        "layout",
        "params",
        "plain_yaml",
        "progress",
        "text",
        "unfinished",
    )
) | {PACKAGE.name}
"""Modules that carry values from one place to another and decide no result.

What they read (parameters, cells) is among a stage's parameters or inputs, so that an edit to them reruns
nothing. The package's own face is among them: it holds the version.
"""


def imports_of(module: str, function: str | None = None, package: Path = PACKAGE) -> frozenset[str]:
    """The modules of the package that a module imports anywhere, also inside functions.

    Importing ``a.b.c`` runs ``a``, ``a.b`` and ``a.b.c``. What is imported for types only, under
    ``if TYPE_CHECKING``, does not count.

    Args:
        module: dotted name, e.g. "searchless_rl.selfplay.stage".
        function: only what this function of the module imports in its body, and the module's own functions
            that it calls.
        package: the folder of the package.

    Raises:
        ValueError: no such module or function, or a relative import.
    """
    tree = _parsed(_file_of(module, package))
    nodes = list(tree.body) if function is None else _bodies(tree, module, function)
    names = (name for node in nodes for name in _imported(node, module))
    return frozenset(
        known
        for name in names
        for known in _parents(name)
        if known.split(".")[0] == package.name and _exists(known, package)
    )


def closure(*modules: str, package: Path = PACKAGE) -> tuple[str, ...]:
    """The modules of the package that importing `modules` can run, these among them, sorted.

    Raises:
        ValueError: see `imports_of`.
    """
    found: set[str] = set()
    waiting = [known for module in modules for known in _parents(module)]
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += imports_of(module, package=package)
    return tuple(sorted(found))


def source_files(*modules: str, package: Path = PACKAGE) -> tuple[Path, ...]:
    """The files behind `closure` that can change a result, sorted.

    `PLUMBING` is left out, and so are modules that hold a docstring and nothing else.

    Raises:
        ValueError: see `imports_of`.
    """
    files = (
        _file_of(module, package) for module in closure(*modules, package=package) if module not in PLUMBING
    )
    return tuple(sorted(path for path in files if has_code(path)))


def has_code(path: Path) -> bool:
    """Whether a source file holds more than a docstring."""
    body = _parsed(path).body
    return not all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body)


def code_of(*modules: str) -> str:
    """Hexadecimal SHA-256 of the names and contents of `source_files`.

    Raises:
        ValueError: see `imports_of`.
    """
    digest = hashlib.sha256()
    for path in source_files(*modules):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(PACKAGE).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def _parents(module: str) -> list[str]:
    """``a.b.c`` as a, a.b, a.b.c."""
    parts = module.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def _candidates(module: str, package: Path) -> tuple[Path, Path]:
    path = package.parent.joinpath(*module.split("."))
    return path.with_suffix(".py"), path / "__init__.py"


def _exists(module: str, package: Path) -> bool:
    return any(path.is_file() for path in _candidates(module, package))


def _file_of(module: str, package: Path) -> Path:
    for path in _candidates(module, package):
        if path.is_file():
            return path
    raise ValueError(f"module {module!r} is not in {package}")


def _parsed(path: Path) -> ast.Module:
    return _parse(path.read_text(encoding="utf-8"))


@lru_cache(maxsize=1024)
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def _bodies(tree: ast.Module, module: str, function: str) -> list[ast.stmt]:
    """A function of a module and those of the module that it calls, directly or through others."""
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if function not in functions:
        raise ValueError(f"module {module!r} has no function {function!r}")
    reached, waiting = dict[str, ast.stmt](), [function]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = functions[name]
            calls = (node.func for node in ast.walk(functions[name]) if isinstance(node, ast.Call))
            waiting += [call.id for call in calls if isinstance(call, ast.Name) and call.id in functions]
    return list(reached.values())


def _for_types_only(node: ast.AST) -> bool:
    if not isinstance(node, ast.If):
        return False
    test = node.test
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _imported(node: ast.AST, module: str) -> Iterator[str]:
    """Dotted names that a piece of source imports; of ``from a import b`` both a and a.b."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        if node.level or node.module is None:
            raise ValueError(
                f"module {module!r}, line {node.lineno}: write the import from the package's root"
            )
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    else:
        children: Iterable[ast.AST] = ast.iter_child_nodes(node)
        if _for_types_only(node):
            assert isinstance(node, ast.If)
            children = node.orelse
        for child in children:
            yield from _imported(child, module)
