"""The paper's printed results beside this run's: an appendix of Tables 1, 3, 4, 5 and 6.

The paper's base is another network, so that levels cannot agree; what can is the effect, each model against
its own base.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.cells import format_beta
from searchless_rl.claims.paper_names import PAPER_SAMPLING, PAPER_TERMS
from searchless_rl.reports.formats import MISSING, Source, signed, write_table
from searchless_rl.reports.rows import term_name
from searchless_rl.results.names import BASE, HARD, MAIN, MATES, TAU_NAMES

COLUMNS = (
    *("table", "quantity", "unit", "term", "tau", "beta", "paper", "paper_half_width"),
    *("ours", "low", "high", "difference", "paper_effect", "our_effect", "effect_difference", "overlap"),
)
_MEANS = {"gm": "geometric", "am": "arithmetic"}
_SUITES = {"all": MAIN, "ge2400": HARD, **{suite: suite for suite in MATES.values()}}
_SHAPE = {
    "entropy_nats": ("H(p)", "nats", "entropy"),
    "kl_base_p": ("KL(π_base‖p)", "nats", "kl_base_policy"),
    "kl_p_base": ("KL(p‖π_base)", "nats", "kl_policy_base"),
    "cov5": ("cov₅", "fraction", "cov5"),
}


@dataclass(frozen=True)
class _Value:
    """A measured number with its 95 % interval, where it has one."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class _Entry:
    """A printed number and ours.

    Attributes:
        table: number of the paper's table.
        quantity: what was measured; with the table it is the column of the paper.
        unit: of all numbers of the row.
        row: term, tau (in Table 5 the sampling) and beta (Table 6 only) as ours are named.
        paper: as printed.
        half_width: as printed; empty where the paper prints none.
        ours: this run's.
    """

    table: int
    quantity: str
    unit: str
    row: tuple[str, str | None, float | None]
    paper: str
    half_width: str
    ours: _Value


