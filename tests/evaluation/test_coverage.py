"""Trajectory coverage against python-chess, brute force, closed forms and sampling."""

import csv
import json
import math
from fractions import Fraction

import chess
import numpy as np
import pandas as pd
import pytest
import torch

from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.evaluation import coverage
from searchless_rl.evaluation.coverage import (
    Lines,
    coverage_bounds,
    draws_to_cover,
    enumerate_lines,
    expected_coverage,
    lines_bounds,
    lines_to_hold,
)
from searchless_rl.evaluation.coverage_stage import DRAWS, run_coverage
from searchless_rl.evaluation.policy import log_probabilities
from searchless_rl.evaluation.tabiyas import START, read_openings
from searchless_rl.evaluation.temperature import temper, wdl_entropy
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator
from searchless_rl.selfplay import distributions

RUY_LOPEZ = "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6".split()
SHUFFLE = "g1f3 g8f6 f3g1 f6g8".split()
COVERS = np.unique(np.geomspace(1, 1e8, 30).astype(np.int64))


@pytest.fixture(scope="module")
def tabiyas(pytestconfig):
    return pytestconfig.rootpath / "data" / "openings" / "tabiyas.csv"


@pytest.fixture(scope="module")
def network(pytestconfig):
    return load_network(pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz")


def _flat(planes):
    """A player who likes all moves alike."""
    return Evaluation(np.zeros((len(planes), 1858), np.float32), np.full((len(planes), 3), 1 / 3, np.float32))


def _uneven(planes):
    """A peaked player whose preferences depend on the position: a fixed random projection of the planes.

    Planes are whole numbers and the projection's entries multiples of 1/64, so that every order of summation
    gives the same float32: a position's logits do not depend on the batch or on the processor's kernels.
    """
    logits = planes.reshape(len(planes), -1) @ _PROJECTION
    return Evaluation(logits, np.full((len(planes), 3), 1 / 3, np.float32))


_PROJECTION = (
    np.round(12.8 * np.random.default_rng(5).standard_normal((112 * 64, 1858))).astype(np.float32) / 64
)


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


# The enumeration


@pytest.mark.parametrize(("plies", "lines", "asked"), [(1, 20, 1), (2, 400, 21), (3, 8902, 421)])
def test_all_lines_from_the_start(plies, lines, asked):
    found = enumerate_lines(_flat, None, [], tau=1.0, plies=plies)
    assert (len(found.probability), found.evaluations, found.cut_mass) == (lines, asked, 0)


def test_the_papers_197281_lines():
    found = enumerate_lines(_flat, None, [], tau=1.0, plies=4)
    assert len(found.probability) == 197_281
    assert found.evaluations == 1 + 20 + 400 + 8902
    assert found.probability.sum() == pytest.approx(1, abs=1e-12)
    assert (np.diff(found.probability) <= 0).all()


def test_the_tabiyas_have_as_many_lines_as_python_chess_counts(tabiyas):
    for opening in read_openings(tabiyas)[1:]:
        board = chess.Board()
        for uci in opening.moves:
            board.push_uci(uci)
        found = enumerate_lines(_flat, None, opening.moves, tau=1.0, plies=3)
        assert len(found.probability) == _perft(board, 3), opening.name
        assert found.evaluations == 1 + _perft(board, 1) + _perft(board, 2), opening.name


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
    found = enumerate_lines(_flat, fen, moves, tau=1.0, plies=plies)
    np.testing.assert_allclose(found.probability, sorted(expected.values(), reverse=True), rtol=1e-12)


def test_a_finished_game_has_the_empty_line():
    found = enumerate_lines(_flat, None, "f2f3 e7e5 g2g4 d8h4".split(), tau=1.0, plies=4)
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
    found = enumerate_lines(Evaluator(network, 32), fen, moves, tau=tau, plies=plies)
    np.testing.assert_allclose(found.probability, expected, rtol=1e-4)
    assert found.probability.sum() == pytest.approx(1, abs=1e-12)


def test_the_moves_before_a_position_matter(network):
    board = chess.Board()
    for uci in RUY_LOPEZ:
        board.push_uci(uci)
    evaluator = Evaluator(network, 32)
    bare = enumerate_lines(evaluator, board.fen(), [], tau=1.0, plies=1).probability
    real = enumerate_lines(evaluator, None, RUY_LOPEZ, tau=1.0, plies=1).probability
    assert np.abs(bare - real).max() > 1e-3


def test_lines_do_not_depend_on_chunks(network, monkeypatch):
    evaluator = Evaluator(network, 32)
    whole = enumerate_lines(evaluator, None, RUY_LOPEZ, tau="adaptive", plies=2)
    monkeypatch.setattr(coverage, "CHUNK", 7)
    seen = []
    pieces = enumerate_lines(evaluator, None, RUY_LOPEZ, tau="adaptive", plies=2, advance=seen.append)
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
        enumerate_lines(_flat, given.pop("fen"), given.pop("moves"), **given)


# The temperature


def test_the_ragged_temperature_is_the_one_of_self_play():
    games = GameBatch([None, "7k/8/5K2/6Q1/8/8/8/8 b - - 0 1", "8/P6k/8/8/8/8/8/K7 w - - 0 1"])
    legal = games.legal()
    logits = 20 * np.random.default_rng(1).standard_normal((3, 1858)).astype(np.float32)
    rows = distributions.LegalRows.of(legal)
    log_policy = rows.log_policy(torch.from_numpy(logits).double())
    for tau in (1.0986, 1.0, 0.3, 1e-3, 1e-9, 0.0):
        temperature = np.full(3, tau)
        expected = distributions.temper(log_policy, rows.mask, torch.from_numpy(temperature))
        found = temper(log_probabilities(logits, legal), legal, temperature)
        np.testing.assert_allclose(found, expected[rows.mask].numpy(), rtol=1e-9, atol=1e-12)


def test_zero_temperature_is_the_argmax_and_ties_share():
    legal = GameBatch([None, None]).legal()
    log_policy = np.log(np.full(40, 1e-4))
    log_policy[[3, 20, 31]] = 0.5, 0.2, 0.2
    mu = np.exp(temper(log_policy, legal, np.zeros(2)))
    assert np.flatnonzero(mu).tolist() == [3, 20, 31]
    assert mu[[3, 20, 31]].tolist() == [1.0, 0.5, 0.5]


def test_wdl_entropy_is_the_one_of_self_play():
    wdl = np.array([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0], [0.7, 0.2, 0.1]])
    expected = distributions.wdl_entropy(torch.from_numpy(wdl)).numpy()
    np.testing.assert_allclose(wdl_entropy(wdl), expected, rtol=1e-14)


