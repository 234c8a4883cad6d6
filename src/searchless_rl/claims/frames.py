"""The report files that claims are judged by, and the paper's printed numbers in the same columns."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from searchless_rl.claims.expressions import Frames, Row
from searchless_rl.claims.paper_names import PAPER_SAMPLING, PAPER_TERMS
from searchless_rl.results.names import BASE, MATES
from searchless_rl.statistics.combination import NORMAL_95
from searchless_rl.statistics.intervals import wilson

REPORTS = (
    *("table1", "table3", "table4", "table5", "table6", "cells", "coverage", "paired", "recovery"),
    "strength",
)
"""Files of reports/SCALE that claims read."""
FIGURES = ("figure6",)
"""Files of paper_figures/SCALE that claims read."""

_MAIN, _HARD, _SELECTION, _GAMES = 100_000, 20_000, 10_000, 1000
"""Puzzles of the suites and games against the base (section 3.1, appendix F)."""
_SUITES = {"all_gm": "main", "ge2400_gm": "hard", **{f"mate{n}_gm": f"mate{n}" for n in MATES}}


def read_frames(reports: Path, figures: Path) -> Frames:
    """A run's report files by name; a file that is missing is left out.

    Args:
        reports: reports/SCALE.
        figures: paper_figures/SCALE.
    """
    places = dict.fromkeys(REPORTS, reports) | dict.fromkeys(FIGURES, figures)
    found = {
        name: pd.read_csv(folder / f"{name}.csv")
        for name, folder in places.items()
        if (folder / f"{name}.csv").exists()
    }
    if "recovery" in found:
        found["recovery"] = found["recovery"].assign(
            term=found["recovery"]["model"].astype(str).str.partition("-")[0]
        )
    return {name: rows_of(frame) for name, frame in found.items()}


def rows_of(frame: pd.DataFrame, *, is_file: bool = True) -> list[Row]:
    """The lines of a file from its frame (line 0 if it is none); empty fields are left out."""
    records = frame.to_dict("records")
    return [
        Row(
            place + 2 if is_file else 0,
            {str(key): value for key, value in record.items() if not pd.isna(value)},
        )
        for place, record in enumerate(records)
    ]


def paper_frames(folder: Path) -> Frames:
    """What the paper prints, as if a run had written it; what it does not print is missing.

    Half-widths become bounds. Scores get the normal interval of their games (the pairing by opening is not
    printed), shares of section 3.5 Wilson's of their counts. Table 4's ratio of the anchors is that of its
    geometric means, which on the same puzzles is the paired ratio. Cells are the selected ones of Table 1 on
    the main suite and all of Table 6 on the selection suite.

    Args:
        folder: data/paper.

    Raises:
        OSError: a file is missing.
    """
    table1, table6, elsewhere = _table1(folder), _table6(folder), pd.read_csv(folder / "elsewhere.csv")
    table4 = _table4(folder)
    found = {
        "table1": table1,
        "table3": _table3(folder),
        "table4": table4,
        "table5": _table5(folder),
        "table6": table6,
        "cells": _cells(table1, table6, elsewhere),
        "strength": _strength(table1, table6, elsewhere),
        "coverage": pd.read_csv(folder / "coverage.csv"),
        "recovery": _recovery(folder),
        "figure6": _figure6(table4, elsewhere),
    }
    return {name: rows_of(frame, is_file=False) for name, frame in found.items()}


def _read(folder: Path, name: str) -> pd.DataFrame:
    frame = pd.read_csv(folder / f"{name}.csv")
    return frame.assign(term=frame["term"].replace(PAPER_TERMS))


def _around(frame: pd.DataFrame, value: str, half_width: str, scale: float = 1) -> list[pd.Series]:
    """A column with its bounds, times `scale`."""
    middle, half = scale * frame[value], scale * frame[half_width]
    return [middle, middle - half, middle + half]


def _table1(folder: Path) -> pd.DataFrame:
    frame = _read(folder, "table1")
    chosen = _chosen_betas(folder)
    arms = zip(frame["term"], frame["tau"], strict=True)
    rows = frame[["term", "tau", "wins", "draws", "losses"]].assign(
        beta=[chosen.get(arm, math.nan) for arm in arms], n=_MAIN, hard_n=_HARD
    )
    rows["model"] = [
        term if pd.isna(tau) else f"{term}-{tau}" for term, tau in zip(rows["term"], rows["tau"], strict=True)
    ]
    rows["accuracy"], rows["low"], rows["high"] = _around(frame, "acc_pct", "acc_halfwidth", 0.01)
    columns = ("hard_accuracy", "hard_low", "hard_high")
    for column, values in zip(columns, _around(frame, "acc2400_pct", "acc2400_halfwidth", 0.01), strict=True):
        rows[column] = values
    rows["elo"], rows["elo_low"], rows["elo_high"] = _around(frame, "elo", "elo_halfwidth")
    rows.loc[rows["term"] == BASE, ["elo", "elo_low", "elo_high"]] = 0.0  # the others' are differences to it
    rows["score"] = (rows["wins"] + rows["draws"] / 2) / _GAMES
    variance = (rows["wins"] + rows["draws"] / 4) / _GAMES - rows["score"] ** 2
    half = NORMAL_95 * (variance / _GAMES) ** 0.5
    return rows.assign(score_low=rows["score"] - half, score_high=rows["score"] + half)


def _chosen_betas(folder: Path) -> dict[tuple[str, str], float]:
    frame = pd.read_csv(folder / "table6.csv")
    frame = frame[frame["selected"] == 1]
    chosen = {(row["term"], row["tau"]): float(row["beta"]) for _, row in frame.iterrows()}
    return chosen | {("none", tau): 0.0 for tau in ("adaptive", "fixed")}


def _table3(folder: Path) -> pd.DataFrame:
    frame = _read(folder, "table3")
    frame["accuracy"], frame["low"], frame["high"] = _around(frame, "acc_pct", "halfwidth", 0.01)
    rows = []
    for (term, tau), part in frame.groupby(["term", "tau"], sort=False, dropna=False):
        row: dict[str, object] = {"term": term, "tau": tau}
        for _, mate in part.iterrows():
            for name in ("accuracy", "low", "high", "n"):
                row[f"mate{mate['mate_in']}_{name}"] = mate[name]
        rows.append(row)
    return pd.DataFrame(rows)


def _table4(folder: Path) -> pd.DataFrame:
    frame = _read(folder, "table4").set_index("term")
    geometric = frame[list(_SUITES)].rename(columns=_SUITES)
    arithmetic = pd.DataFrame({"hard": frame["ge2400_am"]})
    gap = pd.DataFrame({"hard": frame["ge2400_am"] / frame["ge2400_gm"]})
    anchors = (geometric.loc[["forward_kl"]] / geometric.loc["reverse_kl"]).rename(index={"forward_kl": ""})
    parts = {
        **{"geometric": geometric, "arithmetic": arithmetic},
        **{"arithmetic / geometric": gap, "forward / reverse": anchors},
    }
    return pd.concat([part.assign(statistic=name) for name, part in parts.items()]).reset_index()


def _table5(folder: Path) -> pd.DataFrame:
    frame = _read(folder, "table5")
    frame["elo_halfwidth"] = frame["elo_halfwidth"].fillna(0)
    frame["elo"], frame["elo_low"], frame["elo_high"] = _around(frame, "elo", "elo_halfwidth")
    names = {"entropy_nats": "entropy", "kl_base_p": "kl_base_policy", "kl_p_base": "kl_policy_base"}
    return frame.assign(sampling=frame["sampling"].map(PAPER_SAMPLING)).rename(columns=names)


def _table6(folder: Path) -> pd.DataFrame:
    frame = pd.concat([_read(folder, "table6_reference"), _read(folder, "table6")], ignore_index=True)
    frame["accuracy"], frame["low"], frame["high"] = _around(frame, "acc_pct", "halfwidth", 0.01)
    frame.loc[frame["term"] == "none", "beta"] = 0.0
    return frame[["term", "tau", "beta", "accuracy", "low", "high"]].assign(n=_SELECTION)


def _cells(table1: pd.DataFrame, table6: pd.DataFrame, elsewhere: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of every cell, on the main suite where it is printed."""
    names = {name: f"main_{name}" for name in ("accuracy", "low", "high", "n")}
    main = table1[["term", "tau", "beta", *names]].rename(columns=names)
    errors = elsewhere[elsewhere["column"] == "main_error_pct"]
    for _, row in errors.iterrows():
        solved = round(_MAIN * (1 - row["value"] / 100))
        low, high = wilson(solved, _MAIN)
        more = {"main_accuracy": solved / _MAIN, "main_low": low, "main_high": high, "main_n": _MAIN}
        main.loc[len(main)] = {"term": row["term"], "tau": row["tau"], "beta": row["beta"]} | more
    names = {name: f"selection_{name}" for name in ("accuracy", "low", "high", "n")}
    cells = table6.rename(columns=names).merge(main, how="outer", on=["term", "tau", "beta"])
    return cells.assign(variant="full")


