"""Figures as a person compares them: rounded, the decisive ones first, texts within MLflow's limits."""

from __future__ import annotations

from collections.abc import Mapping

DIGITS = 4
LONGEST_PARAMETER = 6000  # MLflow's limit, in characters
_FIRST = (
    "selection/accuracy",
    "main/accuracy",
    "hard/accuracy",
    "hard/solution_probability_gm",
    "arena/score",
    "final/kl_base_policy",
    "final/entropy",
)


def rounded(value: float) -> float:
    """Four significant digits, which is finer than any interval here; counts stay whole.

    The exact value is in the files that a run mirrors.
    """
    return value if value == int(value) else float(f"{value:.{DIGITS}g}")


def in_order(metrics: Mapping[str, float]) -> dict[str, float]:
    """Rounded, those that answer the study's questions first: MLflow's charts open on the first."""
    first = [name for name in _FIRST if name in metrics]
    return {name: rounded(metrics[name]) for name in (*first, *sorted(metrics.keys() - set(first)))}


def shortened(text: str, whole: str) -> str:
    """`text` within MLflow's limit: cut between two words, with a note that names the file `whole`."""
    if len(text) <= LONGEST_PARAMETER:
        return text
    note = f" ... ({len(text.split())} in all: {whole})"
    kept = text[: LONGEST_PARAMETER - len(note) + 1]
    return kept[: kept.rfind(" ")] + note if " " in kept else kept[:-1] + note
