"""What every figure of a run means, its unit and where the paper defines it.

One dictionary for cells.md, for the descriptions in MLflow and for the documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from searchless_rl.results.names import HARD, MAIN, MATES, SELECTION


class Meaning(NamedTuple):
    """One figure.

    Attributes:
        text: what it is.
        unit: of its values; empty for names and flags.
        source: section, equation or table of the paper; empty where it is this project's.
    """

    text: str
    unit: str = ""
    source: str = ""


COLUMNS: Mapping[str, Meaning] = {
    "model": Meaning("base, or the id of a cell: TERM-TAU-BETA-sSEED, with the variant behind it"),
    "term": Meaning("exploration term: none, entropy, reverse_kl, forward_kl", "", "section 2.2"),
    "tau": Meaning("sampling temperature: adaptive, or fixed at 1", "", "section 2.3, Eq. 6"),
    "beta": Meaning("coefficient of the exploration term", "", "section 3.1"),
    "seed": Meaning("seed of the warm-start games and of the sampled moves"),
    "variant": Meaning("full, or the part of the method that is left out"),
    "in_grid": Meaning("one of the cells of grid.cells; the base is not"),
    "requested": Meaning("the cell of the top-level keys term, tau, beta, seed"),
    "selected": Meaning("carried into Table 1: the most accurate beta of its arm", "", "Table 6"),
    "precision": Meaning("number format that the cell was trained in", "", "Table 2"),
}
"""Columns that say which network a row is about."""

SUITES: Mapping[str, str] = {
    SELECTION: "the suite that chooses each arm's beta",
    MAIN: "the suite of Table 1",
    HARD: "puzzles rated 2400 and above",
    **{suite: f"mates in {depth}" for depth, suite in MATES.items()},
}

SUITE_FIGURES: Mapping[str, Meaning] = {
    "k": Meaning("puzzles solved: the most likely move is right at every position", "puzzles", "section 3.1"),
    "n": Meaning("puzzles asked", "puzzles"),
    "accuracy": Meaning("k / n", "fraction", "section 3.1"),
    "low": Meaning("lower bound of the accuracy's 95 % Wilson interval", "fraction", "Table 1"),
    "high": Meaning("upper bound of the accuracy's 95 % Wilson interval", "fraction", "Table 1"),
    "geometric_mean": Meaning(
        "geometric mean over puzzles of p*, the probability of sampling the whole solution",
        "probability",
        "section 3.1, Table 4",
    ),
    "arithmetic_mean": Meaning("arithmetic mean of p*", "probability", "Table 4"),
    "positions": Meaning("positions at which the solver was asked", "positions"),
    "correct": Meaning("positions at which its most likely move was right", "positions"),
    "ties": Meaning("positions at which moves were equally likely; the lowest index was taken", "positions"),
}
"""Figures of one suite."""

TRAINING: Mapping[str, Meaning] = {
    "loss": Meaning("the objective: policy loss + β × exploration term + value loss", "", "section 2.3"),
    "loss_policy": Meaning("−ρ · A · log π_θ(a given s)", "", "Eq. 3"),
    "loss_exploration": Meaning("the exploration term R, before β", "nats", "Eq. 1 and 2"),
    "loss_value": Meaning("ρ × cross-entropy of the value head to its target, before c_v", "nats", "Eq. 3"),
    "loss_base_wdl": Meaning("KL between the WDL of base and online network; 0 unless switched on", "nats"),
    "entropy": Meaning("entropy of π_θ over the legal moves", "nats", "section 3.4"),
    "cov5": Meaning("mass of π_θ on the base's five most likely moves", "fraction", "Table 5"),
    "rho": Meaning("ρ = min(1, π_θ / μ), the capped importance weight", "", "section 2.3"),
    "tau": Meaning("sampling temperature τ: the entropy of the EMA network's WDL, or 1", "", "Eq. 6"),
    "tau_min": Meaning("smallest τ of the batch"),
    "tau_q10": Meaning("10 % quantile of τ over the batch"),
    "tau_median": Meaning("median of τ over the batch"),
    "tau_q90": Meaning("90 % quantile of τ over the batch"),
    "tau_max": Meaning("largest τ of the batch"),
    "advantage": Meaning("A = 1 − v_EMA(s′) − v_θ(s)", "points per game", "Eq. 4"),
    "advantage_sd": Meaning("standard deviation of A over the batch", "points per game"),
    "kl_base_policy": Meaning("forward KL(π_base‖π_θ) over the legal moves", "nats", "Eq. 2"),
    "kl_policy_base": Meaning("reverse KL(π_θ‖π_base) over the legal moves", "nats", "section 3.1"),
    "finished": Meaning("games that ended in the step", "games per step"),
    "white_wins": Meaning("of these, mates by White", "games per step"),
    "black_wins": Meaning("of these, mates by Black", "games per step"),
    "stalemates": Meaning("of these, stalemates", "games per step"),
    "insufficient_material": Meaning("of these, draws by dead material", "games per step"),
    "repetitions": Meaning("of these, draws by threefold repetition", "games per step"),
    "fifty_moves": Meaning("of these, draws by the fifty-move rule", "games per step"),
    "capped": Meaning("of these, games that reached max_plies", "games per step", "Table 2"),
    "plies": Meaning("length of the games that ended", "plies"),
    "value_brier": Meaning("squared error of v_θ against the result, over games that ended", "points²"),
    "value_predicted": Meaning("mean v_θ over these games, as White sees it", "points per game"),
    "value_outcome": Meaning("mean result of these games, as White sees it", "points per game"),
    "openings_played": Meaning("games begun in training so far that reached four plies", "games"),
    "openings_distinct": Meaning("distinct first four plies among them", "lines", "Limitations"),
    "openings_recent": Meaning("distinct first four plies among the last 100 of them", "lines"),
    "accuracy": Meaning("positions of the batch solved (control only)", "fraction"),
}
"""Metrics of a training step; `final` and the columns final_... have their mean over the last tenth of the
steps, of running counts the end."""


def meaning_of(column: str) -> Meaning:
    """What a column of cells.csv means: a name, SUITE_FIGURE or final_METRIC.

    Raises:
        KeyError: unknown.
    """
    if column in COLUMNS:
        return COLUMNS[column]
    prefix, _, name = column.partition("_")
    if prefix == "final":
        return TRAINING[name]
    meaning = SUITE_FIGURES[name]
    return meaning._replace(text=f"{meaning.text}; {SUITES[prefix]}")
