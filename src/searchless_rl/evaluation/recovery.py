"""What fine-tuning recovers, position by position and puzzle by puzzle (paper section 3.5).

The paper counts in two units. A solver position that the base plays wrong is recovered when the tuned
model's move there lies in the winning set, and given back in the opposite case; its gates, ranks, leads and
masses are over all wrong positions, several of one puzzle included, since a policy knows nothing of the moves
before. A puzzle is newly solved when the base fails it and the tuned model solves it, every position right.
Where one position must stand for a puzzle, it is the decisive one: the first that the base plays wrong, at
which its game would have left the line. Later wrong positions of the puzzle count as positions only.

Two readings are ours, since the paper does not define them. The "base solution probability" of a puzzle is
taken at its decisive position. The probability of a solution is the mass of the whole winning set W(s); its
rank is that of the most likely move in W(s).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from searchless_rl.results.names import BASE

KEYS = ["puzzle_id", "turn", "marked"]


def side_by_side(positions: Mapping[str, pd.DataFrame], ratings: pd.DataFrame, suite: str) -> pd.DataFrame:
    """One row per solver position with the base and the tuned models beside each other.

    Args:
        positions: "base" and models -> position frame (`evaluation.tactics.SuiteScores`) of one suite.
        ratings: puzzle frame of the same suite (puzzle_id, rating).
        suite: its name, for messages.

    Returns:
        Columns puzzle_id, rating, turn, marked, and for each player P, the base first: "move P" (UCI),
        "right P", "solution P" (π of the winning set), "rank P" and "winning P" (of its most likely move),
        "top P" (π of the move), "lead P" (the move's over the second), "win P", "draw P", "loss P", "tied P".

    Raises:
        ValueError: no base, or players were asked different positions (suite and player named).
    """
    if BASE not in positions:
        raise ValueError(f"suite {suite}: recovery needs the base beside {', '.join(positions)}")
    base = positions[BASE]
    columns = {
        "puzzle_id": base["puzzle_id"],
        "rating": base["puzzle_id"].map(ratings.set_index("puzzle_id")["rating"]),
        "turn": base["turn"],
        "marked": base["marked"],
    }
    for player in (BASE, *(name for name in positions if name != BASE)):
        frame = positions[player]
        if not frame[KEYS].equals(base[KEYS]):
            raise ValueError(
                f"suite {suite}: {player} was asked other positions than the base. Run the stage `tactics` "
                "of both on the same suites."
            )
        columns |= {
            f"move {player}": frame["move"],
            f"right {player}": frame["right"],
            f"solution {player}": np.exp(frame["log_winning"]),
            f"rank {player}": frame["rank"],
            f"winning {player}": frame["winning_probability"],
            f"top {player}": frame["top_probability"],
            f"lead {player}": frame["top_probability"] - frame["second_probability"],
        }
        columns |= {f"{key} {player}": frame[key] for key in ("win", "draw", "loss", "tied")}
    return pd.DataFrame(columns)


def tuned_models(frame: pd.DataFrame) -> list[str]:
    """The models of a `side_by_side` frame, in order, without the base."""
    players = [name.removeprefix("move ") for name in frame.columns if name.startswith("move ")]
    return [player for player in players if player != BASE]


def position_changes(frame: pd.DataFrame, model: str) -> pd.DataFrame:
    """What one model changed at every solver position of a `side_by_side` frame (section 3.5, Figure 8).

    Returns:
        Columns puzzle_id, rating, turn, wrong (of the base), recovered, given_back, solution (base's π of the
        winning set), rank (base's), tuned_rank, behind (base's top move over the most likely winning one, 0
        where right), lead (base's top move over its second), moved (π of the winning set, tuned less base),
        score, tuned_score (value head, win minus loss).
    """
    is_right, is_right_now = frame[f"right {BASE}"], frame[f"right {model}"]
    return pd.DataFrame(
        {
            "puzzle_id": frame["puzzle_id"],
            "rating": frame["rating"],
            "turn": frame["turn"],
            "wrong": ~is_right,
            "recovered": ~is_right & is_right_now,
            "given_back": is_right & ~is_right_now,
            "solution": frame[f"solution {BASE}"],
            "rank": frame[f"rank {BASE}"],
            "tuned_rank": frame[f"rank {model}"],
            "behind": (frame[f"top {BASE}"] - frame[f"winning {BASE}"]).where(~is_right, 0.0),
            "lead": frame[f"lead {BASE}"],
            "moved": frame[f"solution {model}"] - frame[f"solution {BASE}"],
            "score": frame[f"win {BASE}"] - frame[f"loss {BASE}"],
            "tuned_score": frame[f"win {model}"] - frame[f"loss {model}"],
        }
    )


def decisive_positions(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of a `side_by_side` frame that stand for the puzzles the base fails: its first wrong move."""
    return frame[~frame[f"right {BASE}"]].drop_duplicates("puzzle_id")  # rows are in order of play


def puzzle_changes(frame: pd.DataFrame, models: Sequence[str]) -> pd.DataFrame:
    """Who solves which puzzle of a `side_by_side` frame.

    Returns:
        One row per puzzle: puzzle_id, rating, "solved P" of the base and each model, and of the decisive
        position turn and solution (base's π of the winning set), NaN where the base solves the puzzle.
    """
    by_puzzle = frame.groupby("puzzle_id", sort=False)
    columns = {f"solved {player}": by_puzzle[f"right {player}"].all() for player in (BASE, *models)}
    puzzles = pd.DataFrame({"rating": by_puzzle["rating"].first(), **columns})
    decisive = decisive_positions(frame).set_index("puzzle_id")
    puzzles["turn"] = decisive["turn"].reindex(puzzles.index)
    puzzles["solution"] = decisive[f"solution {BASE}"].reindex(puzzles.index)
    return puzzles.reset_index()


def newly_solved(puzzles: pd.DataFrame, model: str) -> pd.Series:
    """Whether the base fails a puzzle and the model solves it: bool per row of a `puzzle_changes` frame."""
    return ~puzzles[f"solved {BASE}"] & puzzles[f"solved {model}"]


def given_back(puzzles: pd.DataFrame, model: str) -> pd.Series:
    """Whether the base solves a puzzle and the model fails it: bool per row of a `puzzle_changes` frame."""
    return puzzles[f"solved {BASE}"] & ~puzzles[f"solved {model}"]


def exclusive(puzzles: pd.DataFrame, model: str, models: Sequence[str]) -> pd.Series:
    """Whether `model` newly solves a puzzle and no other of `models` solves it: bool per row as above."""
    found = newly_solved(puzzles, model)
    for other in models:
        if other != model:
            found &= ~puzzles[f"solved {other}"]
    return found


def parting_positions(frame: pd.DataFrame, model: str, other: str, count: int) -> pd.DataFrame:
    """Decisive positions of the clearest puzzles that `model` newly solves and `other` does not (Figure 9).

    They are the ones at whose decisive position `other` is wrong too, so that the board shows where the two
    part, by falling gain of π of the winning set (model less base), ties by id.

    Returns:
        At most `count` rows of a `side_by_side` frame, fewer where there are fewer.
    """
    puzzles = puzzle_changes(frame, [model, other])
    found = puzzles.loc[exclusive(puzzles, model, [model, other]), "puzzle_id"]
    rows = decisive_positions(frame)
    rows = rows[rows["puzzle_id"].isin(found) & ~rows[f"right {other}"]]
    gain = rows[f"solution {model}"] - rows[f"solution {BASE}"]
    order = np.lexsort((rows["puzzle_id"].to_numpy(str), -gain.to_numpy()))
    return rows.iloc[order[:count]]
