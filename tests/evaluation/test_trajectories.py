"""The enumeration of trajectories against python-chess, one position at a time, and sampling."""

import math

import chess
import numpy as np
import pytest
import torch

from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.evaluation import coverage
from searchless_rl.evaluation.coverage import (
    draws_to_cover,
    enumerate_trajectories,
    expected_coverage,
    lines_bounds,
)
from searchless_rl.evaluation.tabiyas import read_tabiyas
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator
from searchless_rl.selfplay import distributions

RUY_LOPEZ = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6".split()
SHUFFLE = "g1f3 g8f6 f3g1 f6g8".split()


def _flat(planes):
    """A player who likes all moves alike."""
    return Evaluation(np.zeros((len(planes), 1858), np.float32), np.full((len(planes), 3), 1 / 3, np.float32))


def _over(board):
    return (
        not any(board.legal_moves)
        or board.is_insufficient_material()
        or board.is_repetition(3)
        or board.halfmove_clock >= 100
    )


def _slow_lines(network, fen, moves, tau, plies):
    """{line: probability} with python-chess and one position at a time; `network` None likes all alike."""
    board = chess.Board(fen or chess.STARTING_FEN)
    for uci in moves:
        board.push_uci(uci)
    if plies == 0 or _over(board):
        return {(): 1.0}
    legal = list(board.legal_moves)
    policy = np.ones(len(legal))
    if network is not None:
        with torch.no_grad():
            out = network(torch.from_numpy(encode_game(fen, moves))[None])
        logits = np.array([out.policy[0, move_index(board, move)].item() for move in legal])
        share = out.wdl[0].double().numpy()
        power = 1 / (-(share * np.log(share)).sum() if tau == "adaptive" else tau)
        policy = np.exp(power * (logits - logits.max()))
    lines = {}
    for move, chance in zip(legal, policy / policy.sum(), strict=True):
        rest = _slow_lines(network, fen, [*moves, move.uci()], tau, plies - 1)
        lines |= {(move.uci(), *line): chance * share for line, share in rest.items()}
    return lines


def _perft(board, depth):
    if depth == 1:
        return board.legal_moves.count()
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += _perft(board, depth - 1)
        board.pop()
    return total


@pytest.mark.parametrize(("plies", "lines", "asked"), [(1, 20, 1), (2, 400, 21), (3, 8902, 421)])
def test_all_lines_from_the_start(plies, lines, asked):
    found = enumerate_trajectories(_flat, None, [], tau=1.0, plies=plies)
    assert (len(found.probability), found.evaluations, found.cut_mass) == (lines, asked, 0)


def test_the_papers_197281_lines():
    found = enumerate_trajectories(_flat, None, [], tau=1.0, plies=4)
    assert len(found.probability) == 197_281
    assert found.evaluations == 1 + 20 + 400 + 8902
    assert found.probability.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(found.probability) <= 0).all()


def test_the_tabiyas_have_as_many_lines_as_python_chess_counts(tabiyas):
    for tabiya in read_tabiyas(tabiyas)[1:]:
        board = chess.Board()
        for uci in tabiya.moves:
            board.push_uci(uci)
        found = enumerate_trajectories(_flat, None, tabiya.moves, tau=1.0, plies=3)
        assert len(found.probability) == _perft(board, 3), tabiya.name
        assert found.evaluations == 1 + _perft(board, 1) + _perft(board, 2), tabiya.name


@pytest.mark.parametrize(
    ("fen", "moves", "plies"),
    [
        (None, "f2f3 e7e5 g2g4".split(), 3),  # one move mates at once
        ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", [], 3),  # mates and stalemates
        ("8/8/8/3k4/8/8/4p3/4K2N b - - 0 1", [], 3),  # captures that leave too little material
        ("8/8/4k3/8/8/4K3/8/R7 w - - 98 80", [], 3),  # the fifty-move rule two plies away
        (None, SHUFFLE + SHUFFLE[:2], 3),  # a third occurrence two plies away
    ],
)
def test_lines_that_end_early_are_complete(fen, moves, plies):
    expected = _slow_lines(None, fen, moves, 1.0, plies)
    assert any(len(line) < plies for line in expected)
    found = enumerate_trajectories(_flat, fen, moves, tau=1.0, plies=plies)
    np.testing.assert_allclose(found.probability, sorted(expected.values(), reverse=True), rtol=1e-12)


def test_a_finished_game_has_the_empty_line():
    found = enumerate_trajectories(_flat, None, "f2f3 e7e5 g2g4 d8h4".split(), tau=1.0, plies=4)
    assert (found.probability.tolist(), found.evaluations) == ([1.0], 0)


@pytest.mark.parametrize("tau", [1.0, 0.5, "adaptive"])
@pytest.mark.parametrize(("fen", "moves", "plies"), [
    (None, RUY_LOPEZ, 2),
    (None, SHUFFLE, 2),
    ("8/P4k2/8/8/8/8/5p2/K7 w - - 0 1", [], 3),
])  # fmt: skip
def test_probabilities_agree_with_one_position_at_a_time(network, fen, moves, plies, tau):
    """Real history planes: the moves before the position are part of what the network sees."""
    expected = sorted(_slow_lines(network, fen, moves, tau, plies).values(), reverse=True)
    found = enumerate_trajectories(Evaluator(network, 32), fen, moves, tau=tau, plies=plies)
    np.testing.assert_allclose(found.probability, expected, rtol=1e-4)
    assert found.probability.sum() == pytest.approx(1, abs=1e-12)


