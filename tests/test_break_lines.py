"""The list of broken lines fits the source, the tests and its page; the tool tells noticed from not."""

import ast
import subprocess
import sys

import pytest
from break_lines import (
    PAGE,
    SOURCE,
    TESTS,
    BrokenLine,
    EntryError,
    Outcome,
    complaint,
    page,
    read_entries,
    run_tests,
)

ENTRY = BrokenLine("a.py", "x = 1\ny = 2", "x = 3", "nothing", ("test_a.py::test_x",))


def test_every_line_occurs_once_and_breaks_into_python():
    for entry in read_entries():
        source = (SOURCE / entry.file).read_text()
        broken = entry.apply(source)
        ast.parse(broken)
        assert broken != source, entry.name
        assert entry.effect.endswith("."), entry.name


def test_every_test_exists(tmp_path):
    named = {test for entry in read_entries() for test in entry.tests}
    files = sorted({test.partition("::")[0] for test in named})
    found = run_tests(files, SOURCE.parent, tmp_path / "log", "--collect-only")
    assert not named - found.tests.keys(), found.log


def test_the_page_lists_exactly_the_entries():
    assert PAGE.read_text() == page(read_entries()), "run tests/break_lines.py, which writes it"


def test_a_line_is_replaced_in_its_place():
    source = "def f():\n    x = 1\n    y = 2\n    x = 12\n"
    assert ENTRY.apply(source) == "def f():\n    x = 3\n    x = 12\n"
    for wrong, times in ((source + source, 2), (source.replace("y = 2", "y = 3"), 0)):
        with pytest.raises(EntryError, match=rf"a.py: x = 1\n  occurs {times} times"):
            ENTRY.apply(wrong)


@pytest.mark.parametrize(
    ("status", "result", "words"),
    [
        (1, ("failed", "AssertionError"), ""),
        (1, ("failed", "KeyError"), ""),
        (0, ("passed", ""), "survives: test_a.py::test_x passed"),
        (0, ("skipped", "Skipped"), "survives: test_a.py::test_x skipped (Skipped)"),
        (1, ("error", "ValueError"), "survives: test_a.py::test_x error (ValueError)"),
        (1, ("failed", "NameError"), "fails with NameError"),
        (3, ("failed", "AssertionError"), "status 3"),
        (None, ("failed", "AssertionError"), "did not end"),
    ],
)
def test_only_a_failed_test_has_noticed(status, result, words):
    problem = complaint(ENTRY, Outcome(status, tests={ENTRY.tests[0]: result}))
    assert (words in problem) if words else (problem == "")
    if status is not None:
        other = complaint(ENTRY, Outcome(status, tests={"test_a.py::test_y": result}))
        assert other == "survives: test_a.py::test_x not collected"


def _tool(*arguments):
    command = [sys.executable, str(TESTS / "break_lines.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_three_broken_lines_are_noticed_and_a_harmless_one_survives(tmp_path):
    before = PAGE.read_bytes()
    done = _tool("--only", "warm_start.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("noticed   selfplay/warm_start.py") == 3
    assert "3 broken lines, all noticed" in done.stdout
    entry = next(entry for entry in read_entries() if entry.file == "selfplay/warm_start.py")
    harmless = tmp_path / "harmless.toml"
    harmless.write_text(
        f"[[broken]]\nfile = {entry.file!r}\nline = {entry.line!r}\nbecomes = {entry.line + '  # same'!r}\n"
        f"effect = 'None.'\ntests = {list(entry.tests)!r}\n"
    )
    done = _tool("--entries", str(harmless))
    assert done.returncode == 1
    assert "SURVIVES  selfplay/warm_start.py" in done.stdout
    assert f"survives: {entry.tests[0]} passed" in done.stdout
    assert PAGE.read_bytes() == before
