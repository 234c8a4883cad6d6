"""What tables and figures read of the stages: which models, on which suites."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from searchless_rl import layout
from searchless_rl.reports.coverage import Shown, shown_arms
from searchless_rl.results.models import chosen_cells, evaluated_folders
from searchless_rl.results.names import ARMS, BASE, CONTROL, HARD, MAIN, MATES
from searchless_rl.results.scores import Scores, read_scores

_DEEP = (MAIN, HARD, *MATES.values())


def selected_scores(data: Path) -> Scores:
    """The base, then each arm's selected model: Tables 1 and 3, paired.csv."""
    folders = evaluated_folders(data)
    names = [BASE, *chosen_cells(data, "selected").values()]
    return read_scores({name: folders[name] for name in names if name in folders}, _DEEP)


def headline_scores(data: Path) -> Scores:
    """The base, then the adaptive arms at the headline beta: Table 4 and Figure 6."""
    folders, cells_of = evaluated_folders(data), chosen_cells(data, "headline")
    names = [BASE, *(cells_of[arm] for arm in ARMS if arm.endswith("-adaptive") and arm in cells_of)]
    return read_scores({name: folders[name] for name in names if name in folders}, _DEEP)


def shown_coverage(data: Path) -> dict[str, Shown]:
    """The base and the arms at the headline beta: Figures 7 and 10."""
    arms = {tuple(arm.rsplit("-", 1)): layout.coverage(arm, data) for arm in ARMS}
    return shown_arms(layout.coverage(BASE, data), arms)  # type: ignore[arg-type]  # a term and a temperature


def with_control(scores: Scores, data: Path) -> Scores:
    """Scores of further models, and the puzzle-tuned control's on the main suite."""
    return {**scores, **read_scores({CONTROL: layout.evaluated(CONTROL, data)}, (MAIN,))}


def recovered(data: Path) -> pd.DataFrame:
    """Positions side by side, as the stage `recovery` wrote them; empty where they are missing."""
    path = layout.recovery(data) / layout.POSITIONS
    return pd.read_parquet(path) if path.exists() else pd.DataFrame()
