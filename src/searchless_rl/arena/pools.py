"""Who plays whom: the players of the study's three arenas (paper sections 3.2, 3.4 and appendix F)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from searchless_rl.arena.players import Player, Temperature
from searchless_rl.cells import format_beta
from searchless_rl.results.names import BASE, CONTROL

OWN_TEMPERATURE: Mapping[str, Temperature] = {"adaptive": "adaptive", "fixed": 1.0}
"""The temperature at which a cell's own self-play sampled."""


def argmax_pool(base: Path, control: Path, cells: Mapping[str, Path]) -> list[Player]:
    """The closed pool of Table 1: the base, the given cells (id -> weights), the puzzle-tuned control."""
    return [
        Player(BASE, base),
        *(Player(name, weights) for name, weights in cells.items()),
        Player(CONTROL, control),
    ]


def swept_players(base: Path, cells: Mapping[str, Path], pool: Collection[str]) -> list[Player]:
    """The base and the swept cells outside the pool, which meet the base only; empty if there is none."""
    outside = [Player(name, weights) for name, weights in cells.items() if name not in pool]
    return [Player(BASE, base), *outside] if outside else []


class SampledPool(NamedTuple):
    """The players of Table 5.

    Attributes:
        closed: the paper's ten configurations, of which every two meet.
        apart: the base at fixed temperatures, this study's control of what sharpening alone does. They meet
            the ten and not each other, and have no part in the ten's ratings.
    """

    closed: list[Player]
    apart: list[Player]


def sampled_pool(base: Path, arms: Mapping[str, Path], base_temperatures: Sequence[float]) -> SampledPool:
    """The players of Table 5 (section 3.4), who all sample, each arm as it did in self-play.

    Args:
        base: the base's weights: it plays raw (base-raw), through the tempered policy (base-mu) and, apart
            from the closed pool, at each of `base_temperatures` (base-0.8, ...).
        arms: TERM-TAU -> weights.
        base_temperatures: fixed temperatures.
    """
    closed = [Player("base-raw", base, 1.0), Player("base-mu", base, "adaptive")]
    for arm, weights in arms.items():
        closed.append(Player(arm, weights, OWN_TEMPERATURE[arm.rsplit("-", 1)[1]]))
    apart = [Player(f"base-{format_beta(tau)}", base, tau) for tau in base_temperatures]
    return SampledPool(closed, apart)
