"""Examples, order and loss of the puzzle-tuned control, against python-chess and float64."""

import copy
from dataclasses import replace

import chess
import numpy as np
import pytest
import torch

from searchless_rl.board import encode_game, move_index
from searchless_rl.evaluation.tactics import score_suite
from searchless_rl.nets.evaluator import Evaluation
from searchless_rl.suites.files import SuiteItem
from searchless_rl.suites.puzzles import Puzzle, ReadReport, iter_puzzles
from searchless_rl.suites.split import SplitError
from searchless_rl.suites.winning import winning_sets
from searchless_rl.supervised.control import (
    accumulate_gradient,
    draw,
    encode_examples,
    require_unseen,
    solver_examples,
)


def _puzzle(name, fen, moves):
    return Puzzle(name, fen, tuple(moves.split()), 1500, (), "")


SPECIAL = [  # the marked move castles, promotes, captures en passant, and has policy index 0
    _puzzle("castl", "4k3/p7/8/8/8/8/8/4K2R b K - 0 1", "a7a6 e1g1"),
    _puzzle("promo", "4k3/P7/8/8/8/8/8/4K3 b - - 0 1", "e8d7 a7a8n"),
    _puzzle("black", "4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1", "e2e4 d4e3"),
    _puzzle("zero0", "4k3/p7/8/8/8/8/8/R3K3 b - - 0 1", "a7a6 a1b1"),
]


@pytest.fixture(scope="module")
def examples(puzzles):
    return solver_examples([*SPECIAL, *puzzles[:6]])


@pytest.fixture
def tuned(network):
    """The network as after some steps: another than the base."""
    generator = torch.Generator().manual_seed(11)
    moved = copy.deepcopy(network).requires_grad_(True)
    with torch.no_grad():
        for parameter in moved.parameters():
            parameter.mul_(1 + 0.06 * torch.randn(parameter.shape, generator=generator))
    return moved


def test_every_solver_position_is_an_example(puzzles):
    """Position after position with python-chess: labels are the moves at odd places of the line."""
    expected = []
    for puzzle in puzzles:
        board = chess.Board(puzzle.fen)
        for ply, uci in enumerate(puzzle.moves):
            if ply % 2:
                expected.append((puzzle.id, board.fen(), uci))
            board.push_uci(uci)
    found = []
    for example in solver_examples(puzzles):
        board = chess.Board(example.fen)
        for uci in example.moves:
            board.push_uci(uci)
        found.append((example.puzzle_id, board.fen(), example.marked))
    assert found == expected
    assert len(found) > len(puzzles)


def test_encoded_examples_are_the_positions_with_their_history(examples):
    batch = encode_examples(examples)
    assert batch.planes.dtype == np.float32
    for row, example in enumerate(examples):
        board = chess.Board(example.fen)
        for uci in example.moves:
            board.push_uci(uci)
        np.testing.assert_array_equal(batch.planes[row], encode_game(example.fen, example.moves))
        legal = sorted(move_index(board, move) for move in board.legal_moves)
        assert batch.legal.index[batch.legal.row == row].tolist() == legal
        assert batch.marked[row] == move_index(board, board.parse_uci(example.marked))
    assert 0 in batch.marked
    assert batch.planes[:, 13].any()  # the second frame: where the opponent moved from


def _reference(network, base, examples):
    """Vectors by name and gradients by parameter, in float64, one python-chess position at a time."""
    network, base = copy.deepcopy(network).double(), copy.deepcopy(base).double()
    rows = {"loss": [], "accuracy": [], "entropy": [], "cov5": [], "kl_base_policy": [], "kl_policy_base": []}
    for example in examples:
        board = chess.Board(example.fen)
        for uci in example.moves:
            board.push_uci(uci)
        legal = list(board.legal_moves)
        index = [move_index(board, move) for move in legal]
        planes = torch.from_numpy(encode_game(example.fen, example.moves)).double()[None]
        ours = torch.softmax(network(planes).policy[0, index], 0)
        prior = torch.softmax(base(planes).policy[0, index], 0).detach()
        place = [move.uci() for move in legal].index(example.marked)
        rows["loss"].append(-ours[place].log())
        rows["accuracy"].append((ours.argmax() == place).double())
        rows["entropy"].append(-(ours * ours.log()).sum())
        rows["cov5"].append(ours[prior.argsort(descending=True)[:5]].sum())
        rows["kl_base_policy"].append((prior * (prior / ours).log()).sum())
        rows["kl_policy_base"].append((ours * (ours / prior).log()).sum())
    vectors = {name: torch.stack(values) for name, values in rows.items()}
    vectors["loss"].mean().backward()
    return vectors, {name: parameter.grad for name, parameter in network.named_parameters()}


