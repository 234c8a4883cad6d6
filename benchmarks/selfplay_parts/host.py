"""Work on the processor for one ply of a game, beside lczerolens and python-chess.

A whole ply is: the 112 planes with their history, the legal moves, a move sampled from given logits over
them, the move itself, the test for the end of the game, a new game where it is over. Both sides play the same
games, made of random moves, in one batch, from the ply that is named; they take turns, and the medians of the
rounds are compared. The baseline is lczerolens' encoder with python-chess' rules, written as one would
(`lczerolens_baseline.py`), its end of game `outcome(claim_draw=True)`. That asks also whether some next move
could claim a draw, which this project's rule does not; the rows "draws that stand" leave this work out of the
baseline. The ratio says how many times faster this project is.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
from shared.rows import Row
from tqdm import tqdm

from searchless_rl.board import POLICY_SIZE, GameBatch
from searchless_rl.selfplay.distributions import LegalRows, sample
from selfplay_parts.baseline import Baseline
from selfplay_parts.settings import Settings, random_games

PART = "host"


def play_ply(games: GameBatch, logits: torch.Tensor, uniform: np.ndarray) -> dict[str, float]:
    """Seconds of one ply of every game (encode; play, the rest), and legal_moves, their count."""
    begun = time.perf_counter()
    torch.from_numpy(games.planes())
    encoded = time.perf_counter()
    legal = LegalRows.of(games.legal())
    column = sample(legal.log_policy(logits), legal.mask, uniform)
    games.step(np.arange(len(games)), legal.index.gather(1, column[:, None]).squeeze(1).numpy())
    games.restart(np.flatnonzero(games.over))
    played = time.perf_counter()
    return {
        "encode": encoded - begun,
        "play": played - encoded,
        "legal_moves": int(legal.mask.sum()),
    }


def measure(settings: Settings, environment: Path, threads: int) -> list[Row]:
    """Rows of this part.

    Raises:
        SystemExit: the two sides do not have the same legal moves.
    """
    count, plies = settings.games, settings.plies
    moves, texts = random_games(count, max(plies) + 1, seed=0)
    generator = np.random.default_rng(1)
    logits = torch.from_numpy(generator.standard_normal((count, POLICY_SIZE), np.float32))
    at = {ply: GameBatch.replay([None] * count, [line[:ply] for line in moves]) for ply in plies}
    ours, theirs = _Samples(), _Samples()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "games.json"
        path.write_text(json.dumps(texts), encoding="utf-8")
        with Baseline(environment, path, threads) as baseline:
            for number in tqdm(range(settings.rounds + 1), desc=PART, unit="round"):
                for ply in plies:
                    # A copy of games whose legal moves have not been asked for, and are not remembered.
                    mine = play_ply(at[ply].select(np.arange(count)), logits, generator.random(count))
                    other = baseline.play(ply)
                    if mine["legal_moves"] != other["legal_moves"]:
                        raise SystemExit(f"ply {ply}: {mine} and {other} differ in legal moves")
                    if number:  # the first round warms up
                        ours.add(ply, mine, encode=("encode",), whole=("encode", "play"))
                        theirs.add(
                            ply,
                            other,
                            encode=("encode",),
                            whole=("encode", "play", "end"),
                            stands=("encode", "play", "end_now"),
                        )
    return [row for ply in plies for row in _rows(ply, count, ours, theirs)]


class _Samples:
    """Seconds by ply and kind of work."""

    def __init__(self) -> None:
        self._seconds: dict[tuple[int, str], list[float]] = defaultdict(list)

    def add(self, ply: int, measured: dict[str, float], **kinds: tuple[str, ...]) -> None:
        """Add a round; each kind is the sum of some entries."""
        for kind, parts in kinds.items():
            self._seconds[ply, kind].append(sum(measured[part] for part in parts))

    def median(self, ply: int, kind: str) -> float:
        """Over the rounds."""
        return statistics.median(self._seconds[ply, kind])


def _rows(ply: int, count: int, ours: _Samples, theirs: _Samples) -> list[Row]:
    def against(label: str, kind: str, other: str, target: str = "") -> Row:
        mine, baseline = (
            1e6 * seconds / count for seconds in (ours.median(ply, kind), theirs.median(ply, other))
        )
        setting = f"{label}, ply {ply}, {count} games"
        return Row(PART, setting, mine, "µs per position", baseline, baseline / mine, target)

    mine, baseline = count / ours.median(ply, "encode"), count / theirs.median(ply, "encode")
    return [
        against("whole ply", "whole", "whole", "ratio >= 50" if ply == 60 else ""),
        against("whole ply, draws that stand", "whole", "stands"),
        Row(
            PART,
            f"encoding alone, ply {ply}, {count} games",
            mine,
            "boards/s",
            baseline,
            mine / baseline,
            "value >= 20000",
        ),
    ]