def published(folder: Path, tables: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """Every result that the paper prints in these tables, with this run's.

    Args:
        folder: the paper's tables (data/paper).
        tables: number -> frame of `table1`, `table3`, `table4`, `table5` and `table6`, see `read_tables`.

    Returns:
        A row per printed number: table, quantity, unit, term, tau (in Table 5 the sampling), beta (Table 6),
        paper and paper_half_width (text, as printed), ours, low, high (95 %, empty where there is none),
        difference (ours less the paper's), paper_effect and our_effect (less the respective base's),
        effect_difference, overlap (whether the intervals do; where the paper prints none, whether ours holds
        its value; empty without an interval of ours). Effects of the base itself are empty.

    Raises:
        OSError: a table of the paper is missing.
    """
    readers = {1: _table1, 3: _table3, 4: _table4, 5: _table5, 6: _table6}
    entries = [entry for number, read in readers.items() for entry in read(folder, tables[number])]
    bases = {(entry.table, entry.quantity): entry for entry in entries if _is_base(entry)}
    # The Elo of Table 1 is a difference to the base already.
    bases[1, "Elo"] = _Entry(1, "Elo", "", (BASE, None, None), "0", "", _Value(0))
    rows = [_row(entry, bases.get((entry.table, entry.quantity))) for entry in entries]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def read_tables(reports: Path) -> dict[int, pd.DataFrame]:
    """The written tables that the paper prints numbers in, by their number.

    Raises:
        OSError: a table is missing; the stage `tables` writes them all.
    """
    return {number: pd.read_csv(reports / f"table{number}.csv") for number in (1, 3, 4, 5, 6)}


def _is_base(entry: _Entry) -> bool:
    return entry.row[0] == BASE and (entry.table != 5 or entry.row[1] == "raw")


def _row(entry: _Entry, base: _Entry | None) -> dict[str, Any]:
    ours, printed = entry.ours, _printed(entry.paper)
    term, tau, beta = entry.row
    row: dict[str, Any] = {
        **{"table": entry.table, "quantity": entry.quantity, "unit": entry.unit},
        **{"term": term, "tau": tau, "beta": beta},
        **{"paper": entry.paper, "paper_half_width": entry.half_width},
        **{"ours": ours.value, "low": ours.low, "high": ours.high},
        "difference": _less(ours.value, printed),
        "overlap": _overlap(entry),
    }
    if base is not None and base is not entry:
        paper, mine = _less(printed, _printed(base.paper)), _less(ours.value, base.ours.value)
        row |= {"paper_effect": paper, "our_effect": mine, "effect_difference": _less(mine, paper)}
    return row


def _printed(text: str) -> float | None:
    """The number; none where only a bound is printed (>0.99)."""
    return None if text[:1] in ("<", ">") else float(text)


def _less(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else a - b


def _overlap(entry: _Entry) -> bool | None:
    ours, paper = entry.ours, _printed(entry.paper)
    if ours.low is None or ours.high is None or paper is None:
        return None
    half = float(entry.half_width or 0)
    return paper - half <= ours.high and ours.low <= paper + half


def _read(folder: Path, name: str) -> list[dict[str, str]]:
    """Rows of one of the paper's files, numbers as printed, its terms under our names."""
    frame = pd.read_csv(folder / f"{name}.csv", dtype=str, keep_default_na=False)
    rows = [{str(key): str(value) for key, value in row.items()} for row in frame.to_dict("records")]
    return [row | {"term": PAPER_TERMS.get(row["term"], row["term"])} for row in rows]


def _first(frame: pd.DataFrame, **where: Any) -> pd.Series | None:
    """The first row with these values (empty text stands for a missing one), None where there is none."""
    found = frame
    for name, value in where.items():
        found = found[found[name].isna() if value in ("", None) else found[name] == value]
    return None if found.empty else found.iloc[0]


def _value(row: pd.Series | None, key: str, scale: float = 1, *, low: str = "", high: str = "") -> _Value:
    """A figure of a row with its bounds, times `scale`; empty where it was not measured."""
    if row is None or pd.isna(row[key]):
        return _Value()
    bounds = (None if not name or pd.isna(row[name]) else scale * float(row[name]) for name in (low, high))
    return _Value(scale * float(row[key]), *bounds)


def _rate(row: pd.Series | None, prefix: str = "") -> _Value:
    return _value(row, f"{prefix}accuracy", 100, low=f"{prefix}low", high=f"{prefix}high")


def _table1(folder: Path, frame: pd.DataFrame) -> Iterator[_Entry]:
    for printed in _read(folder, "table1"):
        ours = _first(frame, term=printed["term"], tau=printed["tau"])
        row = (printed["term"], printed["tau"] or None, None)
        accuracies = (("Acc", "acc", ""), ("Acc ≥2400", "acc2400", "hard_"))
        for quantity, key, prefix in accuracies:
            rate = _rate(ours, prefix)
            yield _Entry(1, quantity, "%", row, printed[f"{key}_pct"], printed[f"{key}_halfwidth"], rate)
        if printed["term"] == BASE:
            continue  # its Elo is an anchor from outside
        elo = _value(ours, "elo", low="elo_low", high="elo_high")
        yield _Entry(1, "Elo", "over the base", row, printed["elo"], printed["elo_halfwidth"], elo)
        met = None if ours is None or pd.isna(ours["wins"]) else ours[["wins", "draws", "losses"]].sum()
        asked = sum(int(printed[name]) for name in ("wins", "draws", "losses"))
        for name in ("wins", "draws", "losses"):
            share = _value(ours, name, asked / met) if met else _Value()
            yield _Entry(1, name, f"games of {asked:,}", row, printed[name], "", share)
        yield _Entry(1, "LOS", "probability", row, printed["los"], "", _value(ours, "los"))


def _table3(folder: Path, frame: pd.DataFrame) -> Iterator[_Entry]:
    for printed in _read(folder, "table3"):
        ours = _first(frame, term=printed["term"], tau=printed["tau"])
        rate = _rate(ours, f"{MATES[int(printed['mate_in'])]}_")
        quantity, row = f"mate in {printed['mate_in']}", (printed["term"], printed["tau"] or None, None)
        yield _Entry(3, quantity, "%", row, printed["acc_pct"], printed["halfwidth"], rate)


def _table4(folder: Path, frame: pd.DataFrame) -> Iterator[_Entry]:
    for printed in _read(folder, "table4"):
        tau = None if printed["term"] == BASE else "adaptive"
        for column, text in printed.items():
            if column == "term":
                continue
            name, _, mean = column.rpartition("_")
            ours = _first(frame, term=printed["term"], statistic=_MEANS[mean])
            suite = _SUITES[name]
            value = _value(ours, suite, low=f"{suite}_low", high=f"{suite}_high")
            quantity = f"{_MEANS[mean]} mean, {suite}"
            yield _Entry(4, quantity, "probability", (printed["term"], tau, None), text, "", value)


def _table5(folder: Path, frame: pd.DataFrame) -> Iterator[_Entry]:
    for printed in _read(folder, "table5"):
        sampling = PAPER_SAMPLING[printed["sampling"]]
        ours, row = _first(frame, term=printed["term"], sampling=sampling), (printed["term"], sampling, None)
        elo = _value(ours, "elo", low="elo_low", high="elo_high")
        yield _Entry(5, "Elo", "over the raw base", row, printed["elo"], printed["elo_halfwidth"], elo)
        for column, (quantity, unit, key) in _SHAPE.items():
            yield _Entry(5, quantity, unit, row, printed[column], "", _value(ours, key))


def _table6(folder: Path, frame: pd.DataFrame) -> Iterator[_Entry]:
    for name in ("table6_reference", "table6"):
        for printed in _read(folder, name):
            beta = float(printed["beta"]) if "beta" in printed else None
            where = {"term": printed["term"], "tau": printed["tau"]}
            ours = _first(frame, **where, **({} if beta is None else {"beta": beta}))
            row = (printed["term"], printed["tau"] or None, beta)
            yield _Entry(6, "Acc", "%", row, printed["acc_pct"], printed["halfwidth"], _rate(ours))


def write_published(frame: pd.DataFrame, stem: Path, source: Source, paper_base: str) -> None:
    """Write `published`'s frame as CSV, Markdown and LaTeX.

    Args:
        frame: of `published`.
        stem: path without suffix.
        source: this run's base and scale.
        paper_base: name of the paper's base network.
    """
    same = source.base == paper_base
    warning = "" if same else f"The paper's base is {paper_base}, this run's {source.base}: compare effects. "
    write_table(
        frame,
        stem,
        title="the paper's results beside this run's",
        note=f"{warning}Effect: a model less its own base. Overlap: whether the 95 % intervals do; where the "
        "paper prints none, whether ours holds its value. Wins, draws and losses are scaled to the paper's "
        f"number of games. {MISSING}: not printed, not measured, or without an interval. In Table 1 each "
        "study has its own selected betas.",
        source=source,
        columns={
            "Table": lambda row: row["table"],
            "Model": _model,
            "Quantity": lambda row: f"{row['quantity']} ({row['unit']})",
            "Paper": lambda row: _with_half_width(row["paper"], row["paper_half_width"]),
            "Here": _ours,
            "Difference": lambda row: _difference(row, "difference"),
            "Effect, paper": lambda row: _difference(row, "paper_effect"),
            "Effect, here": lambda row: _difference(row, "our_effect"),
            "Overlap": lambda row: {True: "yes", False: "no"}.get(row["overlap"], MISSING),
        },
        widths={
            **{"Table": 0.06, "Model": 0.19, "Quantity": 0.15, "Paper": 0.12, "Here": 0.13},
            **{"Difference": 0.11, "Effect, paper": 0.08, "Effect, here": 0.08, "Overlap": 0.08},
        },
    )


def _model(row: pd.Series) -> str:
    parts = [term_name(row)]
    if not pd.isna(row["tau"]):
        parts.append(TAU_NAMES.get(row["tau"], row["tau"]))
    if not pd.isna(row["beta"]):
        parts.append(f"β = {format_beta(row['beta'])}")
    return ", ".join(parts)


def _digits(row: pd.Series) -> int:
    """Decimals of the printed number."""
    return len(row["paper"].partition(".")[2])


def _with_half_width(value: str, half_width: str) -> str:
    return (f"{value} ± {half_width}" if half_width else value).replace("-", "−")


def _ours(row: pd.Series) -> str:
    if pd.isna(row["ours"]):
        return MISSING
    digits = _digits(row)
    half = "" if pd.isna(row["low"]) else f"{(row['high'] - row['low']) / 2:.{digits}f}"
    return _with_half_width(signed(row["ours"], digits).removeprefix("+"), half)


def _difference(row: pd.Series, key: str) -> str:
    return MISSING if pd.isna(row[key]) else signed(row[key], _digits(row))
