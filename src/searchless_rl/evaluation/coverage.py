"""Trajectory coverage Ω: how much of its own play a policy shows in K samples (paper section 3.1).

A trajectory is a line of N moves from a position, and a policy gives each a probability p. The text that we
hold has the formula Ω = E[Σ_i π(ξ_i)] without its prose. Our reading: K draws with replacement, and the mass
of the distinct lines among them, under the policy that is sampled (for μ the tempered one):
Ω = Σ p·(1 − (1 − p)^K). Draws without replacement would give `lines_to_hold`, which is reported beside it.

The lines are enumerated, not sampled, so that the only error is what a mass floor cuts off. A line is its
moves: two orders of the same moves are two lines, and a line that ends early (mate, stalemate, a draw by
rule) is complete.

The bound. A prefix below the floor is not followed. The lines through it have together its mass m, and each
of them at most m, so that they add between 0 and m·(1 − (1 − m)^K) <= m to the coverage. So Ω lies between
the sum over the lines that were followed and the same sum with each cut prefix as one more line, and so never
more than the cut mass above the former.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from searchless_rl.board import GameBatch, LegalMoves
from searchless_rl.evaluation.policy import log_probabilities
from searchless_rl.evaluation.temperature import temper, wdl_entropy
from searchless_rl.nets.evaluator import Evaluator

CHUNK = 2048  # positions encoded and evaluated at a time; bounds memory, not results
MAX_DRAWS = 2**50  # counts up to here are exact in float64
ROUNDING = 1e-12  # sums of probabilities this close to a share have reached it


@dataclass(frozen=True)
class Trajectories:
    """The lines of a position under a policy.

    Attributes:
        probability: float64 [L] of the complete lines, descending; with `cut` they sum to 1.
        cut: float64 [C] masses of the prefixes below the floor, descending; empty without a floor.
        evaluations: positions the network was asked about.
    """

    probability: np.ndarray
    cut: np.ndarray
    evaluations: int

    @property
    def cut_mass(self) -> float:
        """Mass that was not followed, 0 to 1: the most by which a coverage can be too low."""
        return float(self.cut.sum())

    @property
    def coarse(self) -> np.ndarray:
        """float64 [L + C] lines and cut prefixes, descending: the lines if each prefix were a single one."""
        return _descending(np.concatenate([self.probability, self.cut]))

    @property
    def entropy(self) -> float:
        """Shannon entropy in nats, each cut prefix as one line: exact without a floor, else a lower bound."""
        mass = self.coarse
        mass = mass[mass > 0]
        return float(-(mass * np.log(mass)).sum())


class Bounds(NamedTuple):
    """The least number that does something, as closely as the cut mass lets it be known.

    Attributes:
        low: it is at least this.
        high: it is at most this; None where the lines that were followed do not suffice.
        reason: why `high` is None, else None.
    """

    low: int
    high: int | None
    reason: str | None = None


def enumerate_trajectories(
    evaluator: Evaluator,
    fen: str | None,
    moves: Sequence[str],
    *,
    tau: float | Literal["adaptive"],
    plies: int,
    mass_floor: float = 0.0,
    advance: Callable[[int], Any] = lambda count: None,
) -> Trajectories:
    """All lines of `plies` moves from a position, with their probabilities under a network's policy.

    Args:
        evaluator: the network.
        fen: first known position, None for the standard start position.
        moves: UCI moves from there to the position, so that the history planes are real.
        tau: of μ ∝ π^(1/τ); 1 is the raw policy, "adaptive" the entropy of the network's own
            win/draw/loss probabilities at each position, in nats.
        plies: moves in a line, >= 1.
        mass_floor: prefixes of less mass are cut, 0 to 1; 0 cuts nothing.
        advance: progress callback, called with the number of positions just evaluated.

    Raises:
        PositionError: `fen` is not a playable position.
        ValueError: an illegal move (move and position named), or an argument out of range.
    """
    if plies < 1:
        raise ValueError(f"plies: {plies} is out of range; allowed: 1, 2, 3, ...")
    if not 0 <= mass_floor < 1:
        raise ValueError(f"mass_floor: {mass_floor} is out of range; allowed: 0 to below 1")
    if tau != "adaptive" and not tau >= 0:
        raise ValueError(f"tau: {tau} is out of range; allowed: adaptive, or a number >= 0")
    games = _position(fen, moves)
    log_mass = np.zeros(1)
    complete, cut, evaluations = [], [np.zeros(0)], 0
    for ply in range(plies):
        complete.append(log_mass[games.over])
        rows = np.flatnonzero(~games.over)
        if not len(rows):
            break
        legal, log_policy = _policies(evaluator, games, rows, tau, advance)
        evaluations += len(rows)
        log_child = log_mass[rows][legal.row] + log_policy
        if ply == plies - 1:
            complete.append(log_child)
            break
        kept = np.exp(log_child) >= mass_floor
        cut.append(np.exp(log_child[~kept]))
        games = games.select(rows[legal.row[kept]])
        games.step(np.arange(len(games)), legal.index[kept])
        log_mass = log_child[kept]
    probability = np.exp(np.concatenate(complete))
    return Trajectories(_descending(probability), _descending(np.concatenate(cut)), evaluations)


def _position(fen: str | None, moves: Sequence[str]) -> GameBatch:
    games = GameBatch([fen])
    games.play([moves])
    return games


def _policies(
    evaluator: Evaluator,
    games: GameBatch,
    rows: np.ndarray,
    tau: float | Literal["adaptive"],
    advance: Callable[[int], Any],
) -> tuple[LegalMoves, np.ndarray]:
    """Legal moves of `rows` and their log-probabilities, float64 [M]."""
    legal, log_policy = [], []
    for begin in range(0, len(rows), CHUNK):
        chunk = rows[begin : begin + CHUNK]
        moves = games.legal(chunk)
        out = evaluator(games.planes(chunk))
        temperature = wdl_entropy(out.wdl) if tau == "adaptive" else np.full(len(chunk), tau)
        log_policy.append(temper(log_probabilities(out.policy, moves), moves, temperature))
        legal.append(moves)
        advance(len(chunk))
    return LegalMoves.concatenate(legal), np.concatenate(log_policy)


def _descending(values: np.ndarray) -> np.ndarray:
    return np.sort(values)[::-1]


def expected_coverage(probability: np.ndarray, draws: ArrayLike) -> np.ndarray:
    """Ω of section 3.1: expected mass of the distinct lines among K independent draws, Σ p·(1 − (1 − p)^K).

    Args:
        probability: float64 [L] in [0, 1]; the sum may be below 1.
        draws: [n] numbers K >= 1.

    Returns:
        float64 [n].

    Raises:
        ValueError: a probability or a number of draws out of range.
    """
    counts = np.asarray(draws, np.float64)
    if (counts < 1).any():
        raise ValueError(f"draws: {counts.min():g} is out of range; allowed: 1, 2, 3, ...")
    if not_finite := np.count_nonzero(~np.isfinite(probability)):
        raise ValueError(
            f"{not_finite} of {len(probability)} probabilities are not finite numbers, so neither are the "
            "network's outputs; measure another weights file"
        )
    if len(probability) and not 0 <= probability.min() <= probability.max() <= 1:
        raise ValueError(
            f"probabilities span {probability.min():g} to {probability.max():g}; allowed: 0 to 1"
        )
    with np.errstate(divide="ignore"):  # a sure line: log(1 − 1) = −∞, seen by every draw
        log_missed = np.log1p(-probability)
    return np.array([(probability * -np.expm1(count * log_missed)).sum() for count in counts], np.float64)


def coverage_bounds(lines: Trajectories, draws: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bound of Ω at K draws, float64 [n] each; equal where nothing was cut."""
    low = expected_coverage(lines.probability, draws)
    return low, low + expected_coverage(lines.cut, draws)


