"""Names that stages write and reports read: of models, suites, policies and files."""

from __future__ import annotations

from typing import Any, Literal, get_args

from searchless_rl.cells import TAUS, TERMS, Cell, Tau, Term

BASE, CONTROL = "base", "control"
"""The frozen base, and the base tuned on puzzles (paper section 3.6); every other model is a cell id."""

ARMS = tuple(f"{term}-{tau}" for term in TERMS for tau in TAUS)
"""Exploration term and temperature, in the order of the paper's tables."""

EVALUATED = (
    *(BASE, CONTROL),
    *(f"selected-{arm}" for arm in ARMS),
    *(f"headline-{term}-adaptive" for term in TERMS if term != "none"),
)
"""Networks of the stage `evaluate`; an unregularized one is the same at every beta."""
COVERED = (BASE, *ARMS)
"""Networks of the stage `coverage`, the arms at the headline beta."""

SELECTION, MAIN, HARD = "selection", "main", "hard"
"""The suites of Table 6 and of Table 1's two accuracy columns."""
MATES = {depth: f"mate{depth}" for depth in range(1, 6)}
"""Suite of each mate depth (Table 3)."""
SUITES = (SELECTION, MAIN, HARD, *MATES.values())

Policy = Literal["raw", "adaptive"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
"""π itself, and μ, tempered by the entropy of the network's win/draw/loss output (paper section 2.3)."""
POLICY_OF_TAU: dict[Tau, Policy] = {"adaptive": "adaptive", "fixed": "raw"}
"""The policy that an arm sampled from in self-play, and is measured through."""
SHARE = 0.95
"""The share of the mass whose draws the paper reports (section 3.3)."""

GAMES, SHAPES = "games.parquet", "shapes.csv"
"""Files of an arena: its games, and the policies of its players."""

TERM_NAMES: dict[Term, str] = {
    "none": "No regularizer",
    "entropy": "Entropy bonus",
    "reverse_kl": "Reverse-KL anchor",
    "forward_kl": "Forward-KL prior",
}
"""As the paper prints them."""
TAU_NAMES: dict[Tau, str] = {"adaptive": "adaptive", "fixed": "τ ≡ 1"}


def policies_of(model: str) -> tuple[Policy, ...]:
    """The policies through which a network of `COVERED` is measured: of the base both, of an arm its own."""
    if model == BASE:
        return POLICIES
    return tuple(policy for tau, policy in POLICY_OF_TAU.items() if model.endswith(f"-{tau}"))


def identity(model: str) -> dict[str, Any]:
    """Columns model, term, tau, beta and seed of a model.

    The base and the control have their name as term, and no tau, beta or seed.

    Raises:
        CellError: neither one of these nor a cell id.
    """
    if model in (BASE, CONTROL):
        return {"model": model, "term": model, "tau": None, "beta": None, "seed": None}
    cell = Cell.parse(model)
    return {"model": model, "term": cell.term, "tau": cell.tau, "beta": cell.beta, "seed": cell.seed}