# The mass floor


def test_the_uneven_player_plays_one_position_alike_in_every_batch():
    games = GameBatch([None]).select(np.zeros(20, np.int64))
    games.step(np.arange(20), games.legal(np.array([0])).index)
    planes = games.planes()
    assert (planes == np.round(planes)).all()
    whole = _uneven(planes).policy
    exact = planes[:2].reshape(2, -1).astype(np.float64) @ _PROJECTION.astype(np.float64)
    assert np.array_equal(whole[:2], exact)
    for size in (1, 2, 3, 7):
        parts = [_uneven(planes[begin : begin + size]).policy for begin in range(0, 20, size)]
        assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("floor", [1e-7, 1e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize("player", [_flat, _uneven])
def test_the_truth_lies_within_the_bounds(player, floor):
    exact = enumerate_lines(player, None, [], tau=1.0, plies=3)
    cut = enumerate_lines(player, None, [], tau=1.0, plies=3, mass_floor=floor)
    assert cut.probability.sum() + cut.cut_mass == pytest.approx(1, abs=1e-12)
    assert (cut.cut < floor).all()
    assert cut.evaluations <= exact.evaluations
    truth, slack = expected_coverage(exact.probability, COVERS), 1e-12
    low, high = coverage_bounds(cut, COVERS)
    assert (low <= truth + slack).all()
    assert (truth <= high + slack).all()
    assert (high <= low + cut.cut_mass + slack).all()
    assert high[0] - low[0] == pytest.approx((cut.cut**2).sum())  # one draw: far less than the cut mass
    assert cut.entropy <= exact.entropy + slack
    for share in (0.05, 0.5, 0.95, 0.99):
        for bounded in (draws_to_cover, lines_bounds):
            at_least, at_most, reason = bounded(cut, share)
            value = bounded(exact, share).low
            assert at_least <= value
            assert at_most is None or value <= at_most
            assert (reason is None) == (at_most is not None)


def test_the_floors_of_that_test_cut():
    masses = [
        enumerate_lines(_uneven, None, [], tau=1.0, plies=3, mass_floor=floor).cut_mass
        for floor in (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
    ]
    assert masses[0] == 0
    assert masses == sorted(set(masses))
    assert masses[1] < 0.02
    assert masses[-1] > 0.05


def test_a_share_that_the_floor_hides_has_no_upper_bound():
    lines = Lines(np.array([0.6, 0.3]), np.array([0.05, 0.05]), 0)
    for bounded in (draws_to_cover, lines_bounds):
        found = bounded(lines, 0.95)
        assert found.high is None
        assert "0.9000" in found.reason
        assert bounded(lines, 0.5).reason is None
    assert lines_bounds(lines, 0.95) == (3, None, found.reason)
    assert lines_bounds(lines, 0.5) == (1, 1, None)


def test_everything_below_the_floor():
    found = enumerate_lines(_flat, None, [], tau=1.0, plies=2, mass_floor=0.5)
    assert (len(found.probability), found.cut_mass, found.evaluations) == (0, pytest.approx(1), 1)
    assert draws_to_cover(found, 0.95).high is None


# Coverage of a known distribution


def test_coverage_by_exact_arithmetic():
    lines = [Fraction(7, 16), Fraction(5, 16), Fraction(1, 8), Fraction(1, 16), Fraction(1, 16)]
    probability = np.array([float(p) for p in lines])
    for draws in (1, 2, 3, 10, 100):
        expected = sum(p * (1 - (1 - p) ** draws) for p in lines)
        assert expected_coverage(probability, [draws])[0] == pytest.approx(float(expected), rel=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_one_draw_shows_the_sum_of_squares_and_more_draws_show_more(seed):
    probability = np.random.default_rng(seed).dirichlet(np.full(200, 0.1))
    found = expected_coverage(probability, COVERS)
    assert found[0] == pytest.approx((probability**2).sum(), rel=1e-12)
    assert (np.diff(found) > -1e-15).all()
    assert found[-1] <= 1 + 1e-12


@pytest.mark.parametrize("count", [1, 2, 20, 400, 197_281])
def test_uniform_lines(count):
    probability = np.full(count, 1 / count)
    draws = np.array([1, 10, 1000])
    np.testing.assert_allclose(expected_coverage(probability, draws), 1 - (1 - 1 / count) ** draws, rtol=1e-9)
    needed = 1 if count == 1 else math.ceil(math.log(0.05) / math.log1p(-1 / count))
    lines = Lines(probability, np.zeros(0), 0)
    assert draws_to_cover(lines, 0.95) == (needed, needed, None)
    assert lines_bounds(lines, 0.95).low == math.ceil(round(0.95 * count, 6))
    assert lines.entropy == pytest.approx(math.log(count), abs=1e-9)


def test_tiny_probabilities_and_huge_numbers_of_draws():
    """p·(1 − (1 − p)^K) = K p² where K p is small: nothing is lost to 1 − p = 1 in float64."""
    for tiny in (1e-18, 1e-30, 1e-150):
        assert expected_coverage(np.array([tiny]), [1000])[0] == pytest.approx(
            1000 * tiny**2, rel=1e-9, abs=0
        )
    assert expected_coverage(np.array([1e-15]), [10**15])[0] == pytest.approx(
        1e-15 * (1 - math.exp(-1)), rel=1e-9, abs=0
    )
    assert expected_coverage(np.array([1.0, 0.0, 1e-320]), [1, 10**15]).tolist() == [1.0, 1.0]


def test_the_draws_that_cover_are_the_least():
    rng = np.random.default_rng(2)
    for _ in range(20):
        probability = np.sort(rng.dirichlet(np.full(30, 0.3)))[::-1]
        lines = Lines(probability, np.zeros(0), 0)
        slow = next(k for k in range(1, 10**6) if (probability * (1 - (1 - probability) ** k)).sum() >= 0.9)
        assert draws_to_cover(lines, 0.9) == (slow, slow, None)


def test_a_single_line_needs_one_draw():
    """The collapse of paper section 3.3: one line with 99.9 % of the mass."""
    lines = Lines(np.array([0.999, 0.001]), np.zeros(0), 0)
    assert draws_to_cover(lines, 0.95).low == lines_bounds(lines, 0.95).low == 1


def test_lines_to_hold():
    probability = np.array([0.5, 0.25, 0.125, 0.0625])
    assert [lines_to_hold(probability, share) for share in (0.1, 0.5, 0.51, 0.9, 0.95)] == [1, 1, 2, 4, None]


def test_out_of_range_is_an_error():
    lines = Lines(np.array([1.0]), np.zeros(0), 0)
    with pytest.raises(ValueError, match="share: 1"):
        draws_to_cover(lines, 1)
    with pytest.raises(ValueError, match="share: 0"):
        lines_to_hold(lines.probability, 0)
    with pytest.raises(ValueError, match="draws: 0"):
        expected_coverage(lines.probability, [1, 0])
    with pytest.raises(ValueError, match="span 0.5 to 1.5"):
        expected_coverage(np.array([0.5, 1.5]), [1])
    with pytest.raises(ValueError, match="not 1 in all"):
        draws_to_cover(Lines(np.array([0.5]), np.zeros(0), 0), 0.9)


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
    lines = enumerate_lines(evaluator, None, RUY_LOPEZ, tau="adaptive", plies=2)
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


# The tabiyas and the stage


def test_the_tabiyas_are_read_and_reach_their_positions(tabiyas):
    openings = read_openings(tabiyas)
    assert [opening.name for opening in openings] == [
        "start", "ruy_lopez_closed", "najdorf_english_attack", "qgd_tartakower",
    ]  # fmt: skip
    assert [len(opening.moves) for opening in openings] == [0, 16, 11, 14]
    with tabiyas.open() as stream:
        for opening, row in zip(openings[1:], csv.DictReader(stream), strict=True):
            games = GameBatch.replay([None], [_indices(opening.moves)])
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
        read_openings(path)
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
    assert list(summary["positions"]) == [opening.name for opening in read_openings(tabiyas)]
    curves = pd.read_csv(tmp_path / "a" / "curves.csv")
    assert len(curves) == 4 * 2 * len(DRAWS)
    for opening in read_openings(tabiyas):
        lines = enumerate_lines(
            Evaluator(network, 32), None, opening.moves, tau="adaptive", plies=2, mass_floor=1e-4
        )
        figures = summary["positions"][opening.name]["adaptive"]
        assert figures["draws_95"] == draws_to_cover(lines, 0.95)._asdict()
        assert figures["lines_95"] == lines_bounds(lines, 0.95)._asdict()
        assert figures["cut_mass"] == lines.cut_mass
        assert figures["evaluations"] == lines.evaluations
        assert figures["entropy"] == lines.entropy
        assert figures["heaviest"] == lines.probability[0]
        curve = curves[(curves["position"] == opening.name) & (curves["policy"] == "adaptive")]
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


@pytest.mark.slow
def test_the_floor_moves_the_draws_of_a_real_network_by_less_than_a_thousandth(shared):
    """maia-1900 from the start: 24,588 draws, 1,488 lines, as measured without a floor."""
    evaluator = Evaluator(load_network(shared / "lc0" / "maia-1900.pb.gz"), 256)
    exact = enumerate_lines(evaluator, None, [], tau=1.0, plies=4)
    assert len(exact.probability) == 197_281
    assert draws_to_cover(exact, 0.95).low == pytest.approx(24_588, rel=1e-3)
    assert lines_bounds(exact, 0.95).low == pytest.approx(1_488, rel=1e-3)
    cut = enumerate_lines(evaluator, None, [], tau=1.0, plies=4, mass_floor=1e-6)
    low, high, _ = draws_to_cover(cut, 0.95)
    assert low <= draws_to_cover(exact, 0.95).low <= high
    assert high - low < 1e-3 * low
    assert cut.evaluations < 0.4 * exact.evaluations