def draws_to_cover(lines: Trajectories, share: float) -> Bounds:
    """The least K with Ω >= `share`, strictly between 0 and 1 (95 % in section 3.3)."""
    _check_share(share)
    low = _first_draws(lambda draws: coverage_bounds(lines, [draws])[1][0], share)
    if not len(lines.cut):
        return _bounds(lines, low, low)
    return _bounds(lines, low, _first_draws(lambda draws: coverage_bounds(lines, [draws])[0][0], share))


def _first_draws(coverage: Callable[[int], float], share: float) -> int | None:
    """The least K with coverage(K) >= share of an increasing function; None beyond `MAX_DRAWS`."""
    enough = 1
    while coverage(enough) < share - ROUNDING:
        if enough >= MAX_DRAWS:
            return None
        enough *= 2
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        if coverage(middle) < share - ROUNDING:
            short = middle
        else:
            enough = middle
    return enough


def lines_to_hold(probability: np.ndarray, share: float) -> int | None:
    """The least number of lines that hold `share` of the mass, strictly between 0 and 1.

    Args:
        probability: float64 [L], descending.
        share: of a total of 1.

    Returns:
        None where all of them together hold less.
    """
    _check_share(share)
    count = int(np.searchsorted(np.cumsum(probability), share - ROUNDING)) + 1
    return count if count <= len(probability) else None


def lines_bounds(lines: Trajectories, share: float) -> Bounds:
    """`lines_to_hold` of all lines, those below the floor too.

    Splitting a prefix into its lines can only lower what the n heaviest hold, adding lines only raise it.
    """
    return _bounds(lines, lines_to_hold(lines.coarse, share), lines_to_hold(lines.probability, share))


def _bounds(lines: Trajectories, low: int | None, high: int | None) -> Bounds:
    followed = float(lines.probability.sum())
    if low is None:
        raise ValueError(f"the lines hold {followed:g} and {lines.cut_mass:g} was cut, which is not 1 in all")
    if high is None:
        return Bounds(low, None, f"the lines that were followed hold {followed:.4f}; lower mass_floor")
    return Bounds(low, high)


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise ValueError(f"share: {share} is out of range; allowed: strictly between 0 and 1")
