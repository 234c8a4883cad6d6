"""README.md, docs/ and other pages: links lead somewhere, names exist, generated blocks are up to date."""

import json
import re
import subprocess
import sys
from pathlib import Path

import fill_blocks
import pytest
from named import named

from searchless_rl.params import load_params

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\((?!https?://|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([a-z_0-9]+(?:\.[A-Za-z_0-9]+)+)`")
ROOMS = {path.stem for path in (ROOT / "src" / "searchless_rl").iterdir()}


def _pages():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    pages = [ROOT / name for name in listed] or [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    return [page for page in pages if page.exists()]


@pytest.mark.parametrize("page", _pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_to_a_file(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def _symbols_table():
    section = (ROOT / "README.md").read_text().partition("## The method")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return {row.split(" | ")[0].removeprefix("| "): CODE.findall(row.split(" | ")[2]) for row in rows[1:]}


def test_every_symbol_of_the_paper_is_a_place_in_the_code():
    places = _symbols_table()
    assert len(places) >= 14
    for symbol, names in places.items():
        assert names, symbol
        for name in names:
            assert callable(named(name)), f"{symbol}: {name}"


def test_the_walks_name_functions_that_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    walks = text[text.index("## A walk of β") :]
    names = [name for name in CODE.findall(walks) if name.split(".")[0] in ROOMS]
    assert len(names) > 20
    for name in names:
        assert named(name) is not None, name
    assert named("board.GameBatch").planes


def test_generated_blocks_are_those_of_the_recorded_run():
    assert fill_blocks.main(["--check"]) == 0, "run tools/fill_blocks.py"
    readme = (ROOT / "README.md").read_text()
    assert readme.count("<!-- generated: ") == readme.count("<!-- end -->") == 4


def test_a_stale_block_is_noticed_and_filled(monkeypatch, tmp_path):
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- generated: scales -->\nold\n<!-- end -->\nafter\n")
    monkeypatch.setattr(fill_blocks, "documents", lambda: [page])
    assert fill_blocks.main(["--check"]) == 1
    assert "old" in page.read_text()
    assert fill_blocks.main([]) == 0
    text = page.read_text()
    assert text.startswith("before\n<!-- generated: scales -->\n")
    assert text.endswith("<!-- end -->\nafter\n")
    steps = load_params(ROOT / "scales" / "mini.yaml").selfplay.steps
    assert "old" not in text
    assert f"| {steps} |" in text
    assert fill_blocks.main(["--check"]) == 0


def test_a_block_that_nothing_fills_is_an_error():
    with pytest.raises(KeyError, match="nonsense"):
        fill_blocks.filled("<!-- generated: nonsense -->\n<!-- end -->")


def test_the_readme_quotes_what_was_measured():
    install = json.loads((ROOT / "docs" / "install.json").read_text())
    timings = json.loads((ROOT / "reports" / "mini" / "timings.json").read_text())
    readme = (ROOT / "README.md").read_text()
    assert f"{install['packages']} packages" in readme
    assert f"{timings['stages']['fan-out']['seconds'] / 60:.0f} min" in readme


def test_the_readme_is_short_and_defines_no_number_by_hand():
    text = (ROOT / "README.md").read_text()
    without = re.sub(r"<!-- generated: .*?<!-- end -->", "", text, flags=re.DOTALL)
    assert len(without.splitlines()) <= 150
    assert not re.search(r"\d+(\.\d+)? ?(GB|MiB|minutes|min|hours|packages|%(?! (Wilson|interval)))", without)


def test_tools_say_what_they_do():
    for name in ("fill_blocks", "record_outputs", "draw_architecture", "measure_install"):
        done = subprocess.run(
            [sys.executable, ROOT / "tools" / f"{name}.py", "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"tools/{name}.py" in done.stdout
