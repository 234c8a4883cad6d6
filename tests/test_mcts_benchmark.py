"""benchmarks/mcts.py: what is measured and compared, with a tiny network and without the machine's speed."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
MICRO = BENCHMARKS.parent / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"


@pytest.fixture
def mcts(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("mcts")


def test_rows_without_lc0(mcts, monkeypatch):
    monkeypatch.setattr(mcts.shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(mcts, "resolve_precision", lambda _: "float32")
    rows = {row.setting: row for row in mcts.measure(MICRO, [2, 4], 6, 1)}
    assert rows["the real lc0"].met == "not measured: lc0 is not installed"
    for count in (2, 4):
        share = rows[f"network share, {count} trees, 6 simulations"]
        assert 0 < share.value < 100
        assert bool(share.target) == (count == 4)
    assert 768 < rows["memory per node"].value < 20_000  # at least the bitboards of eight plies


def test_the_target_is_held_against_lc0_both_ways(mcts):
    medians = {"forward": 1500.0, (4, False): 1200.0, (4, True): 1800.0, (2, False): 900.0}
    medians |= {("share", *how): 0.9 for how in ((2, False), (4, False), (4, True))}
    medians |= dict(zip(mcts.LC0_SETTINGS, (400.0, 800.0), strict=True))
    searches = [(2, False), (4, False), (4, True)]
    rows = {row.setting: row for row in mcts._rows(medians, searches, list(mcts.LC0_SETTINGS), 9)}
    first, second = mcts.LC0_SETTINGS
    assert (rows[f"4 trees, 9 simulations, beside {first}"].met) == "yes"
    assert (rows[f"4 trees, 9 simulations, beside {second}"].met) == "no"
    assert rows[f"4 trees, 9 simulations, beside {second}"].ratio == 1.5
    assert rows[f"4 trees, 9 simulations, bf16, beside {first}"].target == ""
    assert rows[f"2 trees, 9 simulations, beside {first}"].target == ""


def test_games_that_go_on(mcts):
    games = mcts.random_games(16)
    assert not games.over.any()
    assert len(set(games.moves)) == 16
