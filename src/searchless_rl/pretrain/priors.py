"""What priors of different origins are like: on puzzles, on positions by how decided they are, and in play.

The paper's appendix C reasons that a prior distilled from visit counts is broad where a search was undecided
and sharp where it was decisive. Here that is measured: entropies of the search's visits, of the network that
guided it and of its student, and the temperature τ, by how decided the search found a position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from searchless_rl.arena.book import make_book
from searchless_rl.arena.players import Player
from searchless_rl.arena.stage import ArenaSettings, run_arena
from searchless_rl.evaluation.policy import log_probabilities
from searchless_rl.evaluation.sampled_games import sample_games
from searchless_rl.evaluation.tactics import score_suite, summarize
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.pretrain.dataset import Positions
from searchless_rl.pretrain.settings import PriorParams
from searchless_rl.statistics.bootstrap import geometric_mean
from searchless_rl.statistics.calibration import (
    CalibrationError,
    brier,
    cross_validated,
    fit_calibration,
    log_forecasts,
)
from searchless_rl.suites.files import SuiteItem, read_suite
from searchless_rl.supervised.control import encode_examples, solver_examples

SUITES = ("selection", "main", "hard")
DECIDED = (0.0, 0.1, 0.3, 0.6, 0.9, 1.0)
"""Bounds of |value| of the search, between which positions are taken together."""
_BATCH = 256


def measure_network(weights: Path, suites: Path, params: PriorParams) -> dict[str, Any]:
    """Puzzles solved, mass on solutions and entropy at solver positions, and scores of the value head.

    Args:
        weights: the network.
        suites: folder of the puzzle suites.
        params: how many games its value head is judged by.

    Returns:
        By suite the figures of `evaluation.tactics.summarize` with `geometric_low` and `geometric_high` (95 %
        bootstrap over puzzles) and `entropy` (nats, mean over solver positions of the marked line); `value`
        with the Brier scores of the forecasts as they are and calibrated out of sample.
    """
    evaluator = Evaluator(load_network(weights), _BATCH)
    found: dict[str, Any] = {}
    for name in SUITES:
        items = read_suite(suites / f"{name}.csv")
        scores = score_suite(evaluator, items)
        mean = geometric_mean(scores.puzzles["log_probability"].to_numpy(), seed=0)
        found[name] = summarize(scores.puzzles) | {
            "geometric_low": mean.low,
            "geometric_high": mean.high,
            "entropy": _solver_entropy(evaluator, items),
        }
    found["value"] = _value_head(evaluator, params)
    return found


def _solver_entropy(evaluator: Evaluator, items: Sequence[SuiteItem]) -> float:
    """Mean entropy of the policy in nats, over every position that a solver faces."""
    examples = solver_examples(item.puzzle for item in items)
    total = 0.0
    for begin in range(0, len(examples), _BATCH):
        batch = encode_examples(examples[begin : begin + _BATCH])
        log_policy = log_probabilities(evaluator(batch.planes).policy, batch.legal)
        total -= float((np.exp(log_policy) * log_policy).sum())
    return total / len(examples)


def _value_head(evaluator: Evaluator, params: PriorParams) -> dict[str, float | None]:
    """Scores of the value head; None of a calibration that cannot be fitted to so few games."""
    games = sample_games(evaluator, params.games, seed=params.seed, max_plies=512)
    logits = log_forecasts(games.wdl)
    shares = np.bincount(games.outcome, minlength=3) / len(games.outcome)
    found: dict[str, float | None] = {
        "brier_file": brier(games.wdl.astype(np.float64), games.outcome),
        "brier_constant": float(1 - (shares**2).sum()),
    }
    try:
        fitted = fit_calibration(logits, games.outcome)
        held_out = brier(cross_validated(logits, games.outcome, games.game), games.outcome)
    except CalibrationError:
        return found | dict.fromkeys(("brier_calibrated", "scale", "draw"))
    return found | {"brier_calibrated": held_out, "scale": fitted.scale, "draw": fitted.draw}


def by_decidedness(positions: Positions, networks: Mapping[str, Path]) -> pd.DataFrame:
    """Entropies and temperatures by how decided the search found the positions.

    Args:
        positions: with the search's visits as targets.
        networks: name -> weights, of any number of networks.

    Returns:
        A row per bin of |value|: low, high, positions, share, visits (mean entropy of the visits, nats), and
        of each network NAME_entropy (of its policy) and NAME_tau (entropy of its win/draw/loss forecast).
    """
    target = positions.target.astype(np.float64)
    spread = np.where(target > 0, -target * np.log(np.where(target > 0, target, 1)), 0.0)
    columns = {"visits": np.add.reduceat(spread, positions.legal.start[:-1])}
    for name, weights in networks.items():
        columns |= {f"{name}_{key}": part for key, part in _entropies(weights, positions).items()}
    size = np.abs(positions.value.astype(np.float64))
    place = np.clip(np.digitize(size, DECIDED) - 1, 0, len(DECIDED) - 2)
    rows = []
    for number, (low, high) in enumerate(pairwise(DECIDED)):
        inside = place == number
        means = {name: float(values[inside].mean()) for name, values in columns.items() if inside.any()}
        count = int(inside.sum())
        rows.append({"low": low, "high": high, "positions": count, "share": count / len(size), **means})
    return pd.DataFrame(rows)


def _entropies(weights: Path, positions: Positions) -> dict[str, np.ndarray]:
    """float64 [N] each: entropy of the policy over legal moves, and of the win/draw/loss forecast."""
    evaluator = Evaluator(load_network(weights), _BATCH)
    entropy, tau = [], []
    for begin in range(0, len(positions), 4 * _BATCH):
        rows = np.arange(begin, min(begin + 4 * _BATCH, len(positions)))
        part = positions.select(rows)
        found = evaluator(part.encoded.planes(np.arange(len(rows))))
        log_policy = log_probabilities(found.policy, part.legal)
        entropy.append(-np.add.reduceat(np.exp(log_policy) * log_policy, part.legal.start[:-1]))
        tau.append(torch.special.entr(torch.from_numpy(found.wdl).double()).sum(1).numpy())
    return {"entropy": np.concatenate(entropy), "tau": np.concatenate(tau)}


def play_networks(networks: Mapping[str, Path], out: Path, scratch: Path, params: PriorParams) -> None:
    """A round-robin of the networks' most likely moves, into `out` (see `arena.stage.run_arena`).

    Args:
        networks: name -> weights; the first one makes the book.
        out: where the games go.
        scratch: holds unfinished games.
        params: games of each pair, an even number.
    """
    names = list(networks)
    book = scratch / "openings.csv"
    if not book.exists():
        make_book(networks[names[0]], book, count=params.arena_games // 2, seed=params.seed, batch_size=64)
    run_arena(
        [Player(name, networks[name]) for name in names],
        book,
        out,
        ArenaSettings(games=params.arena_games, seed=params.seed, batch_size=32),
        scratch=scratch / "arena",
        show_progress=True,
    )