def _strength(table1: pd.DataFrame, table6: pd.DataFrame, elsewhere: pd.DataFrame) -> pd.DataFrame:
    """The selected cells' ratings and scores, and what the text adds."""
    names = ["elo", "elo_low", "elo_high", "score", "score_low", "score_high"]
    rows = table1[["term", "tau", "beta", *names]].dropna(subset="beta")
    extra = elsewhere[elsewhere["frame"] == "strength"]
    added = [
        {"term": term, "tau": tau, "beta": beta}
        | {("elo" if row["column"] == "elo" else "losses"): row["value"] for _, row in part.iterrows()}
        for (term, tau, beta), part in extra.groupby(["term", "tau", "beta"])
    ]
    more = pd.DataFrame(added)
    # How many of the rest were won is not printed: at most all of them.
    most = (_GAMES - more["losses"]) / _GAMES
    more = more.assign(score=most / 2, score_low=0.0, score_high=most).drop(columns="losses")
    more.loc[most.isna(), "score_low"] = math.nan
    return pd.concat([rows, more], ignore_index=True).assign(variant="full")


def _recovery(folder: Path) -> pd.DataFrame:
    """Section 3.5 as numbers, shares with the counts behind them."""
    frame = pd.read_csv(folder / "section35.csv", dtype=str)
    frame = frame.assign(term=frame["model"])
    frame["value"] = [_number(text) for text in frame["paper"]]
    base = frame[frame["term"] == BASE].set_index("statistic")["value"]
    counts = []
    for statistic in frame["statistic"]:
        group = statistic.removeprefix("recovered, ")
        count = base.get(f"wrong positions, {group}") if group != statistic else None
        if statistic == "given back, lead of ≥0.6":
            count = base["positions with a lead of ≥0.6"]
        elif statistic.startswith("share of wrong positions"):
            count = base["positions played wrong"]
        counts.append(math.nan if count is None else count)
    frame["n"] = counts
    bounds = [
        (math.nan, math.nan) if math.isnan(n) else wilson(round(value * n), round(n))
        for value, n in zip(frame["value"], frame["n"], strict=True)
    ]
    frame["low"], frame["high"] = zip(*bounds, strict=True)
    return frame


def _number(text: str) -> float:
    """``about 0.04`` -> 0.04, ``0.21 or 0.22`` -> 0.215, ``>200000`` -> 200000."""
    words = text.replace(">", " ").split()
    values = [float(word) for word in words if word.lstrip("-")[:1].isdigit()]
    return math.fsum(values) / len(values)


def _figure6(table4: pd.DataFrame, elsewhere: pd.DataFrame) -> pd.DataFrame:
    """Gains over the base in nats by mate depth, from Table 4; what the text says of rating bins."""
    means = table4[table4["statistic"] == "geometric"].set_index("term")
    rows = [
        {"panel": "mate depth", "term": term, "label": str(depth), "bin": depth}
        | {"gain": math.log(row[suite] / means.at[BASE, suite])}
        for term, row in means.iterrows()
        if term != BASE
        for depth, suite in MATES.items()
    ]
    said = elsewhere[elsewhere["frame"] == "figure6"]
    for _, row in said.iterrows():
        value = row["value"] / 100 if row["column"] == "gain_points" else row["value"]
        place = {"panel": row["panel"], "term": row["term"], "label": row["label"]}
        rows.append(place | {"bin": int(row["label"].lstrip("≥")), "gain": value})
    return pd.DataFrame(rows)
