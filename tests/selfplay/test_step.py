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
from searchless_rl.selfplay.distributions import Stream, sample, uniforms
from searchless_rl.selfplay.guards import TrainingFailure
from searchless_rl.selfplay.module import SelfPlayModule
from searchless_rl.selfplay.objective import losses as module_losses
from searchless_rl.selfplay.stage import with_variant

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


class _History(pl.Callback):
    """Rates before and records after each step."""

    def __init__(self):
        self.rates, self.records = [], []

    def on_train_batch_start(self, trainer, module, *_):
        self.rates.append({group["name"]: group["lr"] for group in trainer.optimizers[0].param_groups})

    def on_train_batch_end(self, trainer, module, *_):
        self.records.append(dict(module.record))


def _fit(module, steps, *callbacks):
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    trainer = pl.Trainer(
        max_steps=steps, max_epochs=-1, accelerator="cpu", devices=1, logger=False, callbacks=[*callbacks],
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, torch.utils.data.DataLoader(range(steps), batch_size=None))


def _score(wdl):
    return wdl[0] + wdl[1] / 2


def _networks(base):
    """Online and EMA network as after some steps: all three differ, so that none can stand for another."""
    generator = torch.Generator().manual_seed(11)
    online, ema = copy.deepcopy(base).requires_grad_(), copy.deepcopy(base)
    with torch.no_grad():
        for network, size in ((online, 0.06), (ema, 0.03)):
            for parameter in network.parameters():
                parameter.mul_(1 + size * torch.randn(parameter.shape, generator=generator))
    return online, ema


def _kl(p, q):
    return (p * (p / q).log()).sum()


def _slots(logits, legal, merged):
    """Logits over what the losses take for moves, and the slot of each legal move.

    Merged: the released code's l + q + r + b, with l the knight's logit and offsets relative to it.
    """
    if not merged:
        return logits, list(range(len(legal)))
    pairs = list(dict.fromkeys((move.from_square, move.to_square) for move in legal))
    slot = [pairs.index((move.from_square, move.to_square)) for move in legal]
    rows = []
    for number in range(len(pairs)):
        members = {legal[i].promotion: logits[i] for i in range(len(legal)) if slot[i] == number}
        if len(members) == 1:
            rows.append(next(iter(members.values())))
        else:
            knight = members[chess.KNIGHT]
            rows.append(knight + sum(logit - knight for logit in members.values()))
    return torch.stack(rows), slot


def _reference(networks, cell, params):
    """Loss parts and gradients by name, in float64, and the UCI moves played."""
    online, ema, base = (copy.deepcopy(network).double() for network in networks)
    uniform = uniforms(Stream.SELF_PLAY, cell.seed, 0, len(LINES))
    merged, floor = params.promotions == "merged", params.reverse_kl_floor
    terms, played = [], []
    for number, (fen, moves) in enumerate(LINES):
        board = chess.Board(fen or chess.STARTING_FEN)
        history = moves.split()
        for uci in history:
            board.push_uci(uci)
        legal = sorted(board.legal_moves, key=lambda move: move_index(board, move))
        index = [move_index(board, move) for move in legal]
        planes = torch.from_numpy(encode_game(fen, history)).double()[None]
        out = online(planes)
        with torch.no_grad():
            frozen, slow = base(planes), ema(planes)
        policy = torch.softmax(out.policy[0, index], 0)
        wdl = out.wdl[0].detach() if params.temperature_source == "online" else slow.wdl[0]
        tau = -(wdl * wdl.log()).sum() if cell.tau == "adaptive" else torch.tensor(1.0)
        mu = torch.softmax(policy.detach().log() / tau, 0)
        choice = int((mu.cumsum(0) <= uniform[number]).sum())
        move = legal[choice]
        board.push(move)
        played.append(move.uci())
        capped = len(history) + 1 >= params.max_plies and params.cap_target == "draw"
        if board.is_checkmate():
            target = torch.tensor([1.0, 0.0, 0.0]).double()
        elif board.is_game_over() or board.is_repetition(3) or capped:
            target = torch.tensor([0.0, 1.0, 0.0]).double()
        else:
            after = torch.from_numpy(encode_game(fen, [*history, move.uci()])).double()[None]
            target = ema(after).wdl[0].detach().flip(0)
        advantage = float(_score(target) - _score(out.wdl[0].detach()))
        rho = float(policy[choice].detach() / mu[choice])
        rho = 1.0 if params.importance_cap is None else min(params.importance_cap, rho)
        scores, slot = _slots(out.policy[0, index], legal, merged)
        ours = torch.softmax(scores, 0)
        prior = torch.softmax(_slots(frozen.policy[0, index], legal, merged)[0], 0)
        regularizer = {
            "none": torch.zeros(()).double(),
            "forward_kl": _kl(prior, ours),
            "reverse_kl": _kl(ours.clamp(min=floor), prior.clamp(min=floor)),
            "entropy": _kl(ours, torch.full_like(ours, 1 / len(ours))),
        }[cell.term]
        value = -rho * (target * out.wdl[0].log()).sum()
        pair = (out.wdl[0], frozen.wdl[0]) if cell.term == "reverse_kl" else (frozen.wdl[0], out.wdl[0])
        anchor = _kl(*pair) if params.base_wdl_coefficient else torch.zeros(()).double()
        loss = -rho * advantage * ours[slot[choice]].log() + cell.beta * regularizer
        loss = loss + params.value_coefficient * value + params.base_wdl_coefficient * anchor
        terms.append(torch.stack([loss, regularizer, value, anchor]))
    means = torch.stack(terms).mean(0)
    means[0].backward()
    gradients = {name: parameter.grad for name, parameter in online.named_parameters()}
    keys = ("loss", "loss_exploration", "loss_value", "loss_base_wdl")
    return dict(zip(keys, means.tolist(), strict=True)), gradients, played


