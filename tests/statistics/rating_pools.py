"""Pools of games for the tests of ratings."""

from __future__ import annotations

import numpy as np
import pandas as pd

from searchless_rl.statistics.rating_model import (
    Counts,
)


def table_of(*records: tuple[str, str, int, int, int]) -> pd.DataFrame:
    """Games from (white, black, White's wins, draws, Black's wins)."""
    rows = [
        (white, black, result)
        for white, black, *numbers in records
        for result, number in zip(("1-0", "1/2-1/2", "0-1"), numbers, strict=True)
        for _ in range(number)
    ]
    return pd.DataFrame(rows, columns=["white", "black", "result"])


def counts_of(games: pd.DataFrame) -> Counts:
    names = sorted({*games["white"], *games["black"]})
    tables = []
    for result in ("1-0", "1/2-1/2", "0-1"):
        table = np.zeros((len(names), len(names)))
        for white, black in games.loc[games["result"] == result, ["white", "black"]].itertuples(index=False):
            table[names.index(white), names.index(black)] += 1
        tables.append(table)
    return Counts(*tables)


def logistic(x: float) -> float:
    return 1 / (1 + 10 ** (-x / 400))


def simulate(
    rng: np.random.Generator, elo: np.ndarray, each_colour: int, advantage: float, draw_elo: float
) -> pd.DataFrame:
    """A round-robin of players p00, p01, ... with that many games of every pair and colour."""
    names = np.array([f"p{place:02d}" for place in range(len(elo))])
    white, black = (np.repeat(side, each_colour) for side in np.nonzero(1 - np.eye(len(elo))))
    margin = elo[white] - elo[black] + advantage
    white_wins, black_wins = (1 / (1 + 10 ** (-(side * margin - draw_elo) / 400)) for side in (1, -1))
    draw = rng.random(len(margin))
    result = np.where(draw < white_wins, "1-0", np.where(draw < white_wins + black_wins, "0-1", "1/2-1/2"))
    return pd.DataFrame({"white": names[white], "black": names[black], "result": result})
