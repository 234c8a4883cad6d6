"""Value calibration and opening diversity against a plain record of every game."""

import numpy as np
import pytest
import torch

from searchless_rl.board import GameBatch
from searchless_rl.selfplay.game_statistics import OPENING_PLIES, RECENT, GameStatistics

MATE_BY_BLACK = "f2f3 e7e5 g2g4 d8h4".split()
MATE_BY_WHITE = "e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7".split()
SHUFFLE = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8".split()


def _play(scripts, ledger, value):
    """Play one script a row, each again when it ends, for 16 plies; figures by ply."""
    games = GameBatch([None] * len(scripts))
    rows = np.arange(len(scripts))
    history = [[] for _ in scripts]
    figures, plain = [], []
    for ply in range(16):
        moves = [script[len(games.moves[row]) % len(script)] for row, script in enumerate(scripts)]
        was_white = games.is_white.copy()
        games.step(rows, np.array([games.index(row, uci) for row, uci in enumerate(moves)]))
        v = value(ply, rows)
        for row in rows:
            history[row].append(v[row] if was_white[row] else 1 - v[row])
        over = games.over.copy()
        figures.append(ledger.observe(v, games, over))
        finished = []
        for row in np.flatnonzero(over):
            result = {0: 0.0, 1: 1.0, 2: 0.5}[row]
            finished += [(p, result) for p in history[row]]
            history[row] = []
        plain.append(finished)
        ledger.read_openings(games)
        games.restart(np.flatnonzero(over))
        ledger.begin(np.flatnonzero(over))
    return figures, plain


def test_calibration_is_that_of_a_plain_record():
    rng = np.random.default_rng(0)
    table = rng.random((16, 3))
    ledger = GameStatistics(3)
    figures, plain = _play([MATE_BY_BLACK, MATE_BY_WHITE, SHUFFLE], ledger, lambda ply, rows: table[ply])
    assert sum(bool(part) for part in plain) >= 5
    for found, pairs in zip(figures, plain, strict=True):
        if not pairs:
            assert found == {}
            continue
        predicted, outcome = np.array(pairs).T
        assert found["value_brier"] == pytest.approx(((predicted - outcome) ** 2).mean())
        assert found["value_predicted"] == pytest.approx(predicted.mean())
        assert found["value_outcome"] == pytest.approx(outcome.mean())


def test_openings_count_games_begun_in_training_only():
    ledger = GameStatistics(3)
    _play([MATE_BY_BLACK, MATE_BY_WHITE, SHUFFLE], ledger, lambda ply, rows: np.full(3, 0.5))
    # Each row restarts at plies 4, 7 and 8; row 0 plays three more whole games, the others one more each.
    assert ledger.openings() == {"openings_played": 5, "openings_distinct": 3, "openings_recent": 3}


def test_state_is_whole_and_loads_without_pickle(tmp_path):
    ledger = GameStatistics(2)
    scripts, table = [MATE_BY_BLACK, MATE_BY_WHITE], np.random.default_rng(1).random((32, 2))
    _play(scripts, ledger, lambda ply, rows: table[ply])
    torch.save(ledger.state(), tmp_path / "state")
    copy = GameStatistics(2)
    copy.restore(torch.load(tmp_path / "state", weights_only=True))
    assert copy.openings() == ledger.openings()
    later = [_play(scripts, each, lambda ply, rows: table[16 + ply])[0] for each in (ledger, copy)]
    assert later[0] == later[1]
    assert copy.openings() == ledger.openings()


def test_recent_openings_forget():
    ledger = GameStatistics(1)
    games = GameBatch([None])
    lines = ["e2e4 e7e5 g1f3 b8c6"] + ["d2d4 d7d5 c2c4 e7e6"] * RECENT
    for line in lines:
        games.restart(np.array([0]))
        ledger.begin(np.array([0]))
        for uci in line.split()[:OPENING_PLIES]:
            ledger.read_openings(games)
            games.step(np.array([0]), np.array([games.index(0, uci)]))
        ledger.read_openings(games)
        ledger.read_openings(games)  # reading twice counts once
    assert ledger.openings() == {
        "openings_played": RECENT + 1,
        "openings_distinct": 2,
        "openings_recent": 1,
    }