@pytest.mark.parametrize("micro_batch", [1000, 5, 1])
def test_loss_and_gradient_are_the_cross_entropy_in_float64(network, tuned, examples, micro_batch):
    """In one part, in uneven parts and one at a time: the same whole-batch gradient."""
    expected, gradients = _reference(tuned, network, examples)
    assert 0 < expected["accuracy"].mean() < 1
    found = accumulate_gradient(tuned, network, examples, micro_batch=micro_batch, precision="float32")
    for name, value in found._asdict().items():
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), expected[name].detach(), rtol=0, atol=3e-5, msg=name)
    for name, parameter in tuned.named_parameters():
        if gradients[name] is None:
            assert parameter.grad is None, name
        else:
            torch.testing.assert_close(
                parameter.grad.double(), gradients[name], rtol=2e-3, atol=3e-6, msg=name
            )


def test_value_and_moves_left_heads_get_no_gradient(tuned, examples):
    accumulate_gradient(tuned, None, examples, micro_batch=8, precision="float32")
    roles = tuned.parameter_roles()
    without = {roles[name] for name, parameter in tuned.named_parameters() if parameter.grad is None}
    trained = {roles[name] for name, parameter in tuned.named_parameters() if parameter.grad is not None}
    assert without == {"value_head", "moves_left_head"}
    assert trained == {"backbone", "final_block", "policy_head"}


def test_bfloat16_stays_near_and_its_losses_are_float32(network, tuned, examples):
    exact = accumulate_gradient(tuned, network, examples, micro_batch=8, precision="float32")
    gradient = torch.cat([p.grad.flatten() for p in tuned.parameters() if p.grad is not None])
    tuned.zero_grad()
    rough = accumulate_gradient(tuned, network, examples, micro_batch=8, precision="bf16")
    rough_gradient = torch.cat([p.grad.flatten() for p in tuned.parameters() if p.grad is not None])
    assert rough.loss.dtype == torch.float32
    assert not torch.equal(rough.loss, exact.loss)
    torch.testing.assert_close(rough.loss, exact.loss, rtol=0, atol=0.1)
    assert torch.cosine_similarity(rough_gradient, gradient, dim=0) > 0.99


def test_the_base_is_asked_only_where_it_is_given(network, examples):
    found = accumulate_gradient(network, None, examples[:3], micro_batch=2, precision="float32")
    assert found.kl_base_policy is None
    assert found.kl_policy_base is None
    assert found.entropy.shape == (3,)


def test_each_epoch_takes_every_example_once_in_another_order():
    order = np.concatenate([draw(10, 4, step, seed=3) for step in range(10)]).reshape(4, 10)
    assert all(sorted(epoch) == list(range(10)) for epoch in order.tolist())
    assert len({tuple(epoch) for epoch in order.tolist()}) == 4
    assert (order[0] != np.arange(10)).any()
    other = np.concatenate([draw(10, 4, step, seed=4) for step in range(10)])
    assert (other != order.ravel()).any()


