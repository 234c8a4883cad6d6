"""Table 1: puzzle accuracy and searchless playing strength of the selected models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from searchless_rl import layout
from searchless_rl.params import Params
from searchless_rl.reports.formats import INTERVALS, MISSING, Source, percent, write_table
from searchless_rl.reports.rows import PROPOSED, beta_name, frame_of, rates, sizes, tau_name, term_name
from searchless_rl.reports.strength import elo_text, record_text
from searchless_rl.results.document import Document
from searchless_rl.results.models import Measured
from searchless_rl.results.names import HARD, MAIN, identity
from searchless_rl.results.selection import select_cells
from searchless_rl.statistics.matches import format_los

_POOL = "control_pool"
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
        rows.append(identity(model.name) | rates(model, MAIN) | rates(model, HARD, "hard_") | strength)
    return frame_of(rows).astype(dict.fromkeys(("wins", "draws", "losses"), "Int64"))


def write_table1(frame: pd.DataFrame, stem: Path, params: Params, suites: Path) -> None:
    """Write `table1`'s frame as CSV, Markdown and LaTeX.

    Args:
        frame: of `table1`.
        stem: path without suffix.
        params: the anchor of the ladder, and the control's steps and batch.
        suites: folder of the stage `suites`, see `control_text`.
    """
    outside = params.arena.anchor
    anchor = None if outside is None else (outside.elo, outside.half_width)
    named = frame.rename(columns={"n": "main_n"})
    write_table(
        frame,
        stem,
        number=1,
        title="puzzle accuracy and searchless playing strength",
        note=f"Every arm at the beta selected in Table 6; {PROPOSED}. {INTERVALS} "
        f"Puzzles: {sizes(named, {MAIN: 'Acc', HARD: 'Acc ≥2400'})}. Elo: difference to the base in a closed "
        "round-robin of the most likely moves, BayesElo, with 95 % intervals. W–D–L: the games against the "
        "base; the CSV has the score with its interval over pairs of games that share an opening. LOS: "
        f"likelihood of superiority, from these games.{control_text(params, suites)}",
        source=Source.of(params),
        groups=dict.fromkeys(("W–D–L", "LOS"), "vs. base"),
        columns={
            "Exploration term": term_name,
            "Self-play τ": tau_name,
            "β": beta_name,
            "Acc (%)": lambda row: percent(row["accuracy"], row["low"], row["high"]),
            "Acc ≥2400 (%)": lambda row: percent(row["hard_accuracy"], row["hard_low"], row["hard_high"]),
            "Elo": lambda row: elo_text(row, anchor),
            "W–D–L": record_text,
            "LOS": lambda row: MISSING if pd.isna(row["los"]) else format_los(row["los"]),
        },
    )


def control_text(params: Params, suites: Path) -> str:
    """A sentence on what the control was trained on; empty where the stage `suites` does not say.

    Args:
        params: steps and batch, which are those of self-play.
        suites: folder of that stage; its report.json has under "control_pool" puzzles, positions (of the
            solver), mean_rating, and mate_share (mates in one to five, of the puzzles).

    Raises:
        MalformedFile: the report is damaged.
    """
    path = suites / layout.SUITES_REPORT
    document = Document(path) if path.exists() else None
    if document is None or _POOL not in document.keys():  # noqa: SIM118
        return ""
    pool = {key: value for key, value in document.mapping(_POOL).items() if not isinstance(value, dict)}
    if not pool.get("puzzles"):
        return ""
    epochs = params.selfplay.steps * params.selfplay.games / pool["positions"]
    return (
        f" The control was trained on {pool['puzzles']} other puzzles (mean rating "
        f"{pool['mean_rating']:.0f}, {100 * pool['mate_share']:.1f} % of them mates in one to five), "
        f"{pool['positions']} positions, "
        f"{epochs:.2g} times over."
    )
