"""Planes and move indices recorded from the real lc0 0.32.1."""

import json

import chess
import numpy as np
import pytest

from searchless_rl.board import GameBatch, encode_game, move_index


def _positions(path):
    return json.loads(path.with_suffix(".json").read_text())["positions"]


@pytest.fixture(params=["micro_bt4", "tiny_bt4", "maia-1100", "maia-1900"])
def golden(request):
    if request.param == "micro_bt4":  # shipped
        folder = request.config.rootpath / "tests" / "data" / "lc0"
    else:
        folder = request.getfixturevalue("shared") / "lc0" / "golden"
    path = folder / f"{request.param}.npz"
    return _positions(path), np.load(path)["planes"]


def test_planes_are_exactly_lc0s(golden):
    positions, planes = golden
    assert len(positions) == len(planes) == 14
    for position, expected in zip(positions, planes, strict=True):
        np.testing.assert_array_equal(encode_game(position["fen"], position["moves"]), expected)


def test_move_indices_are_exactly_lc0s(golden):
    for position in golden[0]:
        board = chess.Board(position["fen"] or chess.STARTING_FEN)
        game = GameBatch([position["fen"]])
        for uci in position["moves"]:
            game.step(np.array([0]), np.array([game.index(0, uci)]))
            board.push_uci(uci)
        expected = dict(zip(position["legal"], position["policy_index"], strict=True))
        assert {uci: move_index(board, chess.Move.from_uci(uci)) for uci in expected} == expected
        assert {uci: game.index(0, uci) for uci in expected} == expected
        assert {game.uci(0, index): index for index in game.legal().index.tolist()} == expected
