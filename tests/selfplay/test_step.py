"""One optimizer step against the paper's equations spelled out game by game with python-chess."""

import copy
import logging

import chess
import numpy as np
import pytest
import pytorch_lightning as pl
import torch

from searchless_rl.board import GameBatch, encode_game, move_index
from searchless_rl.cells import Cell
from searchless_rl.selfplay.module import SelfPlayModule, TrainingFailure
from searchless_rl.selfplay.randomness import Stream, uniforms

MAX_PLIES = 6
LINES = (  # first position and moves of each game
    (None, "e2e4 e7e5"),
    (None, "g1f3 g8f6 f3g1 f6g8 g1f3"),  # the next ply is the cap
    ("7k/5Q2/6K1/8/8/8/8/8 w - - 0 1", ""),
    ("8/P6k/8/8/8/8/8/K7 w - - 0 1", ""),
    ("k7/8/8/8/8/8/1r6/K7 w - - 0 1", ""),  # the only move leaves bare kings
    ("R7/6Nq/8/8/8/8/2R1R3/1kqK4 w - - 0 1", ""),  # the only move mates
)


def _games():
    games = GameBatch([fen for fen, _ in LINES])
    for row, (_, moves) in enumerate(LINES):
        for uci in moves.split():
            games.step(np.array([row]), np.array([games.index(row, uci)]))
    return games


def _fit(module, steps):
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    trainer = pl.Trainer(
        max_steps=steps, max_epochs=-1, accelerator="cpu", devices=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, torch.utils.data.DataLoader(range(steps), batch_size=None))


def _score(wdl):
    return wdl[0] + wdl[1] / 2


def _reference(base, cell, params):
    """Loss parts and gradients by name, in float64, and the UCI moves played."""
    online = copy.deepcopy(base).double()
    constant = copy.deepcopy(base).double().requires_grad_(False)
    uniform = uniforms(Stream.SELF_PLAY, cell.seed, 0, len(LINES))
    terms, played = [], []
    for number, (fen, moves) in enumerate(LINES):
        board = chess.Board(fen or chess.STARTING_FEN)
        history = moves.split()
        for uci in history:
            board.push_uci(uci)
        legal = sorted(board.legal_moves, key=lambda move: move_index(board, move))
        index = [move_index(board, move) for move in legal]
        planes = torch.from_numpy(encode_game(fen, history)).double()[None]
        out, frozen = online(planes), constant(planes)
        log_policy = torch.log_softmax(out.policy[0, index], 0)
        log_base = torch.log_softmax(frozen.policy[0, index], 0)
        wdl = frozen.wdl[0]  # at step 0 the EMA is the base
        tau = -(wdl * wdl.log()).sum() if cell.tau == "adaptive" else torch.tensor(1.0)
        mu = torch.softmax(log_policy.detach() / tau, 0)
        choice = int((mu.cumsum(0) <= uniform[number]).sum())
        move = legal[choice]
        board.push(move)
        played.append(move.uci())
        if board.is_checkmate():
            target = torch.tensor([1.0, 0.0, 0.0]).double()
        elif board.is_game_over() or board.is_repetition(3) or len(history) + 1 >= params.max_plies:
            target = torch.tensor([0.0, 1.0, 0.0]).double()
        else:
            after = torch.from_numpy(encode_game(fen, [*history, move.uci()])).double()[None]
            target = constant(after).wdl[0].flip(0)
        advantage = float(_score(target) - _score(out.wdl[0].detach()))
        rho = min(1.0, float(log_policy[choice].detach().exp() / mu[choice]))
        policy, uniform_policy = log_policy.exp(), torch.full_like(log_policy, 1 / len(legal))
        regularizer = {
            "none": torch.zeros(()).double(),
            "forward_kl": (log_base.exp() * (log_base - log_policy)).sum(),
            "reverse_kl": (policy * (log_policy - log_base)).sum(),
            "entropy": (policy * (log_policy - uniform_policy.log())).sum(),
        }[cell.term]
        value = -rho * (target * torch.log_softmax(out.value_logits[0], 0)).sum()
        loss = -rho * advantage * log_policy[choice] + cell.beta * regularizer
        terms.append((loss + params.value_coefficient * value, regularizer, value))
    loss = torch.stack([term[0] for term in terms]).mean()
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in online.named_parameters()}
    parts = {"loss": loss, "loss_exploration": torch.stack([term[1] for term in terms]).mean(),
             "loss_value": torch.stack([term[2] for term in terms]).mean()}  # fmt: skip
    return {key: float(value.detach()) for key, value in parts.items()}, gradients, played


