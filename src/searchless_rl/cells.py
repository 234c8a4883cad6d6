"""The key of a training cell and its spelling: ``forward_kl-adaptive-0.01-s0``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, get_args

Term = Literal["none", "entropy", "reverse_kl", "forward_kl"]
Tau = Literal["adaptive", "fixed"]
Variant = Literal["full", "no_rho", "no_ema", "online_tau", "no_value_loss"]
TERMS: tuple[Term, ...] = get_args(Term)
TAUS: tuple[Tau, ...] = get_args(Tau)
VARIANTS: tuple[Variant, ...] = get_args(Variant)
BETA_RANGE = (1e-6, 100.0)
DECADES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""The paper's grid of betas; other betas belong to the curve of Figure 5 only (section 3.1)."""

_PATTERN = re.compile(
    r"(?P<term>[a-z_]+)-(?P<tau>[a-z]+)-(?P<beta>[0-9.]+)-s(?P<seed>0|[1-9][0-9]*)(?:-(?P<variant>[a-z_]+))?"
)


class CellError(ValueError):
    """A cell that does not exist."""


@dataclass(frozen=True, order=True)
class Cell:
    """One training run of the study.

    Attributes:
        term: exploration term (paper section 2.2): none, entropy, reverse_kl or forward_kl.
        tau: sampling temperature: adaptive (WDL entropy of the EMA network) or fixed (1).
        beta: weight of the term; 0 exactly where the term is none, else within `BETA_RANGE`.
        seed: seed of the warm-start games and of the sampled moves.
        variant: "full", the method as it is, or the part of it that is left out (`selfplay.stage`).
    """

    term: Term
    tau: Tau
    beta: float
    seed: int
    variant: Variant = "full"

    def __post_init__(self) -> None:
        if self.term not in TERMS:
            raise CellError(f"term: {self.term!r} is unknown; allowed: {', '.join(TERMS)}")
        if self.tau not in TAUS:
            raise CellError(f"tau: {self.tau!r} is unknown; allowed: {', '.join(TAUS)}")
        low, high = BETA_RANGE
        if self.term == "none":
            if self.beta != 0:
                raise CellError(f"beta: {self.beta!r} with term none; allowed: 0")
        elif not (math.isfinite(self.beta) and low <= self.beta <= high):
            raise CellError(f"beta: {self.beta!r} is out of range; allowed: {low:g} to {high:g}")
        if self.seed < 0:
            raise CellError(f"seed: {self.seed!r} is negative; allowed: 0, 1, 2, ...")
        if self.variant not in VARIANTS:
            raise CellError(f"variant: {self.variant!r} is unknown; allowed: {', '.join(VARIANTS)}")
        if self.variant == "online_tau" and self.tau == "fixed":
            raise CellError("variant: 'online_tau' changes nothing with tau fixed; allowed: tau adaptive")

    @property
    def id(self) -> str:
        """The spelling used for stages, files and runs; `parse` reads it back."""
        suffix = "" if self.variant == "full" else f"-{self.variant}"
        return f"{self.term}-{self.tau}-{format_beta(self.beta)}-s{self.seed}{suffix}"

    @property
    def arm(self) -> str:
        """Term and temperature, e.g. ``forward_kl-adaptive``."""
        return f"{self.term}-{self.tau}"

    @property
    def is_swept(self) -> bool:
        """Whether the paper sweeps such a cell: the full method, with no term or a decade beta."""
        return self.variant == "full" and (self.term == "none" or self.beta in DECADES)

    @classmethod
    def parse(cls, text: str) -> Cell:
        """The cell spelled `text`.

        Raises:
            CellError: not the spelling of a cell, or not its only spelling (0.010, 1e-2).
        """
        match = _PATTERN.fullmatch(text)
        if match is None or match["beta"].count(".") > 1 or not re.search(r"\d", match["beta"]):
            raise CellError(
                f"cell {text[:100]!r} does not parse; write TERM-TAU-BETA-sSEED or "
                "TERM-TAU-BETA-sSEED-VARIANT, for example forward_kl-adaptive-0.01-s0 (term none has beta 0)"
            )
        term, tau, variant = match["term"], match["tau"], match["variant"] or "full"
        cell = cls(term, tau, float(match["beta"]), int(match["seed"]), variant)  # type: ignore[arg-type]  # checked above
        if cell.id != text:
            raise CellError(f"cell {text!r} must be spelled {cell.id!r}")
        return cell


def format_beta(beta: float) -> str:
    """The shortest plain decimal that reads back as `beta`: 0.0001, 0.01, 1 (never 1e-05)."""
    return format(Decimal(repr(beta)).normalize(), "f")