def _step(base, cell, params):
    """The module after one step from `_networks`, and the reference's loss parts, gradients and moves."""
    online, ema = _networks(base)
    games = _games()
    params = params.model_copy(update={"games": len(games), "max_plies": MAX_PLIES})
    expected = _reference((online, ema, base), cell, params)
    module = SelfPlayModule(base, games, cell, params)
    module.online.load_state_dict(online.state_dict())
    module.ema.load_state_dict(ema.state_dict())
    _fit(module, 1)
    return module, *expected


def _assert_equal(module, parts, gradients):
    for key, expected in parts.items():
        assert module.record[key] == pytest.approx(expected, abs=3e-6), key
    for name, parameter in module.online.named_parameters():
        expected = gradients[name]
        if expected is None:
            assert parameter.grad is None, name
        else:
            torch.testing.assert_close(parameter.grad.double(), expected, rtol=2e-3, atol=3e-6, msg=name)


@pytest.mark.parametrize("micro_batch", [6, 4])
@pytest.mark.parametrize("tau", ["adaptive", "fixed"])
@pytest.mark.parametrize("term", ["none", "entropy", "reverse_kl", "forward_kl"])
def test_a_step_is_the_papers_equations(network, params, term, tau, micro_batch):
    cell = Cell(term, tau, 0.0 if term == "none" else 0.5, seed=4)
    params = params.model_copy(update={"micro_batch": micro_batch})
    module, parts, gradients, played = _step(network, cell, params)
    _assert_equal(module, parts, gradients)
    # Games that ended or reached the cap begin again from the standard position.
    for row, (fen, moves) in enumerate(LINES):
        board = chess.Board(fen or chess.STARTING_FEN)
        for uci in [*moves.split(), played[row]]:
            board.push_uci(uci)
        if board.is_game_over() or len(board.move_stack) >= MAX_PLIES:
            assert module.games.moves[row] == ()
            assert module.games.fens[row] is None
        else:
            assert module.games.board_fen(row).split()[:2] == board.fen().split()[:2]


AUTHORS = {
    "temperature_source": "online",
    "cap_target": "bootstrap",
    "promotions": "merged",
    "reverse_kl_floor": 0.05,  # large, so that it binds in these positions
    "base_wdl_coefficient": 0.3,
}