@pytest.mark.parametrize("micro_batch", [6, 2])
@pytest.mark.parametrize("tau", ["adaptive", "fixed"])
@pytest.mark.parametrize("term", ["none", "entropy", "reverse_kl", "forward_kl"])
def test_a_step_is_the_papers_equations(network, params, term, tau, micro_batch):
    cell = Cell(term, tau, 0.0 if term == "none" else 0.5, seed=4)
    games = _games()
    params = params.model_copy(
        update={"games": len(games), "max_plies": MAX_PLIES, "micro_batch": micro_batch, "warmup_steps": 0}
    )
    parts, gradients, played = _reference(network, cell, params)
    module = SelfPlayModule(network, games, cell, params)
    _fit(module, 1)
    for key, expected in parts.items():
        assert module.record.values[key] == pytest.approx(expected, abs=2e-6), key
    for name, parameter in module.online.named_parameters():
        expected = gradients[name]
        if expected is None:
            assert parameter.grad is None, name
        else:
            torch.testing.assert_close(parameter.grad.double(), expected, rtol=2e-3, atol=2e-6, msg=name)
    # Games that ended or reached the cap begin again from the standard position.
    for row, (fen, moves) in enumerate(LINES):
        board = chess.Board(fen or chess.STARTING_FEN)
        for uci in [*moves.split(), played[row]]:
            board.push_uci(uci)
        if board.is_game_over() or len(board.move_stack) >= MAX_PLIES:
            assert module.games.moves[row] == []
            assert module.games.fens[row] is None
        else:
            assert module.games.board_fen(row).split()[:2] == board.fen().split()[:2]


def test_the_fixture_covers_every_kind_of_target(network, params):
    """The reference games hit the cap, a rule ending and open play; otherwise the test above is weak."""
    games = _games()
    params = params.model_copy(update={"games": len(games), "max_plies": MAX_PLIES})
    module = SelfPlayModule(network, games, Cell("none", "fixed", 0.0, 4), params)
    _fit(module, 1)
    values = module.record.values
    assert values["capped"] == 1
    assert values["white_wins"] == 1
    assert values["insufficient_material"] == 1
    assert values["finished"] < len(games)


def test_anchors_pull_back_with_opposite_gradients_from_the_base(network, params):
    """Once online and base differ, the anchors' terms are positive and their gradients differ."""
    moved = copy.deepcopy(network)
    with torch.no_grad():
        for parameter in moved.parameters():
            parameter.mul_(1.05)
    found = {}
    for term in ("forward_kl", "reverse_kl"):
        games = _games()
        cell = Cell(term, "fixed", 1.0, 4)
        module = SelfPlayModule(
            copy.deepcopy(network), games, cell, params.model_copy(update={"games": len(games)})
        )
        module.online.load_state_dict(moved.state_dict())
        _fit(module, 1)
        found[term] = module.record.values
        key = "kl_base_policy" if term == "forward_kl" else "kl_policy_base"
        assert found[term]["loss_exploration"] == pytest.approx(found[term][key], rel=1e-6)
        assert found[term]["loss_exploration"] > 1e-4
    assert found["forward_kl"]["loss_exploration"] != found["reverse_kl"]["loss_exploration"]


def test_ema_and_groups_after_a_step(network, params, cell):
    games = GameBatch([None] * params.games)
    params = params.model_copy(update={"ema_decay": 0.75, "warmup_steps": 2})
    module = SelfPlayModule(network, games, cell, params)
    _fit(module, 1)
    roles = module.online.parameter_roles().items()
    rates = {name: getattr(params.learning_rates, role) for name, role in roles if role != "moves_left_head"}
    start = dict(network.named_parameters())
    ema = dict(module.ema.named_parameters())
    for name, parameter in module.online.named_parameters():
        change = (parameter - start[name]).abs().max().item()
        if name not in rates:
            assert change == 0, name
            continue
        # Adam's first step is the rate (half of it in the first of two warm-up steps) wherever g >> eps.
        assert change <= rates[name] / 2 * 1.01 + 1e-7 * start[name].abs().max().item(), name
        if parameter.grad.abs().max() > 1e-6:
            assert change >= rates[name] / 2 * 0.9, name
        expected = start[name] + 0.25 * (parameter - start[name])
        torch.testing.assert_close(ema[name], expected, rtol=0, atol=1e-7, msg=name)
    assert not any(parameter.requires_grad for parameter in module.ema.parameters())
    assert not any(name.startswith("_frozen") for name in module.state_dict())


def test_a_loss_that_is_not_finite_stops_with_cell_step_and_positions(network, params, cell):
    module = SelfPlayModule(network, GameBatch([None] * params.games), cell, params)
    with torch.no_grad():
        next(module.online.value.parameters()).fill_(torch.nan)
    with pytest.raises(
        TrainingFailure, match=r"forward_kl-adaptive-0.01-s0: the loss is nan at step 1 .*rnbqkbnr"
    ):
        _fit(module, 1)


def test_the_number_of_games_must_agree(network, params, cell):
    with pytest.raises(ValueError, match=r"3 warm-start games for selfplay.games = 6"):
        SelfPlayModule(network, GameBatch([None] * 3), cell, params)