@pytest.mark.parametrize("size", [1, 3, 7, 25])
def test_the_order_depends_on_neither_batch_size_nor_what_was_drawn_before(size):
    whole = draw(10, 100, 0, seed=3)
    for step in reversed(range(100 // size)):
        np.testing.assert_array_equal(draw(10, size, step, seed=3), whole[step * size : (step + 1) * size])


def test_the_order_is_the_same_on_every_machine():
    """Recorded: raw PCG64 numbers, which NumPy keeps unchanged between versions, sorted."""
    assert draw(10, 12, 0, seed=0).tolist() == [9, 4, 1, 7, 3, 2, 6, 5, 0, 8, 8, 1]


def test_a_pool_apart_from_the_suites_passes(puzzles):
    require_unseen(puzzles[:20], {"main": puzzles[20:30], "hard": puzzles[25:40]})


def test_a_puzzle_in_pool_and_suite_is_refused(puzzles):
    shared = puzzles[25]
    with pytest.raises(SplitError, match=f"puzzle {shared.id} of the training pool is in suite hard too"):
        require_unseen([*puzzles[:20], shared], {"main": puzzles[20:25], "hard": puzzles[25:40]})


@pytest.mark.parametrize("turn", [0, 1])
def test_a_position_in_pool_and_suite_is_refused_with_both_puzzles(puzzles, turn):
    """Under another id, from another first move or cut short: the solver's position is what counts."""
    trained = next(puzzle for puzzle in puzzles[:20] if puzzle.solver_move_count > 1)
    board = chess.Board(trained.fen)
    for uci in trained.moves[: 2 * turn]:
        board.push_uci(uci)
    tested = replace(trained, id="other", fen=board.fen(en_passant="fen"), moves=trained.moves[2 * turn :])
    board.push_uci(tested.moves[0])
    with pytest.raises(SplitError) as refusal:
        require_unseen(puzzles[:20], {"main": puzzles[20:25], "mate3": [tested]})
    for part in (f"puzzle {trained.id} ", "puzzle other of suite mate3", board.epd()):
        assert part in str(refusal.value)


RUOSS = "data/history/puzzles_ruoss_format_119.csv"
WITH_HISTORY = [  # a mate after a whole game; a position that has stood on the board before
    Puzzle(
        "mates",
        "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2",
        ("g2g4", "d8h4"),
        *(900, (), ""),
        history=("f2f3", "e7e5"),
    ),
    Puzzle(
        "again",
        "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 4 4",
        ("g1f3", "b8c6", "f1c4", "g8f6"),
        *(1200, (), ""),
        history=tuple("e2e4 e7e5 g1f3 g8f6 f3g1 f6g8".split()),
    ),
]


class _Recorder:
    """A player that keeps the planes it is shown."""

    def __init__(self):
        self.planes = []

    def __call__(self, planes):
        self.planes.append(planes)
        return Evaluation(
            np.zeros((len(planes), 1858), np.float32), np.full((len(planes), 3), 1 / 3, np.float32)
        )


def _trained_and_scored(puzzles):
    """Input planes of every solver position, as the control is trained and as it is scored, sorted."""
    recorder = _Recorder()
    score_suite(recorder, [SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in puzzles])
    trained = encode_examples(solver_examples(puzzles)).planes
    scored = np.concatenate(recorder.planes)
    assert trained.shape == scored.shape
    return (sorted(part.tobytes() for part in planes) for planes in (trained, scored))


def test_the_control_is_trained_with_the_history_it_is_scored_with(puzzles):
    """Puzzles with and without the moves of their game."""
    trained, scored = _trained_and_scored([*puzzles[:20], *WITH_HISTORY])
    assert trained == scored
    first = next(example for example in solver_examples(WITH_HISTORY) if example.puzzle_id == "again")
    assert first.fen is None
    assert first.moves == (*WITH_HISTORY[1].history, "g1f3")
    board = chess.Board()
    for uci in first.moves:
        board.push_uci(uci)
    np.testing.assert_array_equal(encode_examples([first]).planes[0], encode_game(None, list(first.moves)))


def test_real_games_are_trained_and_scored_alike(shared):
    """The 119 puzzles that Ruoss et al. published with their games."""
    puzzles = list(iter_puzzles(shared / RUOSS, ReadReport()))
    assert sum(bool(puzzle.history) for puzzle in puzzles) > 100
    trained, scored = _trained_and_scored(puzzles)
    assert trained == scored
