"""Table 5: sampled play, its ladder and the shape of the policies played (paper section 3.4)."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pandas as pd

from searchless_rl.reports.formats import MISSING, Source, signed, write_table
from searchless_rl.reports.strength import ladder
from searchless_rl.results.names import ARMS, SHAPES, TERM_NAMES

REFERENCE = "base-raw"
TEN = ("base-raw", "base-mu", *ARMS)
"""The paper's ten configurations, of which every two meet: the closed pool."""
CLOSED, APART = "closed", "apart"
_SHAPE = ("positions", "entropy", "kl_base_policy", "kl_policy_base", "cov5", "floored")


def table5(games: pd.DataFrame | None, shapes: pd.DataFrame | None) -> pd.DataFrame:
    """The paper's ten players in its order, then the base at fixed temperatures, which is rated apart.

    A rating in a closed pool depends on who is in the pool, so the ten are rated from the games between them
    alone (paper Table 5: 45 pairs). The others met the ten and not each other; their ratings are of a second
    fit, over all games, whose ratings of the ten are not shown.

    Args:
        games: of the arena; None where it was not played.
        shapes: what the arena measured of the policies; None where it is missing.

    Returns:
        Columns player, pool ("closed", or "apart"), term, sampling ("raw", "μ", or the temperature), elo,
        elo_low, elo_high (differences to the raw base), games (that the rating rests on), positions, entropy
        (nats), kl_base_policy, kl_policy_base (nats), cov5 (mass on the base's five best moves), floored (the
        base's mass on moves of probability below 1e-8, at which kl_base_policy is cut).
    """
    closed = ladder(_between(games, TEN), REFERENCE).set_index("player")
    everybody = ladder(games, REFERENCE).set_index("player")
    measured = pd.DataFrame(columns=["player", *_SHAPE]) if shapes is None else shapes
    measured = measured.set_index("player")
    pools = dict.fromkeys(TEN, CLOSED) | dict.fromkeys(sorted(set(everybody.index) - set(TEN)), APART)
    rows: list[dict[str, Any]] = []
    for player, pool in pools.items():
        term, sampling = _identity(player)
        row: dict[str, Any] = {"player": player, "pool": pool, "term": term, "sampling": sampling}
        rated = closed if pool == CLOSED else everybody
        for frame, keys in ((rated, ("elo", "elo_low", "elo_high", "games")), (measured, _SHAPE)):
            row |= {key: frame.at[player, key] if player in frame.index else None for key in keys}
        rows.append(row)
    return pd.DataFrame(rows).astype({"games": "Int64", "positions": "Int64"})


def _between(games: pd.DataFrame | None, players: Collection[str]) -> pd.DataFrame | None:
    """The games that these players played among themselves; None where there is none."""
    if games is None:
        return None
    inside = games[games["white"].isin(players) & games["black"].isin(players)]
    return inside if len(inside) else None


def _identity(player: str) -> tuple[str, str]:
    name, _, kind = player.rpartition("-")
    if name == "base":
        return "base", {"raw": "raw", "mu": "μ"}.get(kind, f"τ = {kind}")
    return name, "μ" if kind == "adaptive" else "raw"


def read_shapes(folder: Path) -> pd.DataFrame | None:
    """What the stage `arena sampled` measured of the policies; None where it is missing."""
    path = folder / SHAPES
    return pd.read_csv(path) if path.exists() else None


def write_table5(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `table5`'s frame as CSV, Markdown and LaTeX."""
    write_table(
        frame,
        stem,
        number=5,
        title="sampled play and policy shape",
        source=source,
        note="Every player samples: μ through the policy tempered by its own win/draw/loss entropy, raw at "
        "temperature one; arms at the headline beta. BayesElo differences to the raw base with 95 % "
        "intervals. The other columns are means over positions that the player reached: entropy and both "
        "divergences in nats, cov₅ the mass on the base's five best moves. The base at fixed temperatures is "
        "this study's control, what sharpening alone does: rated apart, by a second fit over all games. It "
        "played the ten, never itself, and has no part in their ratings. Openings as in Table 1.",
        columns={
            "Configuration": _configuration,
            "Samp.": lambda row: row["sampling"],
            "Elo": _elo,
            "H(p)": lambda row: _number(row["entropy"]),
            "KL(π_base‖p)": lambda row: _number(row["kl_base_policy"]),
            "KL(p‖π_base)": lambda row: _number(row["kl_policy_base"]),
            "cov₅": lambda row: _number(row["cov5"]),
        },
    )


def _elo(row: pd.Series) -> str:
    """``361 ± 29``; of the raw base 0."""
    if pd.isna(row["elo"]):
        return MISSING
    half = (row["elo_high"] - row["elo_low"]) / 2
    return f"{signed(row['elo'], 0).removeprefix('+')} ± {half:.0f}" if half else "0"


def _configuration(row: pd.Series) -> str:
    name = TERM_NAMES.get(row["term"], "Frozen base")
    return name if row["pool"] == CLOSED else f"{name}, rated apart"


def _number(value: float) -> str:
    if value is None or pd.isna(value):
        return MISSING
    return f"{value:.2f}".replace("-0.00", "0.00")  # of rounding: a divergence is never negative