@pytest.mark.parametrize("term", ["none", "entropy", "reverse_kl", "forward_kl"])
@pytest.mark.parametrize("keys", [*([key] for key in AUTHORS), list(AUTHORS)], ids="+".join)
def test_each_reading_of_the_released_code(network, params, term, keys):
    """One key at a time, and all of them; each changes the step it is meant to change."""
    cell = Cell(term, "adaptive", 0.0 if term == "none" else 0.5, seed=4)
    changed = params.model_copy(update={key: AUTHORS[key] for key in keys})
    module, parts, gradients, _ = _step(network, cell, changed)
    _assert_equal(module, parts, gradients)
    default = _step(copy.deepcopy(network), cell, params)[1]["loss"]
    touches_term = keys != ["reverse_kl_floor"] or term == "reverse_kl"
    assert (abs(parts["loss"] - default) > 1e-6) == touches_term


@pytest.mark.parametrize(("piece", "seed"), [("q", 1), ("r", 11), ("b", 9), ("n", 3)])
def test_a_merged_promotion_is_learned_from_its_slot(network, params, piece, seed):
    """With these seeds the pawn of the fourth game promotes."""
    params = params.model_copy(update={"promotions": "merged"})
    module, parts, gradients, played = _step(network, Cell("none", "fixed", 0.0, seed), params)
    assert played[3] == "a7a8" + piece
    _assert_equal(module, parts, gradients)


@pytest.mark.parametrize(
    ("variant", "ema_follows"),
    [("full", 0.5), ("no_rho", 0.5), ("no_ema", 1.0), ("online_tau", 0.5), ("no_value_loss", 0.5)],
)
def test_variants_leave_one_part_out(network, params, variant, ema_follows):
    cell = Cell("forward_kl", "adaptive", 0.5, 4, variant)
    full = _step(copy.deepcopy(network), cell, params)[1]["loss"]
    module, parts, gradients, _ = _step(network, cell, with_variant(params, variant))
    _assert_equal(module, parts, gradients)
    # Without an EMA the first step is that of the full method; the second begins elsewhere.
    assert (abs(parts["loss"] - full) > 1e-6) == (variant not in ("full", "no_ema"))
    value = module.online.value
    trained = any(parameter.grad.abs().max() > 0 for parameter in value.parameters())
    assert trained == (variant != "no_value_loss")
    assert (module.record["rho"] == 1.0) == (variant == "no_rho")
    before, now = (next(net.parameters()) for net in (_networks(network)[1], module.online))
    followed = torch.lerp(before, now, ema_follows)
    torch.testing.assert_close(next(module.ema.parameters()), followed, rtol=0, atol=1e-6)


def test_the_fixture_covers_every_kind_of_target(network, params):
    """The reference games hit the cap, a rule ending and open play; otherwise the test above is weak."""
    games = _games()
    params = params.model_copy(update={"games": len(games), "max_plies": MAX_PLIES})
    module = SelfPlayModule(network, games, Cell("none", "fixed", 0.0, 4), params)
    _fit(module, 1)
    values = module.record
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
        found[term] = module.record
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


def test_every_step_and_game_draws_its_own_number(network, params, cell, monkeypatch):
    drawn = []

    def recorded(log_mu, mask, uniform):
        drawn.append(uniform)
        return sample(log_mu, mask, uniform)

    monkeypatch.setattr("searchless_rl.selfplay.module.sample", recorded)
    params = params.model_copy(update={"micro_batch": 4})
    _fit(SelfPlayModule(network, GameBatch([None] * params.games), cell, params), 3)
    expected = [uniforms(Stream.SELF_PLAY, cell.seed, step, params.games) for step in range(3)]
    np.testing.assert_array_equal(np.concatenate(drawn), np.concatenate(expected))


def test_rates_warm_up_linearly_and_stay(network, params, cell):
    params = params.model_copy(update={"warmup_steps": 3})
    history = _History()
    _fit(SelfPlayModule(network, GameBatch([None] * params.games), cell, params), 5, history)
    peak = params.learning_rates.model_dump()
    for share, rates in zip([1 / 3, 2 / 3, 1, 1, 1], history.rates, strict=True):
        assert rates == pytest.approx({name: share * rate for name, rate in peak.items()})


