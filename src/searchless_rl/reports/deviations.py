"""Where the paper, its released code and this run differ: reports/SCALE/deviations.md.

Three kinds of rows: the method's keys, whose third column is read from params.yaml; differences that are not
switches, with the released trainer's faults that are described and not reproduced; and this scale's settings
where they are not Table 2's.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from searchless_rl.params import Params
from searchless_rl.presets import METHOD_KEYS
from searchless_rl.reports.tables import table2

COLUMNS = ("kind", "item", "paper", "released_code", "ours", "note")
_UNSAID = "not said"
_PILOT = "chosen in a pilot on this base that had seen every arm; claims at this scale carry the caveat"
_NOT_FROM_THE_PILOT = ("Evaluated weights", "Base network")

# item, paper, released code, ours, note
_FIXED = (
    (
        "Sampling temperature by default",
        "adaptive is the headline method",
        "τ ≡ 1 unless an option is given",
        "part of a cell's name",
        "",
    ),
    (
        "Weight of the value loss per position",
        _UNSAID,
        "ρ",
        "ρ",
        "same gradient as the released KL to the target",
    ),
    (
        "Small probabilities",
        _UNSAID,
        "win/draw/loss clamped at 1e-8, illegal moves at -1e9",
        "log space, legal moves only",
        "",
    ),
    (
        "Temperature towards zero",
        "τ in [0, ln 3]",
        "divides by max(τ, 1e-8)",
        "the argmax, logits shifted first",
        "",
    ),
    (
        "Start of the games",
        "Uniform{0..60} full moves of the base, then the standard position",
        "the same, by the online network",
        "the same, by the base",
        "online and base are equal then",
    ),
    (
        "Side to move at step 1",
        "follows from full moves",
        "White in nearly every game",
        "White in nearly every game",
        "kept as the paper has it",
    ),
    (
        "Draws",
        "standard termination",
        "threefold and fifty moves at once",
        "threefold, fifty moves and dead material at once; mate goes first",
        "",
    ),
    (
        "Value head",
        "Lc0's own",
        "Lc0's own trains, beside an unused random one",
        "Lc0's own",
        "the unused head is described, not reproduced",
    ),
    (
        "Smolgen's shared matrix",
        "shared by all encoders",
        "one trained copy per encoder",
        "one parameter, in the backbone group",
        "fault: such a network cannot be written back to Lc0's format",
    ),
    (
        "Structural constants (LayerNorm ε, residual α, 1/sqrt(d))",
        "constants",
        "trained",
        "constants",
        "fault, not reproduced",
    ),
    (
        "Last micro-batch of a step",
        "a mean over the batch",
        "weighs more per position if it is short",
        "1/N per position",
        "fault, not reproduced; equal where the sizes divide",
    ),
    (
        "Moves-left head",
        _UNSAID,
        "no gradient",
        "not in the optimizer, kept as in the base",
        "",
    ),
    (
        "Policy that is exported",
        "the trained one",
        "graph keeps the base's; the trained head is a separate copy",
        "the trained one, in the vanilla head of an Lc0 file",
        "",
    ),
    (
        "Input history of a FEN with an en-passant square",
        _UNSAID,
        "repeats the position",
        "undoes the double push, as lc0 does",
        "touches evaluation only",
    ),
    (
        "Random numbers",
        "one run per cell",
        "one global generator",
        "addressed by seed, step and game",
        "a game does not depend on how many run beside it",
    ),
    (
        "Interruption",
        _UNSAID,
        "weights are saved; no games, no resume",
        "resumes bit-identically",
        "",
    ),
    (
        "Evaluation, matches, tables, figures",
        "described",
        "not released",
        "this project",
        "",
    ),
)  # fmt: skip


def deviations(params: Params) -> pd.DataFrame:
    """Every difference, with the value in use.

    Columns: kind ("method key", "difference", "scale"), item, paper, released_code, ours, note.
    """
    rows: list[tuple[Any, ...]] = []
    for key in METHOD_KEYS:
        paper, released = key.paper(params.selfplay), key.authors_code(params.selfplay)
        note = f"`selfplay.{key.key}`; {key.source}. Released code: {key.note}"
        values = (_plain(paper), _plain(released), _plain(key.read(params.selfplay)))
        rows.append(("method key", key.item, *values, note))
    rows += [("difference", *row) for row in _FIXED]
    settings = table2(params)
    for _, row in settings[~settings["same"]].iterrows():
        note = _PILOT if params.scale == "mini" and row["item"] not in _NOT_FROM_THE_PILOT else ""
        rows.append(("scale", row["item"], row["paper"], "as the paper", row["ours"], note))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
