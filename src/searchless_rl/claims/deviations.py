"""Where the paper, its released code and this run differ: reports/SCALE/deviations.{csv,md,tex}.

Five groups: the method's keys, which a preset switches; differences of method that have no key; differences
of evaluation; faults of the released code that are described and not reproduced; and the settings in which a
scale is not the paper's. What a row says of this run is read from params.yaml or from a named constant; what
it says of the paper are the paper's own numbers, below, whatever the scale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from searchless_rl.cells import DECADES, TAUS, TERMS
from searchless_rl.claims.deviation_rows import (
    EVALUATION,
    FAULTS,
    METHOD,
    NOT_RELEASED,
    Difference,
)
from searchless_rl.files import write_atomically
from searchless_rl.params import Params
from searchless_rl.presets import METHOD_KEYS, TABLE_2_RATES
from searchless_rl.reports.formats import Source, write_table

COLUMNS = ("group", "item", "paper", "released_code", "here", "keys", "code", "note")
GROUPS = {
    "method key": "Keys of the method: `searchless preset paper` or `authors_code` sets them",
    "method": "Differences of method without a key",
    "evaluation": "Evaluation",
    "fault": "Faults of the released code, not reproduced",
    "scale": "Settings in which this scale is not the paper's",
}
MEASURED = ("control.epochs",)
"""Fields of `deviation_rows` that are measured, not set."""

PILOTED = ("mini", "mini-maia")
"""Scales whose settings of training were chosen in a pilot (reports/SCALE/sweep.csv has its rows)."""

_FIELD = re.compile(r"\{([a-z][A-Za-z0-9_.]+)\}")
_PILOT = (
    "†: chosen in a pilot on this base that had seen every arm. What this scale says of the paper's claims "
    "carries that caveat."
)


class Setting(NamedTuple):
    """A parameter that the paper states.

    Attributes:
        key: dotted key of params.yaml.
        item: what it is.
        paper: the paper's value.
        source: where the paper says so.
    """

    key: str
    item: str
    paper: Any
    source: str


_RATES = (
    ("backbone", "Learning rate of the backbone"),
    ("final_block", "Learning rate of the final block"),
    ("policy_head", "Learning rate of the policy head"),
    ("value_head", "Learning rate of the value head"),
)
SETTINGS = (
    Setting("base", "Base network", "bt4", "section 3.1: BT4-1024x15x32h-swa-6147500"),
    Setting("base_value", "Value head of the base, calibrated on its own games or not", "file", "appendix B"),
    Setting("selfplay.games", "Parallel games, the batch size", 1024, "Table 2"),
    Setting("selfplay.steps", "Optimizer steps", 2000, "Table 2"),
    Setting("selfplay.max_plies", "Longest game, plies", 512, "Table 2"),
    Setting("selfplay.warm_start_moves", "Warm start, most full moves", 60, "appendix D"),
    *(
        Setting(f"selfplay.learning_rates.{name}", item, getattr(TABLE_2_RATES, name), "Table 2")
        for name, item in _RATES
    ),
    Setting("selfplay.adam_beta1", "Adam's β1", 0.9, "Table 2"),
    Setting("selfplay.adam_beta2", "Adam's β2", 0.98, "Table 2"),
    Setting("selfplay.weight_decay", "Weight decay", 0.0, "Table 2"),
    Setting("selfplay.warmup_steps", "Linear warm-up, steps", 200, "Table 2"),
    Setting("selfplay.value_coefficient", "Value-loss coefficient c_v", 0.2, "Table 2"),
    Setting("selfplay.ema_decay", "EMA decay α", 0.995, "Table 2"),
    Setting("selfplay.importance_cap", "Cap of ρ", 1.0, "Table 2"),
    Setting("selfplay.precision", "Number format of training", "float32", "Table 2"),
    Setting("selfplay.root_randomization", "Root randomization", 0, "section 5: named as an extension"),
    Setting("selfplay.beta_final", "Share of β at the last step", 1.0, "section 5: named as an extension"),
    Setting("headline_beta", "Headline β", 0.01, "Table 2"),
    Setting("suites.selection", "Selection suite, puzzles", 10_000, "section 3.1"),
    Setting("suites.main", "Main suite, puzzles", 100_000, "section 3.1"),
    Setting("suites.hard", "Suite rated 2400 and above, puzzles", 20_000, "section 3.1"),
    Setting("coverage.plies", "Plies of a line in coverage", 4, "section 3.3"),
    Setting("arena.pool", "Pool of the argmax ladder", "swept", "appendix F"),
    Setting("arena.games", "Games per pair of the ladder", 200, "appendix F"),
    Setting("arena.games_against_base", "Games of a ladder player and the base", 1000, "appendix F"),
    Setting("arena.games_swept", "Games of a swept cell and the base", 1000, "appendix F"),
    Setting("arena.sampled_games", "Games per pair of sampled play", 200, "Table 5"),
    Setting("arena.max_plies", "Longest game of the arena, plies", 512, "appendix F"),
    Setting("arena.anchor.elo", "Elo of the base from outside", 2374.0, "Table 1"),
)
"""The paper's own numbers; nothing here depends on the scale."""
PAPER_CELLS = len(TERMS[1:]) * len(TAUS) * len(DECADES) + len(TAUS) + 4
"""Cells of the paper's study: terms x temperatures x decades, unregularized, half-decades (section 3.1)."""