def test_beta_falls_to_its_final_share_in_the_loss(network, params):
    """β of each step, read from its loss; the entropy term is far from 0 from the start."""
    params = params.model_copy(update={"steps": 3, "beta_final": 0.2})
    history = _History()
    games = GameBatch([None] * params.games)
    _fit(SelfPlayModule(network, games, Cell("entropy", "fixed", 0.5, 4), params), 3, history)
    betas = [
        (record["loss"] - record["loss_policy"] - params.value_coefficient * record["loss_value"])
        / record["loss_exploration"]
        for record in history.records
    ]
    assert betas == pytest.approx([0.5, 0.3, 0.1], rel=1e-3)


def test_randomized_roots_are_the_bases_moves_in_restarted_games_only(network, params):
    """Each root played again with python-chess from the base's policy and the game's random numbers."""
    cell = Cell("none", "fixed", 0.0, seed=3)
    module, _, _, played = _step(network, cell, params.model_copy(update={"root_randomization": 2}))
    games, randomized = len(LINES), 0
    lengths = uniforms(Stream.ROOT_LENGTH, cell.seed, 1, games)  # addressed by the steps taken
    for row, (fen, moves) in enumerate(LINES):
        board = chess.Board(fen or chess.STARTING_FEN)
        for uci in [*moves.split(), played[row]]:
            board.push_uci(uci)
        if board.is_game_over() or len(board.move_stack) >= MAX_PLIES:
            board, plies = chess.Board(), 2 * int(3 * lengths[row])
            for ply in range(plies):
                legal = sorted(board.legal_moves, key=lambda move: move_index(board, move))
                index = [move_index(board, move) for move in legal]
                planes = torch.from_numpy(encode_game(None, [move.uci() for move in board.move_stack]))
                with torch.no_grad():
                    policy = torch.softmax(network(planes[None]).policy[0, index].double(), 0)
                uniform = uniforms(Stream.ROOT_MOVES, cell.seed, 1, games, ply)[row]
                board.push(legal[int((policy.cumsum(0) <= uniform).sum())])
            randomized += plies > 0
        assert module.games.board_fen(row).split()[:2] == board.fen().split()[:2]
    assert randomized >= 2


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("importance_weight", 0.001, "the mean importance weight is 0.001 at step 1"),
        ("wdl_entropy", 1.2, r"temperatures from 1.2 to 1.2 at step 1 leave \[0, ln 3\]"),
    ],
    ids=["rho", "tau"],
)
def test_signs_of_a_broken_temperature_stop_the_cell(network, params, cell, monkeypatch, part, value, words):
    monkeypatch.setattr(
        f"searchless_rl.selfplay.module.{part}", lambda first, *_: torch.full((len(first),), value)
    )
    module = SelfPlayModule(network, GameBatch([None] * params.games), cell, params)
    with pytest.raises(TrainingFailure, match=rf"0.01-s0: {words}"):
        _fit(module, 1)


def test_a_loss_that_is_not_finite_stops_with_cell_step_and_position(network, params, cell, monkeypatch):
    """One game of six goes wrong; its position before the move is named, and only that."""
    games = GameBatch([None] * params.games)
    games.step(np.array([2]), np.array([games.index(2, "e2e4")]))
    objective = module_losses

    def spoiled(log_policy, value_logits, *rest):
        value_logits = value_logits.clone()
        value_logits[2] = torch.nan
        return objective(log_policy, value_logits, *rest)

    monkeypatch.setattr("searchless_rl.selfplay.module.losses", spoiled)
    module = SelfPlayModule(network, games, cell, params)
    position = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"
    with pytest.raises(
        TrainingFailure, match=rf"0.01-s0: the loss is nan at step 1 \(at {position}\), before "
    ):
        _fit(module, 1)


def test_weights_that_are_not_finite_are_not_saved(network, params, cell):
    module = SelfPlayModule(network, GameBatch([None] * params.games), cell, params)
    module.on_save_checkpoint({})
    with torch.no_grad():
        next(module.online.parameters())[0] = torch.inf
    with pytest.raises(TrainingFailure, match="weights are not finite after step 0"):
        module.on_save_checkpoint({})


def test_the_number_of_games_must_agree(network, params, cell):
    with pytest.raises(ValueError, match=r"3 warm-start games for selfplay.games = 6"):
        SelfPlayModule(network, GameBatch([None] * 3), cell, params)
