"""Recovery by hand-made positions, and candidates against one position at a time through python-chess."""

import chess
import numpy as np
import pandas as pd
import pytest
import torch

from searchless_rl.board import encode_game, move_index
from searchless_rl.evaluation.candidates import TOP, choose_examples, judge_candidates
from searchless_rl.evaluation.names import CANDIDATE_COLUMNS
from searchless_rl.evaluation.recovery import (
    decisive_positions,
    exclusive,
    given_back,
    newly_solved,
    parting_positions,
    position_changes,
    puzzle_changes,
    side_by_side,
    tuned_models,
)
from searchless_rl.evaluation.stage import run_tactics
from searchless_rl.evaluation.tactics import score_suite
from searchless_rl.lc0 import load_network, save_network
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.pipeline.recovery import run_candidates, run_recovery
from searchless_rl.suites.files import SuiteItem, write_suite
from searchless_rl.suites.puzzles import Puzzle, read_puzzles
from searchless_rl.suites.winning import winning_sets

FORWARD, REVERSE = "forward_kl-adaptive-0.01-s0", "reverse_kl-adaptive-0.01-s0"
RATINGS = pd.DataFrame({"puzzle_id": list("abcde"), "rating": [1000, 1200, 1400, 1600, 1800]})
ASKED = [("a", 0), ("b", 0), ("b", 1), ("c", 0), ("c", 1), ("c", 2), ("d", 0), ("e", 0)]


def _positions(answers):
    """A position frame from (rank, π of the solution, π of the best of it, top, second, win, loss)."""
    rows = []
    for (puzzle, turn), (rank, solution, best, top, second, win, loss) in zip(ASKED, answers, strict=True):
        rows.append(
            {
                "puzzle_id": puzzle, "turn": turn, "move": f"m{rank}", "marked": "m1", "right": rank == 1,
                "log_winning": np.log(solution), "rank": rank, "winning_probability": best,
                "top_probability": top, "second_probability": second,
                "win": win, "draw": 1 - win - loss, "loss": loss, "tied": False,
            }
        )  # fmt: skip
    return pd.DataFrame(rows)


def _right(top=0.8):
    return (1, top, top, top, 1 - top, 0.5, 0.2)


def _wrong(solution, rank=2, top=0.6, win=0.3, loss=0.3):
    return (rank, solution, solution, top, max(solution, 0.1), win, loss)


# In the order of ASKED; the base solves a and e, forward a, b and c, reverse all but c.
BASE_ = [_right(), _right(), _wrong(0.3), _wrong(0.2), _right(), _wrong(0.1, 3)]
BASE_ += [_wrong(0.02, 9), _right(0.55)]
FORWARD_ = [_right(), _right(), _right(0.7), _right(0.5), _right(), _right(0.6)]
FORWARD_ += [_wrong(0.03, 8), _wrong(0.4)]
REVERSE_ = [_right(), _right(), _right(0.9), _right(0.6), _right(), _wrong(0.2)]
REVERSE_ += [_right(0.5), _right(0.9)]


@pytest.fixture
def frame():
    players = {"base": BASE_, FORWARD: FORWARD_, REVERSE: REVERSE_}
    return side_by_side({name: _positions(rows) for name, rows in players.items()}, RATINGS, "main")


def test_players_stand_side_by_side(frame):
    assert tuned_models(frame) == [FORWARD, REVERSE]
    assert frame["rating"].tolist() == [1000, 1200, 1200, 1400, 1400, 1400, 1600, 1800]
    assert frame["solution base"].tolist() == pytest.approx([0.8, 0.8, 0.3, 0.2, 0.8, 0.1, 0.02, 0.55])
    assert frame["lead base"].tolist() == pytest.approx([0.6, 0.6, 0.3, 0.4, 0.6, 0.5, 0.5, 0.1])
    assert frame[f"rank {REVERSE}"].tolist() == [1, 1, 1, 1, 1, 2, 1, 1]
    assert frame.loc[6, f"move {FORWARD}"] == "m8"