def deviations(
    params: Params, *, precisions: Collection[str] = (), measured: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Every difference, with the value in use.

    Args:
        params: this scale's.
        precisions: number formats that the cells were trained in, which "auto" does not tell.
        measured: values of `MEASURED`; the text of a row does without those that are missing.

    Returns:
        Columns group (a key of `GROUPS`), item, paper, released_code, here, keys and code (what the row
        describes, separated by "; "), note.
    """
    rows = [_method_key(key, params) for key in METHOD_KEYS]
    for group, differences in (("method", METHOD), ("evaluation", EVALUATION), ("fault", FAULTS)):
        rows += [_difference(group, row, params, measured or {}) for row in differences]
    rows += [_setting(setting, params, precisions) for setting in SETTINGS if _differs(setting, params)]
    if len(params.grid.cells) != PAPER_CELLS:
        cells = (str(PAPER_CELLS), "one cell a run", str(len(params.grid.cells)), "grid.cells", "cells.Cell")
        rows.append(("scale", "Cells of the grid", *cells, "section 3.1"))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def control_epochs(path: Path) -> float | None:
    """Passes of the control over its pool, from its control.json; None where it was not trained."""
    return json.loads(path.read_text(encoding="utf-8"))["epochs"] if path.exists() else None


def read_key(params: Params, key: str) -> Any:
    """The value of a dotted key; None below a section that is null.

    Raises:
        AttributeError: no such key.
    """
    value: Any = params
    for part in key.split("."):
        if value is None:
            return None
        value = getattr(value, part)
    return value


def fields_of(row: Difference) -> list[str]:
    """Dotted names of the values that a row shows."""
    return list(dict.fromkeys(_FIELD.findall(row.here + row.empty)))


def _method_key(key: Any, params: Params) -> tuple[str, ...]:
    readings = (key.paper(TABLE_2_RATES), key.authors_code(TABLE_2_RATES), key.read(params.selfplay))
    note = f"{key.source}. Released code: {key.note}"
    name = f"selfplay.{key.key}"
    return ("method key", key.item, *map(_plain, readings), name, "presets.METHOD_KEYS", note)


def _difference(group: str, row: Difference, params: Params, measured: Mapping[str, Any]) -> tuple[str, ...]:
    def value(name: str) -> Any:
        if name in row.constants:
            return row.constants[name]
        return measured.get(name) if name in MEASURED else read_key(params, name)

    def text_of(name: str) -> str:
        found = value(name)
        if name in row.constants and isinstance(found, tuple):
            return " to ".join(map(_plain, found))  # a range
        return _plain(found)

    fields = _FIELD.findall(row.here)
    template = row.empty if any(value(name) is None for name in fields) else row.here
    text = _FIELD.sub(lambda found: text_of(found[1]), template)
    keys = "; ".join(name for name in fields_of(row) if name not in row.constants and name not in MEASURED)
    code = "; ".join(dict.fromkeys((*row.code, *row.constants)))
    return (group, row.item, row.paper, row.released, text, keys, code, row.note)


def _differs(setting: Setting, params: Params) -> bool:
    return bool(read_key(params, setting.key) != setting.paper)


def _setting(setting: Setting, params: Params, precisions: Collection[str]) -> tuple[str, ...]:
    here = _plain(read_key(params, setting.key))
    if setting.key == "selfplay.precision" and here == "auto" and precisions:
        here = f"auto: {', '.join(sorted(precisions))}"
    released = NOT_RELEASED
    if setting.key == "selfplay.learning_rates.value_head":
        released = f"{_plain(TABLE_2_RATES.backbone)} in effect"
    elif setting.key.startswith("selfplay.") or setting.key == "base":
        released = "as the paper"
    elif setting.key == "headline_beta":
        released = "an option"
    chosen = (
        params.scale in PILOTED and setting.key.startswith("selfplay.") and "precision" not in setting.key
    )
    note = f"{setting.source} †" if chosen else setting.source
    return ("scale", setting.item, _plain(setting.paper), released, here, setting.key, "params.Params", note)


def _plain(value: Any) -> str:
    """Numbers as short as they are exact, sequences in words, null as "none"."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, (tuple, list)):
        return " and ".join(map(_plain, value)) if len(value) == 2 else ", ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_plain(item)}" for name, item in value.items())
    return "none" if value is None else str(value)


def write_deviations(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `deviations`' frame as CSV and LaTeX, and as Markdown with a table for each group."""
    write_table(
        frame,
        stem,
        title="deviations",
        note=_PILOT,
        source=source,
        columns={
            "Item": lambda row: row["item"],
            "Paper": lambda row: row["paper"],
            "Released code": lambda row: row["released_code"],
            "Here": lambda row: row["here"],
            "Note": lambda row: row["note"],
        },
        widths={"Item": 0.17, "Paper": 0.2, "Released code": 0.2, "Here": 0.23, "Note": 0.2},
    )
    parts = [
        f"# Deviations\n\n{source}",
        "Where the paper, the trainer that its authors released, and this run differ. Written from "
        "`params.yaml`; the code behind each row is named in deviations.csv.",
    ]
    for group, heading in GROUPS.items():
        rows = frame[frame["group"] == group]
        if not rows.empty:
            parts += [f"## {heading}", _markdown(rows)]
            parts += [_PILOT] if rows["note"].str.endswith("†").any() else []
    write_atomically(stem.with_suffix(".md"), "\n\n".join(parts) + "\n")


def _markdown(rows: pd.DataFrame) -> str:
    lines = ["| Item | Paper | Released code | Here | Note |", "|---|---|---|---|---|"]
    for _, row in rows.iterrows():
        texts = (_item(row), row["paper"], row["released_code"], row["here"], row["note"])
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |")
    return "\n".join(lines)


def _item(row: pd.Series) -> str:
    keys = ", ".join(f"`{key}`" for key in row["keys"].split("; ") if key)
    return f"{row['item']}<br>{keys}" if keys else str(row["item"])
