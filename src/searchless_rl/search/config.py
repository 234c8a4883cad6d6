"""What the source leaves open of the search, as parameters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SearchConfig:
    """Parameters of the search; the same ones give the same trees.

    Attributes:
        c_puct: weight of the exploration bonus U(s,a) = c_puct · P(s,a) · √Σ_b N(s,b) / (1 + N(s,a)), > 0.
        unvisited_reduction: an unvisited child counts as its parent's mean value less this, 0 to 2.
        leaves: leaves of one tree that are evaluated together, an int >= 1. With 1 the search is the
            sequential one.
        virtual_loss: while a leaf waits for its evaluation, its path counts as visited and lost by this
            much, so that the next leaf is another; > 0, used where `leaves` > 1.

    Raises:
        ValueError: a value out of its range.
    """

    c_puct: float = 1.5
    unvisited_reduction: float = 0.25
    leaves: int = 1
    virtual_loss: float = 1.0

    def __post_init__(self) -> None:
        limits = {
            "c_puct": 0 < self.c_puct < float("inf"),
            "unvisited_reduction": 0 <= self.unvisited_reduction <= 2,
            "leaves": type(self.leaves) is int and self.leaves >= 1,
            "virtual_loss": 0 < self.virtual_loss < float("inf"),
        }
        for name, holds in limits.items():
            if not holds:
                raise ValueError(f"search: {name} = {getattr(self, name)} is out of its range")
