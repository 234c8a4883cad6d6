"""The LaTeX of a built report compiles as it stands and fits the page."""

import re
import shutil
import subprocess

import pytest
from made_results import (
    FIXED,
    FORWARD,
    PAPER,
    REVERSE,
    paper_selection,
    paper_tables,
    printed_selection,
    random_recovery,
    random_scores,
)

from searchless_rl.claims.deviations import deviations, write_deviations
from searchless_rl.claims.published import published, write_published
from searchless_rl.params import load_params
from searchless_rl.reports.formats import Source
from searchless_rl.reports.latex import PACKAGES
from searchless_rl.reports.listings import write_paired, write_recovery
from searchless_rl.reports.recovery import recovery_table
from searchless_rl.reports.stage import build_tables
from searchless_rl.reports.table4 import table4, write_table4
from searchless_rl.reports.table6 import table6, write_table6
from searchless_rl.statistics.paired import compare_models

MOST_OVERFULL = 5.0
"""Points that a line may stick out: less than a letter."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("pdflatex") is None,
        reason="needs pdflatex: texlive-latex-recommended, -latex-extra and -fonts-recommended",
    ),
]


@pytest.fixture
def root(pytestconfig):
    return pytestconfig.rootpath


@pytest.mark.parametrize("scale", ["mini", "mini-maia", "paper"])
def test_every_table_compiles_and_fits_where_nothing_is_measured(tmp_path, root, scale):
    shutil.copytree(root / "data" / "paper", tmp_path / "data" / "paper")
    params = load_params(root / "scales" / f"{scale}.yaml")
    build_tables(params, tmp_path / "data", tmp_path)
    write_deviations(deviations(params), tmp_path / "deviations", Source.of(params))
    assert len(_compile(tmp_path)) >= 11


def test_tables_with_the_papers_numbers_compile_and_fit(tmp_path, root):
    """As wide as they get: 33 accuracies with half-widths, every printed result, both anchors' recovery."""
    paper, source = root / "data" / "paper", Source("bt4", "paper")
    write_table6(table6(paper_selection(printed_selection(paper))), tmp_path / "table6", source)
    write_published(published(paper, paper_tables(paper)), tmp_path / "published", source, "bt4")
    write_recovery(recovery_table(random_recovery(), PAPER), tmp_path / "recovery", source)
    scores = random_scores(models=("base", REVERSE, FORWARD, FIXED))
    write_table4(table4(scores), tmp_path / "table4", source, 0.01)
    write_paired(compare_models(scores), tmp_path / "paired", source)
    _compile(tmp_path)


def _compile(folder):
    tables = sorted(path.name for path in folder.glob("*.tex"))
    lines = [r"\documentclass[10pt,a4paper]{article}", r"\usepackage[margin=25mm]{geometry}"]
    lines += [rf"\usepackage{package}" for package in PACKAGES]
    lines += [r"\begin{document}", *(rf"\input{{{name}}}\clearpage" for name in tables), r"\end{document}"]
    (folder / "all.tex").write_text("\n".join(lines))
    for _ in range(2):  # longtable needs the widths of the first run
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
            cwd=folder,
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout[-2000:].decode(errors="replace")
    log = (folder / "all.log").read_text(errors="replace")
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert max(too_wide, default=0) < MOST_OVERFULL
    assert "Float too large" not in log
    return tables