def test_the_moves_before_a_position_matter(network):
    board = chess.Board()
    for uci in RUY_LOPEZ:
        board.push_uci(uci)
    evaluator = Evaluator(network, 32)
    bare = enumerate_trajectories(evaluator, board.fen(), [], tau=1.0, plies=1).probability
    real = enumerate_trajectories(evaluator, None, RUY_LOPEZ, tau=1.0, plies=1).probability
    assert np.abs(bare - real).max() > 1e-3


def test_lines_do_not_depend_on_chunks(network, monkeypatch):
    evaluator = Evaluator(network, 32)
    whole = enumerate_trajectories(evaluator, None, RUY_LOPEZ, tau="adaptive", plies=2)
    monkeypatch.setattr(coverage, "CHUNK", 7)
    seen = []
    pieces = enumerate_trajectories(evaluator, None, RUY_LOPEZ, tau="adaptive", plies=2, advance=seen.append)
    assert np.array_equal(whole.probability, pieces.probability)
    assert max(seen) == 7
    assert sum(seen) == pieces.evaluations == whole.evaluations


@pytest.mark.parametrize(("arguments", "message"), [
    (dict(plies=0), "plies: 0"),
    (dict(mass_floor=1.0), "mass_floor: 1.0"),
    (dict(tau=-0.1), "tau: -0.1"),
    (dict(moves=["e2e4", "e7e6", "e4e6"]), r"illegal move e4e6 \(move 3, in rnbqkbnr/pppp1ppp"),
    (dict(fen="8/8/8/8/8/8/8/8 w - - 0 1"), "not a playable position"),
])  # fmt: skip
def test_bad_arguments_are_named(arguments, message):
    given = dict(fen=None, moves=[], tau=1.0, plies=1) | arguments
    with pytest.raises(ValueError, match=message):
        enumerate_trajectories(_flat, given.pop("fen"), given.pop("moves"), **given)


def test_sampled_lines_cover_what_is_computed(network):
    """Lines sampled move by move with self-play's own sampler: 400 repetitions of 64 draws, z below 4."""
    repetitions, draws = 400, 64
    evaluator, rng = Evaluator(network, 32), np.random.default_rng(11)
    games = GameBatch.replay([None], [_indices(RUY_LOPEZ)])
    line, log_mass = np.zeros(repetitions * draws, np.int64), np.zeros(repetitions * draws)
    where = np.zeros(repetitions * draws, np.int64)
    for _ in range(2):
        rows = distributions.LegalRows.of(games.legal())
        out = evaluator(games.planes())
        tau = distributions.wdl_entropy(torch.from_numpy(out.wdl).double())
        log_mu = distributions.temper(rows.log_policy(torch.from_numpy(out.policy).double()), rows.mask, tau)
        column = distributions.sample(log_mu[where], rows.mask[where], rng.random(len(line))).numpy()
        move = rows.index.numpy()[where, column]
        log_mass += log_mu.numpy()[where, column]
        line = 1858 * line + move
        # One game for each different line so far.
        line_ids, first, place = np.unique(line, return_index=True, return_inverse=True)
        games = games.select(where[first])
        games.step(np.arange(len(line_ids)), move[first])
        where = place
    seen = [
        np.exp(log_mass[start : start + draws])[np.unique(line[start : start + draws], return_index=True)[1]]
        for start in range(0, len(line), draws)
    ]
    masses = np.array([part.sum() for part in seen])
    lines = enumerate_trajectories(evaluator, None, RUY_LOPEZ, tau="adaptive", plies=2)
    expected = expected_coverage(lines.probability, [draws])[0]
    assert 0.05 < expected < 0.95
    assert abs(masses.mean() - expected) < 4 * masses.std(ddof=1) / math.sqrt(repetitions)
    assert masses.std(ddof=1) / math.sqrt(repetitions) < 0.01


def _indices(moves):
    board, indices = chess.Board(), []
    for uci in moves:
        move = chess.Move.from_uci(uci)
        indices.append(move_index(board, move))
        board.push(move)
    return indices


@pytest.mark.slow
def test_the_floor_moves_the_draws_of_a_real_network_by_less_than_a_thousandth(shared):
    """maia-1900 from the start: 24,588 draws, 1,488 lines, as measured without a floor."""
    evaluator = Evaluator(load_network(shared / "lc0" / "maia-1900.pb.gz"), 256)
    exact = enumerate_trajectories(evaluator, None, [], tau=1.0, plies=4)
    assert len(exact.probability) == 197_281
    assert draws_to_cover(exact, 0.95).low == pytest.approx(24_588, rel=1e-3)
    assert lines_bounds(exact, 0.95).low == pytest.approx(1_488, rel=1e-3)
    cut = enumerate_trajectories(evaluator, None, [], tau=1.0, plies=4, mass_floor=1e-6)
    low, high, _ = draws_to_cover(cut, 0.95)
    assert low <= draws_to_cover(exact, 0.95).low <= high
    assert high - low < 1e-3 * low
    assert cut.evaluations < 0.4 * exact.evaluations