def test_other_positions_and_a_missing_base_are_refused():
    short = _positions(BASE_).iloc[1:].reset_index(drop=True)
    with pytest.raises(ValueError, match=rf"suite hard: {FORWARD} was asked other positions"):
        side_by_side({"base": _positions(BASE_), FORWARD: short}, RATINGS, "hard")
    with pytest.raises(ValueError, match="suite hard: recovery needs the base"):
        side_by_side({FORWARD: short}, RATINGS, "hard")


def test_positions_change_by_hand(frame):
    changes = position_changes(frame, FORWARD)
    assert np.flatnonzero(changes["wrong"]).tolist() == [2, 3, 5, 6]
    assert np.flatnonzero(changes["recovered"]).tolist() == [2, 3, 5]
    assert np.flatnonzero(changes["given_back"]).tolist() == [7]
    assert changes.loc[[2, 3, 5, 6, 0], "behind"].tolist() == pytest.approx([0.3, 0.4, 0.5, 0.58, 0])
    assert changes.loc[[2, 7], "moved"].tolist() == pytest.approx([0.4, -0.15])
    assert changes.loc[[2, 0], "score"].tolist() == pytest.approx([0.0, 0.3])
    assert changes.loc[2, "tuned_score"] == pytest.approx(0.3)


def test_the_first_wrong_position_is_decisive(frame):
    rows = decisive_positions(frame)
    assert rows[["puzzle_id", "turn"]].to_numpy().tolist() == [["b", 1], ["c", 0], ["d", 0]]


def test_puzzles_change_only_as_a_whole(frame):
    """c has two wrong positions: reverse recovers the decisive one and still fails the puzzle."""
    puzzles = puzzle_changes(frame, [FORWARD, REVERSE])
    assert puzzles["puzzle_id"].tolist() == list("abcde")
    assert puzzles["turn"].tolist()[1:4] == [1, 0, 0]
    assert puzzles["solution"].tolist()[1:4] == pytest.approx([0.3, 0.2, 0.02])
    assert puzzles["turn"].isna().tolist() == [True, False, False, False, True]
    named = puzzles.set_index("puzzle_id")
    assert newly_solved(named, FORWARD)[lambda is_new: is_new].index.tolist() == ["b", "c"]
    assert newly_solved(named, REVERSE)[lambda is_new: is_new].index.tolist() == ["b", "d"]
    assert given_back(named, FORWARD)[lambda is_lost: is_lost].index.tolist() == ["e"]
    both = [FORWARD, REVERSE]
    assert exclusive(named, FORWARD, both)[lambda is_alone: is_alone].index.tolist() == ["c"]
    assert exclusive(named, REVERSE, both)[lambda is_alone: is_alone].index.tolist() == ["d"]
    assert exclusive(named, FORWARD, [FORWARD]).equals(newly_solved(named, FORWARD))


def test_examples_are_those_where_the_anchors_part_at_the_decisive_position(frame):
    # Of c the decisive position does not part them: both are right there.
    assert parting_positions(frame, FORWARD, REVERSE, 3).empty
    assert parting_positions(frame, REVERSE, FORWARD, 3)["puzzle_id"].tolist() == ["d"]
    chosen = choose_examples(frame, FORWARD, REVERSE)
    assert chosen.to_dict("records") == [
        {"puzzle_id": "d", "rating": 1600, "turn": 0, "recovered_by": "reverse"}
    ]


def test_examples_are_ordered_by_gain_and_then_by_id():
    ids = list("edcba")
    gains = [0.2, 0.4, 0.4, 0.1, 0.3]
    asked = [(name, 0) for name in ids]
    players = {
        "base": [_wrong(0.25)] * 5,
        FORWARD: [_right(0.25 + gain) for gain in gains],
        REVERSE: [_wrong(0.3)] * 5,
    }
    positions = {}
    for name, answers in players.items():
        rows = [_positions([answer] * len(ASKED)).iloc[[0]] for answer in answers]
        positions[name] = pd.concat(rows, ignore_index=True).assign(puzzle_id=[puzzle for puzzle, _ in asked])
    frame = side_by_side(positions, RATINGS, "main")
    assert parting_positions(frame, FORWARD, REVERSE, 4)["puzzle_id"].tolist() == ["c", "d", "a", "e"]


