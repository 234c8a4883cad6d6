"""A frame as CSV, Markdown and LaTeX."""

import pandas as pd
import pytest

from searchless_rl.reports.formats import Source, csv_text, percent, signed, significant, write_table
from searchless_rl.reports.latex import to_latex
from searchless_rl.statistics.intervals import wilson

SOURCE = Source("maia-1900", "mini")


def _write(frame, stem, **keys):
    columns = {name: (lambda row, name=name: row[name]) for name in frame.columns}
    write_table(frame, stem, title="a title", note="A note.", columns=columns, source=SOURCE, **keys)


def test_percent():
    low, high = wilson(9385, 10000)
    assert percent(0.9385, low, high) == "93.85 ± 0.47"
    assert percent(float("nan"), 0.0, 1.0) == "–"


def test_signs():
    assert [signed(value, 1) for value in (1.25, -1.25, -0.01, 0.0)] == ["+1.2", "−1.2", "+0.0", "+0.0"]


def test_rounding_of_another_machine_does_not_change_a_csv():
    """Two last bits apart, and a zero that another order of summation leaves at 9e-18."""
    a = pd.DataFrame({"x": [0.1 + 0.2, 1 / 3, 0.0], "k": pd.array([1, None, 3], dtype="Int64")})
    b = pd.DataFrame({"x": [0.3, 0.333333333333333, 9.2e-18], "k": pd.array([1, None, 3], dtype="Int64")})
    assert csv_text(a) == csv_text(b) == "x,k\n0.3,1\n0.33333333,\n0,3\n"
    assert csv_text(pd.DataFrame({"name": ["0.10000000001", None], "flag": [True, False]})) == (
        "name,flag\n0.10000000001,True\n,False\n"
    )
    assert significant(123456789.123) == 123456790


def test_every_form_names_base_and_scale(tmp_path):
    _write(pd.DataFrame({"a": ["x"]}), tmp_path / "t", number=4)
    assert (
        (tmp_path / "t.md")
        .read_text()
        .startswith("# Table 4: a title\n\nBase network: maia-1900. Scale: mini.\n")
    )
    latex = (tmp_path / "t.tex").read_text()
    assert r"\renewcommand{\thetable}{4}" in latex
    assert r"\caption{A title. A note. Base network: maia-1900. Scale: mini.}" in latex
    assert "Table 4" not in latex  # LaTeX writes it


def test_a_bar_in_a_cell_does_not_end_it(tmp_path):
    _write(pd.DataFrame({"a": ["p|q"]}), tmp_path / "t")
    assert r"| p\|q |" in (tmp_path / "t.md").read_text()


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("50 % of x_1 & {y}", r"50 \% of x\_1 \& \{y\}"),
        ("~ 2^3 \\", r"\textasciitilde{} 2\textasciicircum{}3 \textbackslash{}"),
        ("<0.01", "$<$0.01"),
        ("**0.2** ▲ (0.5)", r"\textbf{0.2} $\uparrow$ (0.5)"),
        ("KL(π_base‖p), c_v, Δ −1", r"KL($\pi_{\mathrm{base}}$$\Vert$p), $c_v$, $\Delta$ $-$1"),
        ("basic_value", r"basic\_value"),
        ("`a.b_c`", r"\texttt{a.\allowbreak{}b\_\allowbreak{}c}"),
        ("in data/a_long_name.csv", r"in data/\allowbreak{}a\_\allowbreak{}long\_\allowbreak{}name.csv"),
        ("Ж", r"\texttt{U+0416}"),
    ],
)  # fmt: skip
def test_text_becomes_commands(text, latex):
    assert to_latex(text) == latex


def test_a_row_that_starts_with_a_bracket_is_no_option(tmp_path):
    _write(pd.DataFrame({"a": ["[1, 2]", "*"]}), tmp_path / "t")
    lines = (tmp_path / "t.tex").read_text().splitlines()
    assert "{}[1, 2] " + r"\\" in lines
    assert "{}* " + r"\\" in lines
