"""The shape of played policies against hand-made distributions and one position at a time."""

import math

import chess
import numpy as np
import pandas as pd
import pytest
import torch

from searchless_rl.arena.players import Player
from searchless_rl.arena.pools import SampledPool
from searchless_rl.arena.shape import COLUMNS, FLOOR, measure_shape, shape_of
from searchless_rl.arena.stage import run_shape
from searchless_rl.board import LegalMoves, encode_game, move_index
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.evaluator import Evaluator

BLACK_TO_MOVE = "r1bq1rk1/pp1pn1bp/2n3p1/2p1pp2/4PP2/2PP2PN/PP4BP/RNBQ1RK1 b - - 1 9"


def _legal(*counts):
    return LegalMoves(
        np.concatenate([np.arange(count) for count in counts]),
        np.repeat(np.arange(len(counts)), counts),
        np.cumsum([0, *counts]),
    )


def test_the_measures_by_hand():
    policy = [[0.9, 0.1], [0.4, 0.2, 0.1, 0.1, 0.1, 0.06, 0.04]]
    base = [[0.5, 0.5], [0.04, 0.06, 0.1, 0.1, 0.1, 0.2, 0.4]]
    found = shape_of(np.log(np.concatenate(policy)), np.log(np.concatenate(base)), _legal(2, 7))
    entropy = -sum(p * math.log(p) for p in policy[0])
    forward = 0.5 * math.log(0.5 / 0.9) + 0.5 * math.log(0.5 / 0.1)
    reverse = 0.9 * math.log(0.9 / 0.5) + 0.1 * math.log(0.1 / 0.5)
    assert [found.entropy[0], found.kl_base_policy[0], found.kl_policy_base[0]] == pytest.approx(
        [entropy, forward, reverse]
    )
    assert [forward, reverse] == pytest.approx([0.5108256, 0.3680642], abs=1e-6)
    # The base's five best are all but the first two moves, which have 0.6 of the policy's mass.
    assert found.cov5 == pytest.approx([1.0, 0.4])
    assert found.kl_base_policy[1] == pytest.approx(found.kl_policy_base[1])
    assert found.floored.tolist() == [0, 0]


def test_moves_that_are_never_played_count_with_the_floor():
    with np.errstate(divide="ignore"):
        log_policy = np.log([1.0, 0.0, 0.0])
    log_base = np.log([0.5, 0.3, 0.2])
    found = shape_of(log_policy, log_base, _legal(3))
    expected = 0.5 * math.log(0.5) + 0.3 * math.log(0.3 / FLOOR) + 0.2 * math.log(0.2 / FLOOR)
    assert found.kl_base_policy == pytest.approx([expected])
    assert found.kl_policy_base == pytest.approx([math.log(2)])
    assert found.floored == pytest.approx([0.5])
    assert found.entropy == pytest.approx([0.0])
    vanished = shape_of(np.array([-1e9, 0.0, -1e9]), log_base, _legal(3))
    assert all(np.isfinite(value).all() for value in vanished)


def test_a_policy_has_no_distance_from_itself():
    log_base = np.log(np.random.default_rng(0).dirichlet(np.ones(30)))
    found = shape_of(log_base, log_base, _legal(30))
    assert found.kl_base_policy.tolist() == found.kl_policy_base.tolist() == [0.0]


@pytest.fixture(scope="module")
def weights(tmp_path_factory, pytestconfig):
    """Base and another."""
    base = pytestconfig.rootpath / "tests" / "data" / "lc0" / "micro_bt4.pb.gz"
    network = load_network(base)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.numel() > 1:
                noise = torch.randn(parameter.shape, generator=generator)
                parameter += 0.2 * parameter.std(correction=0) * noise
    other = tmp_path_factory.mktemp("network") / "other.pb.gz"
    save_network(network, other)
    return base, other


def _load(path):
    return Evaluator(load_network(path), 8)


@pytest.fixture(scope="module")
def frame():
    """Random games from both kinds of openings, as the arena would leave them."""
    rng = np.random.default_rng(2)
    rows = []
    for number, (fen, opening) in enumerate(
        [(None, ("e2e4", "e7e5", "g1f3")), (BLACK_TO_MOVE, ()), (BLACK_TO_MOVE, ("d7d6",)), (None, ())]
    ):
        board = chess.Board(fen) if fen else chess.Board()
        moves = list(opening)
        for uci in opening:
            board.push_uci(uci)
        while len(moves) < 12 + number:
            listed = list(board.legal_moves)
            moves.append(listed[rng.integers(len(listed))].uci())
            board.push_uci(moves[-1])
        white, black = ("x", "y") if number % 2 else ("y", "x")
        rows.append((fen or "", white, black, len(opening), " ".join(moves)))
    return pd.DataFrame(rows, columns=["fen", "white", "black", "opening_plies", "moves"])


def _positions(frame, name):
    """(game, ply) where a player moved, by python-chess."""
    found = []
    for game, row in frame.iterrows():
        board = chess.Board(row["fen"]) if row["fen"] else chess.Board()
        for ply, uci in enumerate(row["moves"].split()):
            mover = row["white"] if board.turn else row["black"]
            if mover == name and ply >= row["opening_plies"]:
                found.append((game, ply))
            board.push_uci(uci)
    return found