@pytest.fixture(scope="module")
def networks(pytestconfig):
    """The test network and two that were moved off it, so that some choices differ."""
    found = {}
    for name, seed in (("base", None), ("forward", 1), ("reverse", 2)):
        network = load_network(pytestconfig.rootpath / "tests/data/lc0/micro_bt4.pb.gz")
        if seed is not None:
            torch.manual_seed(seed)
            matrices = [parameter for parameter in network.parameters() if parameter.dim() > 1]
            with torch.no_grad():
                for parameter in matrices:
                    parameter += 0.5 * parameter.std() * torch.randn_like(parameter)
        found[name] = network
    return found


@pytest.fixture(scope="module")
def items(pytestconfig):
    puzzles = read_puzzles(pytestconfig.rootpath / "data" / "lichess" / "torre_6605_2026.csv")[0][:150]
    return [SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in puzzles]


@torch.no_grad()
def _ask(network, fen, history, board):
    out = network(torch.from_numpy(encode_game(fen, history))[None])
    legal = list(board.legal_moves)
    scores = torch.tensor([out.policy[0, move_index(board, move)] for move in legal]).double()
    policy = dict(zip([move.uci() for move in legal], torch.softmax(scores, 0).tolist(), strict=True))
    return policy, out.wdl[0].tolist()


def test_candidates_agree_with_one_position_at_a_time(networks, items):
    chosen = [items[3], items[10], items[57]]
    asked = pd.DataFrame(
        {
            "recovered_by": ["forward", "forward", "reverse"],
            "puzzle_id": [item.puzzle.id for item in chosen],
            "rating": [item.puzzle.rating for item in chosen],
            "turn": [len(item.winning) - 1 for item in chosen],
        }
    )
    questions = []

    def oracle(fen, moves):
        questions.append((fen, moves))
        return [0.01 * place for place in range(len(moves))]

    players = {name: Evaluator(network, 8) for name, network in networks.items()}
    frame = judge_candidates(asked, items, players, oracle)
    assert list(frame.columns) == list(CANDIDATE_COLUMNS)
    assert judge_candidates(asked, items, players)["oracle"].isna().all()
    for item, turn, (fen, moves) in zip(chosen, asked["turn"], questions, strict=True):
        rows = frame[frame["puzzle_id"] == item.puzzle.id]
        history = list(item.puzzle.moves[: 2 * turn + 1])
        board = chess.Board(item.puzzle.fen)
        for uci in history:
            board.push_uci(uci)
        assert chess.Board(fen).board_fen() == board.board_fen()
        assert rows["fen"].eq(fen).all()
        assert rows["move"].tolist() == moves
        assert rows["oracle"].tolist() == pytest.approx([0.01 * place for place in range(len(rows))])
        assert rows["last_move"].eq(history[-1]).all()
        policies = {name: _ask(networks[name], item.puzzle.fen, history, board)[0] for name in networks}
        falling = {name: sorted(policy, key=policy.get, reverse=True) for name, policy in policies.items()}
        expected = {item.winning[turn][0]}.union(*(order[:TOP] for order in falling.values()))
        assert set(rows["move"]) == expected
        assert rows["move"].tolist() == [move for move in falling["base"] if move in expected]
        for row in rows.itertuples():
            for name, policy in policies.items():
                assert getattr(row, name) == pytest.approx(policy[row.move], abs=1e-5)
            assert row.rank == falling["base"].index(row.move) + 1
            assert row.marked == (row.move == item.winning[turn][0])
            assert row.winning == (row.move in item.winning[turn])
            after = board.copy()
            after.push_uci(row.move)
            assert row.by_rule == after.is_game_over(claim_draw=False)
            if row.by_rule:
                assert row.value == (1.0 if after.is_checkmate() else 0.5)
                continue
            win, draw, _ = _ask(networks["base"], item.puzzle.fen, [*history, row.move], after)[1]
            assert row.value == pytest.approx(1 - (win + draw / 2), abs=1e-5)


