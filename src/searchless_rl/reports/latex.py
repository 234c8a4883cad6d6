"""Tables as LaTeX: what to put into a document that loads `PACKAGES`, and how text becomes commands.

The fragments compile in pdflatex as Debian's texlive has it: every letter outside ASCII is a command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby

import pandas as pd

PACKAGES = ("[T1]{fontenc}", "{amssymb}", "{booktabs}", "{array}", "{longtable}", "{adjustbox}")
"""Options and names of the packages that the tables need."""

_GREEK = {
    **{"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "θ": "theta"},
    **{"κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma"},
    **{"τ": "tau", "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega"},
    **{"Δ": "Delta", "Σ": "Sigma", "Φ": "Phi", "Ω": "Omega"},
}
_SYMBOLS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "≡": r"$\equiv$",
    "≈": r"$\approx$",
    "≠": r"$\neq$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "√": r"$\surd$",
    "‖": r"$\Vert$",
    "▲": r"$\uparrow$",
    "▼": r"$\downarrow$",
    "²": "$^2$",
    "⋆": r"$\star$",
    "…": r"\ldots{}",
    "“": "``",
    "”": "''",
    "’": "'",
    "\N{NO-BREAK SPACE}": "~",
    **{"₀₁₂₃₄₅₆₇₈₉"[digit]: f"$_{digit}$" for digit in range(10)},
    **{letter: f"$\\{name}$" for letter, name in _GREEK.items()},
}
_MARKUP = re.compile(r"\*\*(?P<bold>.+?)\*\*|`(?P<code>[^`]+)`|(?P<symbol>π_base|π_θ|\bc_v\b|β[12](?!\d))")
_WITH_INDEX = {
    "π_base": r"$\pi_{\mathrm{base}}$",
    "π_θ": r"$\pi_{\theta}$",
    "c_v": "$c_v$",
    "β1": r"$\beta_1$",
    "β2": r"$\beta_2$",
}
LONG = 15
"""Letters of a word that may be broken."""
_BREAKS = re.compile(r"(\\_|[./=:-])")


def to_latex(text: str) -> str:
    """Text with ``**bold**`` and `` `code` `` as LaTeX; an unknown letter becomes its code point."""
    parts, end = [], 0
    for found in _MARKUP.finditer(text):
        parts.append(_prose(text[end : found.start()]))
        end = found.end()
        if found["bold"]:
            parts.append(rf"\textbf{{{to_latex(found['bold'])}}}")
        elif found["code"]:
            # Names of keys are long: they may break where a reader would.
            code = _BREAKS.sub(r"\1\\allowbreak{}", _escape(found["code"]))
            parts.append(rf"\texttt{{{code}}}")
        else:
            parts.append(_WITH_INDEX[found["symbol"]])
    return "".join([*parts, _prose(text[end:])])


def _prose(text: str) -> str:
    """Text whose long words, such as paths, may break behind a slash or an underscore."""
    words = re.split(r"(\s+)", text)
    return "".join(
        r"\allowbreak{}".join(map(_escape, re.split(r"(?<=[/_])", word)))
        if len(word) >= LONG
        else _escape(word)
        for word in words
    )


def _escape(text: str) -> str:
    return "".join(_SYMBOLS.get(letter) or _plain(letter) for letter in text)


def _plain(letter: str) -> str:
    return letter if letter.isascii() else rf"\texttt{{U+{ord(letter):04X}}}"


def latex_table(
    shown: pd.DataFrame,
    caption: str,
    label: str,
    *,
    number: int | None,
    groups: Mapping[str, str],
    widths: Mapping[str, float] | None,
) -> str:
    r"""A table of text.

    Args:
        shown: the cells, as `to_latex` takes them.
        caption: without "Table N", which LaTeX writes.
        label: ``\ref{tab:LABEL}`` names it.
        number: of the paper's table; None counts it apart.
        groups: header -> heading above it, shared by neighbours.
        widths: header -> share of the line. Given: a longtable of paragraphs; None: a floating table, made
            smaller if it is wider than the line.
    """
    top = [_spanning(shown, groups)] if groups else []
    header = [*top, _row(rf"\textbf{{{to_latex(name)}}}" for name in shown.columns), r"\midrule"]
    body = [_row(map(to_latex, row)) for row in shown.itertuples(index=False)]
    named = rf"\caption{{{to_latex(caption)}}}\label{{tab:{label}}}"
    # The paper's numbers stay its own: other tables are counted apart, S1, S2, ...
    shown_number = r"S\arabic{table}" if number is None else str(number)
    numbered = [rf"\renewcommand{{\thetable}}{{{shown_number}}}"]
    after = [] if number is None else [r"\addtocounter{table}{-1}"]
    needs = "% needs " + " ".join(rf"\usepackage{package}" for package in PACKAGES)
    if widths is None:
        table = [
            r"\begin{table}",
            *numbered,
            *_floating(shown.shape[1], header, body, named),
            *after,
            r"\end{table}",
        ]
    else:
        table = [r"\begingroup", *numbered, *_long(header, body, named, widths), *after, r"\endgroup"]
    return "\n".join([needs, *table]) + "\n"


def _floating(columns: int, header: list[str], body: list[str], caption: str) -> list[str]:
    return [
        r"\centering\small",
        caption + r"\vspace{1ex}",
        r"\begin{adjustbox}{max width=\linewidth}",
        rf"\begin{{tabular}}{{{'l' * columns}}}",
        *(r"\toprule", *header, *body, r"\bottomrule"),
        r"\end{tabular}",
        r"\end{adjustbox}",
    ]


def _long(header: list[str], body: list[str], caption: str, widths: Mapping[str, float]) -> list[str]:
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{\dimexpr {share:g}\linewidth-2\tabcolsep\relax}}"
        for share in widths.values()
    )
    return [
        r"\footnotesize\setlength{\LTcapwidth}{\linewidth}\setlength{\tabcolsep}{3pt}",
        rf"\begin{{longtable}}{{{columns}}}",
        caption + r" \\",
        *(r"\toprule", *header, r"\endfirsthead"),
        *(r"\toprule", *header, r"\endhead"),
        *(r"\bottomrule", r"\endfoot"),
        *body,
        r"\end{longtable}",
    ]


def _spanning(shown: pd.DataFrame, groups: Mapping[str, str]) -> str:
    cells, rules, place = [], [], 1
    for heading, names in groupby(shown.columns, key=lambda name: groups.get(name, "")):
        count = len(list(names))
        if heading:
            cells.append(rf"\multicolumn{{{count}}}{{c}}{{{to_latex(heading)}}}")
            rules.append(rf"\cmidrule(lr){{{place}-{place + count - 1}}}")
        else:
            cells += [""] * count
        place += count
    return f"{_row(cells)} {' '.join(rules)}"


def _row(cells: Iterable[str]) -> str:
    row = " & ".join(cells)
    # After the \\ of the row before, a bracket or star would be its argument.
    return ("{}" if row[:1] in ("[", "*") else "") + row + r" \\"
