"""The tabiyas and the stage `coverage`."""

import csv
import json

import chess
import numpy as np
import pandas as pd
import pytest

from searchless_rl.board import GameBatch, move_index
from searchless_rl.evaluation.coverage import (
    coverage_bounds,
    draws_to_cover,
    enumerate_trajectories,
    lines_bounds,
)
from searchless_rl.evaluation.coverage_stage import DRAWS, run_coverage
from searchless_rl.evaluation.tabiyas import START, read_tabiyas
from searchless_rl.nets.evaluator import Evaluator


def _indices(moves):
    board, indices = chess.Board(), []
    for uci in moves:
        move = chess.Move.from_uci(uci)
        indices.append(move_index(board, move))
        board.push(move)
    return indices


def test_the_tabiyas_are_read_and_reach_their_positions(tabiyas):
    rows = read_tabiyas(tabiyas)
    assert [tabiya.name for tabiya in rows] == [
        "start", "ruy_lopez_closed", "najdorf_english_attack", "qgd_tartakower",
    ]  # fmt: skip
    assert [len(tabiya.moves) for tabiya in rows] == [0, 16, 11, 14]
    with tabiyas.open() as stream:
        for tabiya, row in zip(rows[1:], csv.DictReader(stream), strict=True):
            games = GameBatch.replay([None], [_indices(tabiya.moves)])
            assert games.board_fen(0).split()[:3] == row["fen"].split()[:3]


@pytest.mark.parametrize(("old", "new", "message"), [
    ("b7b5 a4b3 ", "b7b5 ", "line 2, ruy_lopez_closed: plies is 16 and uci has 15 moves"),
    ("h7h6 g5h4", "h7h6 g5h5", "line 4, qgd_tartakower: illegal uci: 'g5h5'"),
    ("c5d4 f3d4", "c5d4 d1d4", "line 3, najdorf_english_attack: the moves reach rnbqkb1r"),
    ("b KQkq - 1 6", "w KQkq - 1 6", "line 3, najdorf_english_attack: the moves reach"),
    ("qgd_tartakower", "start", "line 4, start: the name is taken"),
    ("name,eco", "name,code", "columns name, code"),
    (",C90,16", ",16", "line 2, ruy_lopez_closed: the row does not have 5 fields"),
])  # fmt: skip
def test_a_faulty_file_of_tabiyas_is_named(tabiyas, tmp_path, old, new, message):
    path = tmp_path / "faulty.csv"
    path.write_text(tabiyas.read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as caught:
        read_tabiyas(path)
    assert str(path) in str(caught.value)


def _run(pytestconfig, tabiyas, out, **changes):
    weights = pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz"
    settings = dict(policies=("raw", "adaptive"), plies=2, mass_floor=1e-4, batch_size=32) | changes
    run_coverage(weights, "micro", tabiyas, out, **settings)


def test_the_stage_writes_what_is_measured_and_equal_bytes_twice(tmp_path, pytestconfig, tabiyas, network):
    written = []
    for out in (tmp_path / "a", tmp_path / "b"):
        _run(pytestconfig, tabiyas, out)
        written.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert written[0] == written[1]
    assert set(written[0]) == {"summary.json", "curves.csv"}
    summary = json.loads(written[0]["summary.json"])
    assert (summary["model"], summary["plies"], summary["mass_floor"]) == ("micro", 2, 1e-4)
    assert list(summary["positions"]) == [tabiya.name for tabiya in read_tabiyas(tabiyas)]
    curves = pd.read_csv(tmp_path / "a" / "curves.csv")
    assert len(curves) == 4 * 2 * len(DRAWS)
    for tabiya in read_tabiyas(tabiyas):
        lines = enumerate_trajectories(
            Evaluator(network, 32), None, tabiya.moves, tau="adaptive", plies=2, mass_floor=1e-4
        )
        figures = summary["positions"][tabiya.name]["adaptive"]
        assert figures["draws_95"] == draws_to_cover(lines, 0.95)._asdict()
        assert figures["lines_95"] == lines_bounds(lines, 0.95)._asdict()
        assert figures["cut_mass"] == lines.cut_mass
        assert figures["evaluations"] == lines.evaluations
        assert figures["entropy"] == lines.entropy
        assert figures["heaviest"] == lines.probability[0]
        curve = curves[(curves["position"] == tabiya.name) & (curves["policy"] == "adaptive")]
        low, high = coverage_bounds(lines, curve["draws"])
        np.testing.assert_allclose(curve[["coverage", "upper"]], np.stack([low, high], 1), rtol=1e-12)
    assert summary["positions"][START]["raw"] != summary["positions"][START]["adaptive"]


def test_the_draws_of_the_curves_begin_with_one_and_differ():
    assert DRAWS[0] == 1
    assert DRAWS[-1] >= 10**5
    assert (np.diff(DRAWS) > 0).all()
    assert {10, 100, 1000, 10_000, 100_000} <= set(DRAWS.tolist())


@pytest.mark.parametrize("policies", [(), ("raw", "raw"), ("tempered",)])
def test_unknown_policies_are_refused_before_anything_is_measured(tmp_path, pytestconfig, tabiyas, policies):
    with pytest.raises(ValueError, match="name raw or adaptive"):
        _run(pytestconfig, tabiyas, tmp_path, policies=policies)