@torch.no_grad()
def _slow_shape(networks, temperature, frame, positions):
    """Entropy, both divergences and cov5, position by position with torch alone."""
    total = np.zeros(4)
    for game, ply in positions:
        row = frame.iloc[game]
        board = chess.Board(row["fen"]) if row["fen"] else chess.Board()
        moves = row["moves"].split()[:ply]
        for uci in moves:
            board.push_uci(uci)
        index = [move_index(board, move) for move in board.legal_moves]
        planes = torch.from_numpy(encode_game(row["fen"] or None, moves))[None]
        base, own = (network(planes) for network in networks)
        wdl = own.wdl[0].double()
        tau = float(-(wdl * wdl.log()).sum()) if temperature == "adaptive" else temperature
        log_base = torch.log_softmax(base.policy[0, index].double(), 0)
        log_policy = torch.log_softmax(torch.log_softmax(own.policy[0, index].double(), 0) / tau, 0)
        best = log_base.topk(min(5, len(index))).indices
        total += [
            float(-(log_policy.exp() * log_policy).sum()),
            float((log_base.exp() * (log_base - log_policy.clamp(min=math.log(FLOOR)))).sum()),
            float((log_policy.exp() * (log_policy - log_base)).sum()),
            float(log_policy[best].exp().sum()),
        ]
    return total / len(positions)


@pytest.mark.parametrize("temperature", ["adaptive", 1.0, 0.6])
def test_every_position_of_a_player_one_at_a_time(weights, frame, temperature):
    base, other = weights
    players = [Player("x", other, temperature), Player("y", base, temperature)]
    found = measure_shape(frame, players, base, _load, positions=1000, seed=0)
    assert found.columns.tolist() == list(COLUMNS)
    for row, player in zip(found.itertuples(), players, strict=True):
        positions = _positions(frame, player.name)
        networks = (load_network(base), load_network(player.weights))
        expected = _slow_shape(networks, temperature, frame, positions)
        assert row.positions == len(positions)
        measured = [row.entropy, row.kl_base_policy, row.kl_policy_base, row.cov5]
        np.testing.assert_allclose(measured, expected, rtol=1e-5, atol=1e-5)
    if temperature == 1.0:
        assert found.loc[1, ["kl_base_policy", "kl_policy_base"]].tolist() == [0.0, 0.0]
    assert found["kl_base_policy"][0] > 0.001


def test_the_sample_is_seeded_and_without_repetition(weights, frame):
    base, _ = weights
    seen = []

    def load(path):
        evaluator = _load(path)

        def call(planes):
            seen.append(planes)
            return evaluator(planes)

        return call

    def draw(positions, seed, listed):
        seen.clear()
        found = measure_shape(frame, listed, base, load, positions=positions, seed=seed)
        return found, seen[0]

    x, y = Player("x", base, 1.0), Player("y", base, "adaptive")
    every = {planes.tobytes() for planes in draw(1000, 0, [x])[1]}
    assert len(every) == len(_positions(frame, "x"))
    some, planes = draw(9, 4, [x])
    assert len(planes) == some["positions"][0] == 9
    assert {one.tobytes() for one in planes} < every
    assert len({one.tobytes() for one in planes}) == 9
    again, _ = draw(9, 4, [y, x])
    pd.testing.assert_series_equal(again.iloc[1], some.iloc[0], check_names=False)
    other, _ = draw(9, 5, [x])
    assert other["entropy"][0] != some["entropy"][0]


def test_the_stage_writes_what_is_measured(weights, frame, tmp_path):
    """Players of the closed pool in the games between them, those apart in all of theirs."""
    base, other = weights
    outside = frame.replace({"white": {"y": "z"}, "black": {"y": "z"}})
    together = pd.concat([frame, outside])
    pool = SampledPool([Player("x", other, "adaptive"), Player("y", base, 1.0)], [Player("z", base, 0.8)])
    settings = {"positions": 11, "seed": 1}
    for name, games, players in (("all", together, pool), ("closed", frame, SampledPool(pool.closed, []))):
        (tmp_path / name).mkdir()
        games.to_parquet(tmp_path / name / "games.parquet")
        run_shape(tmp_path / name, players, base, tmp_path / f"{name}.csv", batch_size=8, **settings)
    closed = measure_shape(frame, pool.closed, base, _load, **settings)
    apart = measure_shape(outside, pool.apart, base, _load, **settings)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "closed.csv"), closed)
    lines = [(tmp_path / name).read_text().splitlines() for name in ("all.csv", "closed.csv")]
    assert lines[0][:-1] == lines[1]
    found = pd.read_csv(tmp_path / "all.csv")[2:].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, apart)


def test_a_player_that_never_moved_is_named(weights, frame):
    with pytest.raises(ValueError, match="nobody made no move"):
        measure_shape(frame, [Player("nobody", weights[0])], weights[0], _load, positions=3, seed=0)


def test_mates_and_draws_are_no_positions_to_move_in(weights):
    """The last position of a game has no mover."""
    row = ("", "x", "y", 0, "f2f3 e7e5 g2g4 d8h4")
    frame = pd.DataFrame([row], columns=["fen", "white", "black", "opening_plies", "moves"])
    found = measure_shape(
        frame, [Player("x", weights[0]), Player("y", weights[0])], weights[0], _load, positions=9, seed=0
    )
    assert found["positions"].tolist() == [2, 2]
