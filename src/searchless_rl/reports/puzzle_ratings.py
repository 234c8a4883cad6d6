"""Puzzle ratings of the selected models, and where their accuracy lies: by rating tier and by theme."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from searchless_rl import layout
from searchless_rl.reports.formats import MISSING, Source, write_table
from searchless_rl.reports.rows import beta_name, frame_of, tau_name, term_name
from searchless_rl.results.names import MAIN, identity
from searchless_rl.results.scores import Scores
from searchless_rl.statistics.intervals import wilson
from searchless_rl.statistics.puzzle_rating import puzzle_rating

TIERS = (0, 800, 1200, 1600, 2000, 2400)
"""Lower ends of the rating tiers; the last is open."""
RATING, THEME = "rating", "theme"
LEAST = 30
"""Puzzles that a theme must have to be shown."""
NO_THEMES = frozenset(
    {
        *("oneMove", "short", "long", "veryLong", "master", "masterVsMaster", "superGM"),
        *("crushing", "advantage", "equality"),
    }
)
"""Lichess's tags for the length of a puzzle, its players and its evaluation."""

_RATING_COLUMNS = ["model", "term", "tau", "beta", "seed", "rating", "low", "high", "k", "n"]
_TIER_COLUMNS = ["model", "term", "tau", "beta", "seed", "kind", "group", "k", "n", "accuracy", "low", "high"]


def puzzle_ratings(scores: Scores) -> pd.DataFrame:
    """Every model's rating on the puzzles of the main suite.

    Args:
        scores: puzzle frames; models without the main suite are left out.

    Returns:
        Columns model, term, tau, beta, seed; rating with low and high (Lichess's scale of puzzles, 95 %
        profile likelihood; infinite where all or no puzzles are solved); k solved of n.
    """
    rows = []
    for model, frame in _main(scores):
        found = puzzle_rating(frame["rating"].to_numpy(), frame["solved"].to_numpy())
        counts = {"k": int(frame["solved"].sum()), "n": len(frame)}
        rows.append(identity(model) | {"rating": found.value, "low": found.low, "high": found.high} | counts)
    return frame_of(rows, _RATING_COLUMNS)


def accuracy_tiers(scores: Scores, themes: Mapping[str, frozenset[str]]) -> pd.DataFrame:
    """Every model's accuracy on the main suite by rating tier and by theme.

    Args:
        scores: puzzle frames.
        themes: puzzle id -> its themes. A puzzle counts under each; themes of fewer than `LEAST` puzzles and
            `NO_THEMES` are left out.

    Returns:
        Columns model, term, tau, beta, seed; kind ("rating" or "theme"); group (``1200–1599`` or the theme);
        k, n, accuracy, low, high (95 % Wilson). Tiers from below, then themes, the most frequent first; empty
        groups are left out.
    """
    rows = []
    for model, frame in _main(scores):
        solved = frame["solved"].to_numpy(bool)
        for kind, group, inside in _groups(frame, themes):
            k, n = int(solved[inside].sum()), int(inside.sum())
            low, high = wilson(k, n)
            place = {"kind": kind, "group": group, "k": k, "n": n}
            rows.append(identity(model) | place | {"accuracy": k / n, "low": low, "high": high})
    return frame_of(rows, _TIER_COLUMNS)


def _main(scores: Scores) -> Iterator[tuple[str, pd.DataFrame]]:
    return ((model, suites[MAIN]) for model, suites in scores.items() if len(suites.get(MAIN, ())))


def _groups(
    frame: pd.DataFrame, themes: Mapping[str, frozenset[str]]
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Kind, name and members (bool per puzzle) of every group that has some."""
    ratings = frame["rating"].to_numpy()
    for low, high in zip(TIERS, (*TIERS[1:], None), strict=True):
        inside = (ratings >= low) if high is None else (ratings >= low) & (ratings < high)
        if inside.any():
            yield RATING, f"≥{low}" if high is None else f"{low}–{high - 1}", inside
    tags = [themes.get(puzzle, frozenset()) for puzzle in frame["puzzle_id"]]
    counts = pd.Series([tag for one in tags for tag in sorted(one - NO_THEMES)], dtype=str).value_counts()
    for theme in sorted(counts.index[counts >= LEAST], key=lambda name: (-counts[name], name)):
        yield THEME, str(theme), np.array([theme in one for one in tags])


def read_themes(data: Path) -> dict[str, frozenset[str]]:
    """Themes of the main suite's puzzles by id; empty where the suite is missing."""
    path = layout.suite(MAIN, data)
    if not path.exists():
        return {}
    frame = pd.read_csv(path, usecols=["PuzzleId", "Themes"], dtype=str, keep_default_na=False)
    return {
        puzzle: frozenset(text.split())
        for puzzle, text in zip(frame["PuzzleId"], frame["Themes"], strict=True)
    }


def write_puzzle_ratings(frame: pd.DataFrame, stem: Path, source: Source) -> None:
    """Write `puzzle_ratings`' frame as CSV, Markdown and LaTeX."""
    write_table(
        frame,
        stem,
        title="puzzle ratings",
        note="The rating at which a player of Elo's curve would solve as many of the main suite's puzzles, "
        "rated as Lichess rates them by how often people solve them: by maximum likelihood, with 95 % "
        "profile-likelihood intervals. It orders players on one suite; it is no playing strength.",
        source=source,
        columns={
            "Exploration term": term_name,
            "Self-play τ": tau_name,
            "β": beta_name,
            "Puzzle rating": _interval,
            "Solved": lambda row: f"{row['k']:,} of {row['n']:,}",
        },
    )


def _interval(row: pd.Series) -> str:
    if np.isposinf(row["rating"]):
        return f"above {row['low']:.0f}"
    if np.isneginf(row["rating"]):
        return f"below {row['high']:.0f}".replace("-", "−")
    if pd.isna(row["rating"]):
        return MISSING
    return f"{row['rating']:.0f} [{row['low']:.0f}, {row['high']:.0f}]".replace("-", "−")