def _example(puzzle):
    return pd.DataFrame({"recovered_by": ["forward"], "puzzle_id": [puzzle], "rating": [900], "turn": [0]})


def test_a_mating_candidate_is_worth_everything(networks):
    mate = Puzzle("mate1", "6k1/5ppp/8/8/8/8/5PPP/R5K1 b - - 0 1", ("h7h6", "a1a8"), 900, (), "")
    players = {name: Evaluator(network, 8) for name, network in networks.items()}
    example = pd.DataFrame(
        {"recovered_by": ["forward"], "puzzle_id": ["mate1"], "rating": [900], "turn": [0]}
    )
    rows = judge_candidates(example, [SuiteItem(mate, winning_sets(mate))], players)
    assert chess.Board(rows["fen"][0]).parse_uci("a1a8")
    assert not rows["move"].eq("a1a8").all()
    # a8 is no mate after h7h6: the king has h7
    assert rows.loc[rows["move"] == "a1a8", "value"].item() < 1
    mate = Puzzle("mate1", "6k1/5ppp/8/8/8/8/5PPP/R5K1 b - - 0 1", ("g8h8", "a1a8"), 900, (), "")
    rows = judge_candidates(example, [SuiteItem(mate, winning_sets(mate))], players)
    assert rows.loc[rows["move"] == "a1a8", "value"].item() == 1.0
    assert rows["by_rule"].tolist() == rows["move"].eq("a1a8").tolist()


def test_an_unknown_example_is_named(networks, items):
    example = pd.DataFrame(
        {"recovered_by": ["forward"], "puzzle_id": ["zzzzz"], "rating": [900], "turn": [0]}
    )
    with pytest.raises(ValueError, match="puzzle zzzzz is not in the suite"):
        judge_candidates(example, items, {})


def test_no_examples_make_an_empty_frame():
    none = pd.DataFrame({"recovered_by": [], "puzzle_id": [], "rating": [], "turn": []})
    assert list(judge_candidates(none, [], {}).columns) == list(CANDIDATE_COLUMNS)


def test_the_stages_write_what_the_functions_say_and_the_same_bytes_twice(tmp_path, networks, items):
    write_suite(tmp_path / "main.csv", items)
    names = {"base": "base", "forward": FORWARD, "reverse": REVERSE}
    weights = {names[role]: tmp_path / f"{role}.pb.gz" for role in networks}
    for role, network in networks.items():
        save_network(network, weights[names[role]])
        run_tactics(weights[names[role]], tmp_path, ("main",), tmp_path / names[role], batch_size=64)
    folders = {name: tmp_path / name for name in weights}
    for out in ("a", "b"):
        run_recovery(folders, "main", tmp_path / f"{out}.parquet")
        run_candidates(
            tmp_path / f"{out}.parquet",
            tmp_path / "main.csv",
            weights,
            tmp_path / f"{out}.csv",
            forward=FORWARD,
            reverse=REVERSE,
            batch_size=16,
        )
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    frame = pd.read_parquet(tmp_path / "a.parquet")
    assert len(frame) == sum(len(item.winning) for item in items)
    tuned = score_suite(Evaluator(load_network(weights[FORWARD]), 64), items)
    assert frame[f"right {FORWARD}"].tolist() == tuned.positions["right"].tolist()
    solved = puzzle_changes(frame, [FORWARD])[f"solved {FORWARD}"]
    assert solved.tolist() == tuned.puzzles["solved"].tolist()
    candidates = pd.read_csv(tmp_path / "a.csv")
    assert candidates["puzzle_id"].nunique() == len(choose_examples(frame, FORWARD, REVERSE)) > 0
    examples = candidates.groupby(["recovered_by", "puzzle_id"])
    assert (examples["base"].sum() <= 1 + 1e-9).all()
    for (role, _), rows in examples:
        other = {"forward": "reverse", "reverse": "forward"}[role]
        assert rows.loc[rows[role].idxmax(), "winning"]
        assert not rows.loc[rows["base"].idxmax(), "winning"]
        assert not rows.loc[rows[other].idxmax(), "winning"]
