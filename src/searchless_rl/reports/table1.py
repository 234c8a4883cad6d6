"""Table 1: puzzle accuracy and searchless playing strength of the selected models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from searchless_rl.params import Params
from searchless_rl.reports.formats import INTERVALS, MISSING, counts, percent, write_table
from searchless_rl.reports.strength import elo_text, record_text, score_text
from searchless_rl.reports.tables import beta_name, frame_of, rates, tau_name, term_name
from searchless_rl.results.models import Measured
from searchless_rl.results.names import identity
from searchless_rl.results.selection import select_cells
from searchless_rl.statistics.matches import format_los

_STRENGTH = (
    *("elo", "elo_low", "elo_high", "wins", "draws", "losses"),
    *("score", "score_low", "score_high", "los"),
)


def table1(models: Sequence[Measured], control: Measured, ladder: pd.DataFrame) -> pd.DataFrame:
    """The base, each arm's selected model and the puzzle-tuned control.

    Args:
        models: as `read_models` gives them.
        control: the puzzle-tuned network.
        ladder: of `strength.ladder` over the closed pool; players are named as models.

    Returns:
        Columns model, term, tau, beta, seed, then k, n, accuracy, low, high on the main suite and the same
        prefixed hard_, then elo (difference to the base), elo_low, elo_high, and the record against the base:
        wins, draws, losses, score, score_low, score_high, los.
    """
    rated = ladder.set_index("player")
    rows = []
    for model in [models[0], *select_cells(models), control]:
        known = model.name in rated.index
        strength = {key: rated.at[model.name, key] if known else None for key in _STRENGTH}
        rows.append(identity(model.name) | rates(model, "main") | rates(model, "hard", "hard_") | strength)
    return frame_of(rows).astype(dict.fromkeys(("wins", "draws", "losses"), "Int64"))


def write_table1(frame: pd.DataFrame, stem: Path, params: Params) -> None:
    """Write `table1`'s frame as CSV, Markdown and LaTeX."""
    outside = params.arena.anchor
    anchor = None if outside is None else (outside.elo, outside.half_width)
    write_table(
        frame,
        stem,
        title=f"Table 1 ({params.scale} scale): puzzle accuracy and playing strength",
        note=f"Every arm at the beta selected in Table 6. {INTERVALS} Elo: difference to the base in a "
        "closed round-robin of the most likely moves, BayesElo, with 95 % intervals. Score: points per game "
        "against the base, the interval over pairs of games that share an opening. LOS: likelihood of "
        "superiority, from these games.",
        columns={
            "Exploration term": term_name,
            "Self-play τ": tau_name,
            "β": beta_name,
            "Acc (%)": lambda row: percent(row["accuracy"], row["low"], row["high"]),
            "solved": lambda row: counts(row, ""),
            "Acc ≥2400 (%)": lambda row: percent(row["hard_accuracy"], row["hard_low"], row["hard_high"]),
            "solved ≥2400": lambda row: counts(row, "hard_"),
            "Elo": lambda row: elo_text(row, anchor),
            "W–D–L": record_text,
            "Score": score_text,
            "LOS": lambda row: MISSING if pd.isna(row["los"]) else format_los(row["los"]),
        },
    )
