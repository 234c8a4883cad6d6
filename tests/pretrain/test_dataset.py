"""Games become positions with their targets: held to python-chess and to the one-position encoder."""

import chess
import numpy as np
import pytest

from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.pretrain.dataset import positions_of
from searchless_rl.pretrain.records import LabelledGame

LINES = {
    "fool's mate": ("f2f3 e7e5 g2g4 d8h4", -1),
    "scholar's mate": ("e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7", 1),
    "cut": ("g1f3 g8f6 f3g1 f6g8 e2e4", 0),
}


def labelled(line, result, every=1):
    """A game whose targets are two legal moves of every `every`-th position, weights 3 and 1."""
    board, games = chess.Board(), GameBatch([None])
    plies, moves, weights, values = [], [], [], []
    for ply, uci in enumerate(line.split()):
        if ply % every == 0:
            legal = [move_index(board, move) for move in board.legal_moves]
            plies.append(ply)
            moves += [legal[0], legal[-1]]
            weights += [3.0, 1.0]
            values.append(0.1 * ply - 0.2)
        games.play([[uci]])
        board.push_uci(uci)
    return LabelledGame(
        None,
        games.moves[0],
        result,
        np.array(plies, np.uint16),
        np.full(len(plies), 2, np.uint8),
        np.array(moves, np.uint16),
        np.array(weights, np.float32),
        np.array(values, np.float32),
    )


@pytest.fixture(scope="module")
def games():
    return [
        labelled(line, result, every) for (line, result), every in zip(LINES.values(), (1, 2, 1), strict=True)
    ]


def test_planes_moves_targets_and_outcomes(games):
    found = positions_of(games, first_game=7)
    assert len(found) == sum(len(game.plies) for game in games)
    seen = set()
    for row in range(len(found)):
        number = found.game[row] - 7
        line, result = list(LINES.values())[number]
        game = games[number]
        ply = next(
            int(ply) for ply, value in zip(game.plies, game.values, strict=True) if value == found.value[row]
        )
        seen.add((number, ply))
        board = chess.Board()
        for uci in line.split()[:ply]:
            board.push_uci(uci)
        planes = found.encoded.planes(np.array([row]))[0]
        np.testing.assert_array_equal(planes, encode_game(None, line.split()[:ply]))
        own = slice(found.legal.start[row], found.legal.start[row + 1])
        indices = sorted(move_index(board, move) for move in board.legal_moves)
        assert found.legal.index[own].tolist() == indices
        moves = [move_index(board, move) for move in board.legal_moves]
        expected = np.zeros(len(indices))
        expected[indices.index(moves[0])], expected[indices.index(moves[-1])] = 0.75, 0.25
        np.testing.assert_allclose(found.target[own], expected)
        for_mover = result if board.turn == chess.WHITE else -result
        assert found.outcome[row] == {1: 0, 0: 1, -1: 2}[for_mover]
    assert len(seen) == len(found)


def test_some_positions_are_theirs_alone(games):
    found = positions_of(games)
    rows = np.array([4, 0, 9])
    part = found.select(rows)
    for place, row in enumerate(rows):
        own = slice(found.legal.start[row], found.legal.start[row + 1])
        mine = slice(part.legal.start[place], part.legal.start[place + 1])
        assert part.legal.index[mine].tolist() == found.legal.index[own].tolist()
        assert part.target[mine].tolist() == found.target[own].tolist()
    np.testing.assert_array_equal(part.encoded.planes(np.arange(3)), found.encoded.planes(rows))
    assert part.legal.row.tolist() == np.repeat(np.arange(3), np.diff(part.legal.start)).tolist()


def test_a_target_that_names_no_legal_move_is_refused(games):
    from dataclasses import replace

    wrong = replace(games[0], target_moves=np.full_like(games[0].target_moves, 1857))
    with pytest.raises(ValueError, match="game 0, after 0 plies: the target names a move that is not legal"):
        positions_of([wrong])
