"""Who plays whom: the players of the study's three arenas (paper sections 3.2, 3.4 and appendix F)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from searchless_rl.arena.players import Player, Temperature
from searchless_rl.cells import Cell, format_beta
from searchless_rl.results.names import BASE, CONTROL

OWN_TEMPERATURE: Mapping[str, Temperature] = {"adaptive": "adaptive", "fixed": 1.0}
"""The temperature at which a cell's own self-play sampled."""


def argmax_ladder(base: Path, control: Path, cells: Mapping[str, Path]) -> list[Player]:
    """The closed pool of Table 1: the base, the given cells (id -> weights), the puzzle-tuned control."""
    return [
        Player(BASE, base),
        *(Player(name, weights) for name, weights in cells.items()),
        Player(CONTROL, control),
    ]


def swept_line_up(base: Path, cells: Mapping[str, Path], pool: Collection[str]) -> list[Player]:
    """The base and the swept cells outside the pool, which meet the base only; empty if there is none."""
    outside = [Player(name, weights) for name, weights in cells.items() if name not in pool]
    return [Player(BASE, base), *outside] if outside else []


def sampled_ladder(base: Path, arms: Mapping[str, Path], base_temperatures: Sequence[float]) -> list[Player]:
    """The pool of Table 5: every player samples, each arm as it did in self-play.

    Args:
        base: plays raw (base-raw), tempered (base-mu) and, as a control of what sharpening alone does, at
            each of `base_temperatures` (base-0.8, ...).
        arms: TERM-TAU -> weights.
        base_temperatures: fixed temperatures.
    """
    players = [Player("base-raw", base, 1.0), Player("base-mu", base, "adaptive")]
    players += [Player(f"base-{format_beta(tau)}", base, tau) for tau in base_temperatures]
    for arm, weights in arms.items():
        players.append(Player(arm, weights, OWN_TEMPERATURE[arm.rsplit("-", 1)[1]]))
    return players


def own_player(cell: Cell, weights: Path) -> Player:
    """A cell playing its most likely moves, named by its id."""
    return Player(cell.id, weights)
