"""Per-puzzle scores of several models, as the stage `tactics` wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa

Scores = Mapping[str, Mapping[str, pd.DataFrame]]
"""Model ("base" or a cell id) -> suite -> puzzle frame of `evaluation.tactics`."""


def read_scores(folders: Mapping[str, Path], suites: Iterable[str]) -> dict[str, dict[str, pd.DataFrame]]:
    """Puzzle frames of the named suites; a suite that a model was not measured on is left out.

    Args:
        folders: model ("base" or a cell id) -> folder of its SUITE.parquet files.
        suites: names to look for.

    Raises:
        ValueError: a file is not such a frame (the file named).
    """
    wanted = tuple(suites)
    return {
        model: {
            suite: _read(folder / f"{suite}.parquet")
            for suite in wanted
            if (folder / f"{suite}.parquet").exists()
        }
        for model, folder in folders.items()
    }


def _read(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path, columns=["puzzle_id", "rating", "solved", "log_probability"])
    except (pa.ArrowException, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{path}: not scores of puzzles ({reason}). Run the stage `tactics`.") from error
