"""Self-play fine-tuning of one cell as a LightningModule: one ply of every game per optimizer step.

The step, as paper section 2.3 tells it:

    τ(s) = H(p_ema(s)) or 1;  μ ∝ π_θ^(1/τ);  a ~ μ;  s′ = s·a
    target = p_ema(s′) seen from s, one-hot at the end of a game
    A = score(target) − v_θ(s);  ρ = min(cap, π_θ(a|s)/μ(a|s))
    θ ← AdamW(∇ mean[−ρ·A·log π_θ(a|s) + β·R + c_v·ρ·CE(target, p_θ(s))]);  ema ← α·ema + (1−α)·θ

Games are taken in micro-batches from the forward pass to the backward pass, so that no position is
evaluated twice by the same weights and memory holds one micro-batch's activations.
"""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from searchless_rl.board import Ending, GameBatch
from searchless_rl.cells import Cell
from searchless_rl.nets.outputs import NetOutput
from searchless_rl.params import SelfPlayParams
from searchless_rl.selfplay.diagnostics import Health, finished, measure_policy, summarize_step
from searchless_rl.selfplay.distributions import LegalRows, sample, temper, wdl_entropy
from searchless_rl.selfplay.ledger import GameLedger
from searchless_rl.selfplay.memory import is_out_of_memory
from searchless_rl.selfplay.objective import (
    Losses,
    Transitions,
    Weights,
    importance_weight,
    losses,
    score,
    value_target,
)
from searchless_rl.selfplay.optimizer import beta_at, build_optimizer, update_ema, warmup_factor
from searchless_rl.selfplay.promotions import MergedRows
from searchless_rl.selfplay.randomness import Stream, uniforms
from searchless_rl.selfplay.terms import needs_base
from searchless_rl.selfplay.warm_start import advance, full_moves_to_plies

MIN_MEAN_WEIGHT = 0.2
"""Healthy runs have a mean ρ of 0.85 to 1; a broken temperature gives about 0.001 and no other sign."""


class TrainingFailure(RuntimeError):
    """A cell that cannot go on; the last checkpoint stays."""


class _Observation(NamedTuple):
    """Some games at s.

    Attributes:
        rows: int64 [b] which games.
        planes: [b, 112, 8, 8].
        legal: their legal moves.
        moves: what the losses take for moves: the legal ones, or from-to slots.
    """

    rows: np.ndarray
    planes: Tensor
    legal: LegalRows
    moves: LegalRows | MergedRows


class SelfPlayModule(pl.LightningModule):
    """Online and EMA network, the frozen base, and the games.

    Args:
        base: the network to fine-tune; it is copied, and itself kept frozen outside the checkpoint.
        games: the warm-start games, as many as `params.games`; owned and stepped by the module.
        cell: exploration term, temperature, beta and seed; its variant is in `params` already.
        params: training parameters.
    """

    def __init__(self, base: nn.Module, games: GameBatch, cell: Cell, params: SelfPlayParams) -> None:
        super().__init__()
        if len(games) != params.games:
            raise ValueError(f"{len(games)} warm-start games for selfplay.games = {params.games}")
        self.automatic_optimization = False
        self.cell = cell
        self.params = params
        self.games = games
        self.ledger = GameLedger(len(games))
        self.micro_batch = params.micro_batch
        self.online = copy.deepcopy(base).requires_grad_(True)
        self.ema = copy.deepcopy(base).requires_grad_(False)
        self._frozen = (base.requires_grad_(False),)  # a tuple, so that it is no submodule
        wrap = torch.compile if params.compile else lambda network: network
        # The networks as they are called; in a tuple too, so that wrapping renames no parameter.
        self._called = tuple(wrap(network) for network in (self.online, self.ema, base))
        self.record: dict[str, float] = {}

    # --- Lightning ---------------------------------------------------------------------------------

    def configure_optimizers(self) -> Any:
        """AdamW in the paper's groups under a linear warm-up."""
        optimizer = build_optimizer(self.online, self.params)
        warmup = self.params.warmup_steps
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: warmup_factor(step, warmup))
        return {"optimizer": optimizer, "lr_scheduler": schedule}

    def on_fit_start(self) -> None:
        self._frozen[0].to(self.device)

    def training_step(self, _batch: Any, _index: int) -> None:
        """One ply of every game and one optimizer step."""
        parts, health = self._accumulate()
        self.record = summarize_step(parts, health, self.games, self.params.max_plies)
        self._check(self.record, parts.total)
        self.optimizers().step()  # type: ignore[union-attr]  # one optimizer, not a list
        self.lr_schedulers().step()  # type: ignore[union-attr]
        update_ema(self.ema, self.online, self.params.ema_decay)
        self._restart_finished(health.value.double().cpu().numpy())

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the games; their moves are their whole state, and random numbers need none.

        Raises:
            TrainingFailure: a weight is not finite; what is on disk stays the last good state.
        """
        if not all(torch.isfinite(parameter).all() for parameter in self.online.parameters()):
            raise TrainingFailure(
                f"{self.cell.id}: weights are not finite after step {self.global_step}; lower "
                "selfplay.learning_rates or beta. The last checkpoint is kept."
            )
        checkpoint["games"] = {"fens": self.games.fens, "moves": self.games.moves}
        checkpoint["ledger"] = self.ledger.state()
        checkpoint["micro_batch"] = self.micro_batch

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the games."""
        self.games = GameBatch.replay(checkpoint["games"]["fens"], checkpoint["games"]["moves"])
        self.ledger.restore(checkpoint["ledger"])
        self.micro_batch = checkpoint["micro_batch"]

    # --- one step ----------------------------------------------------------------------------------

    def _accumulate(self) -> tuple[Losses, Health]:
        """Play one ply of every game and leave the whole batch's gradient in the parameters.

        When memory runs out the ply is taken back and played again in micro-batches of half the size: the
        same moves, and the same gradient but for the order of its sum.
        """
        lengths = [len(moves) for moves in self.games.moves]
        while True:
            self.optimizers().zero_grad()  # type: ignore[union-attr]
            try:
                return self._accumulate_parts()
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                problem = str(error).partition("\n")[0]
            # Outside the handler, which keeps the tensors of the failed pass alive.
            self._halve_micro_batch(problem)
            played = [moves[:length] for moves, length in zip(self.games.moves, lengths, strict=True)]
            self.games = GameBatch.replay(self.games.fens, played)

    def _halve_micro_batch(self, problem: str) -> None:
        size, step = min(self.micro_batch, len(self.games)), self.global_step + 1
        if size == 1:
            raise TrainingFailure(
                f"{self.cell.id}: out of memory with one position at a time, at step {step} ({problem}). "
                "The last checkpoint is kept."
            )
        self.micro_batch = (size + 1) // 2
        warnings.warn(
            f"{self.cell.id}: out of memory at step {step}; going on with {self.micro_batch} positions at a "
            "time (selfplay.micro_batch)",
            stacklevel=2,
        )
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _accumulate_parts(self) -> tuple[Losses, Health]:
        count = len(self.games)
        uniform = uniforms(Stream.SELF_PLAY, self.cell.seed, self.global_step, count)
        weights = Weights(
            beta=beta_at(self.global_step, self.cell.beta, self.params),
            value=self.params.value_coefficient,
            base_wdl=self.params.base_wdl_coefficient,
            reverse_floor=self.params.reverse_kl_floor,
        )
        parts, signals = [], []
        for begin in range(0, count, self.micro_batch):
            seen = self._observe(np.arange(begin, min(begin + self.micro_batch, count)))
            out = self._online(seen.planes)
            step, health = self._play(seen, out, uniform[seen.rows])
            log_policy = seen.moves.log_policy(out.policy)
            part = losses(log_policy, out.value_logits, seen.moves.mask, step, self.cell.term, weights)
            # Every position weighs 1/B, also in an uneven last part.
            self.manual_backward(part.total.sum() / count)
            parts.append(Losses(*(value.detach() for value in part)))
            signals.append(health)
        return Losses(*_joined(parts)), Health(*_joined(signals))

    def _observe(self, rows: np.ndarray) -> _Observation:
        legal = LegalRows.of(self.games.legal(rows), self.device)
        moves = MergedRows.of(legal) if self.params.promotions == "merged" else legal
        return _Observation(rows, torch.from_numpy(self.games.planes(rows)).to(self.device), legal, moves)

    @torch.no_grad()
    def _play(self, seen: _Observation, out: NetOutput, uniform: np.ndarray) -> tuple[Transitions, Health]:
        """Sample a move in each game from the online network's output, play it, and label the transition."""
        mask = seen.legal.mask
        log_policy = seen.legal.log_policy(out.policy.detach())
        wdl = out.wdl.detach()
        tau = torch.ones_like(log_policy[:, 0])
        if self.cell.tau == "adaptive":
            online = self.params.temperature_source == "online"
            tau = wdl_entropy(wdl if online else self._ema(seen.planes).wdl)
        log_mu = temper(log_policy, mask, tau)
        action = sample(log_mu, mask, uniform)
        weight = importance_weight(log_policy, log_mu, action, self.params.importance_cap)
        base = self._base(seen.planes) if self._asks_base() else None

        self.games.step(seen.rows, seen.legal.index.gather(1, action[:, None]).squeeze(1).cpu().numpy())
        ending = self.games.ending[seen.rows]
        drawn = np.zeros(len(seen.rows), bool)
        if self.params.cap_target == "draw":
            drawn = (ending == Ending.ONGOING) & (self.games.plies[seen.rows] >= self.params.max_plies)
        going_on = (ending == Ending.ONGOING) & ~drawn
        target = value_target(self._successor_wdl(seen.rows, going_on), ending, drawn)
        advantage = score(target) - score(wdl)

        step = Transitions(
            action=seen.moves.column(action),
            weight=weight,
            advantage=advantage,
            target=target,
            log_base=seen.moves.log_policy(base.policy) if base and needs_base(self.cell.term) else None,
            base_wdl=base.wdl if base and self.params.base_wdl_coefficient else None,
        )
        log_base = None if base is None else seen.legal.log_policy(base.policy)
        measured = measure_policy(log_policy, log_base, mask)
        return step, Health(*measured, tau=tau, weight=weight, advantage=advantage, value=score(wdl))

    def _asks_base(self) -> bool:
        """The step needs the frozen base: for its losses, or because it is measured."""
        measured = self.global_step % self.params.diagnostics_every == 0
        return needs_base(self.cell.term) or self.params.base_wdl_coefficient > 0 or measured

    def _successor_wdl(self, rows: np.ndarray, going_on: np.ndarray) -> Tensor:
        """[b, 3] EMA distribution at s′ from the side to move there; zeros where the game is over."""
        wdl = torch.zeros(len(rows), 3, device=self.device)
        if going_on.any():
            planes = torch.from_numpy(self.games.planes(rows[going_on])).to(self.device)
            wdl[torch.from_numpy(going_on).to(self.device)] = self._ema(planes).wdl
        return wdl

    def _restart_finished(self, value: np.ndarray) -> None:
        """Begin new games where games are over; `value` is v_θ(s) of the step."""
        over = finished(self.games, self.params.max_plies)
        self.record |= self.ledger.observe(value, self.games, over)
        self.ledger.read_openings(self.games)
        rows = np.flatnonzero(over)
        self.games.restart(rows)
        self.ledger.begin(rows)
        if self.params.root_randomization and len(rows):
            self._randomize_roots(over)
            self.ledger.read_openings(self.games)
        self.record |= self.ledger.openings()

    @torch.no_grad()
    def _randomize_roots(self, restarted: np.ndarray) -> None:
        """Let the base play the first moves of restarted games (paper, Limitations)."""
        seed, step, count = self.cell.seed, self.global_step, len(self.games)
        lengths = full_moves_to_plies(
            uniforms(Stream.ROOT_LENGTH, seed, step, count), self.params.root_randomization
        )
        advance(
            self.games,
            np.where(restarted, lengths, 0),
            lambda planes: self._base(torch.from_numpy(planes).to(self.device)).policy,
            lambda ply: uniforms(Stream.ROOT_MOVES, seed, step, count, ply),
        )

    def _online(self, planes: Tensor) -> NetOutput:
        return self._called[0](planes)

    def _ema(self, planes: Tensor) -> NetOutput:
        return self._called[1](planes)

    def _base(self, planes: Tensor) -> NetOutput:
        return self._called[2](planes)

    def _check(self, record: dict[str, float], total: Tensor) -> None:
        """Stop a cell that is broken; `total` is the loss of each position."""
        loss = record["loss"]
        if not math.isfinite(loss):
            rows = torch.nonzero(~torch.isfinite(total)).flatten().tolist()[:3]
            moves = [self.games.moves[row][:-1] for row in rows]
            before = GameBatch.replay([self.games.fens[row] for row in rows], moves)
            fens = "; ".join(before.board_fen(row) for row in range(len(rows)))
            raise TrainingFailure(
                f"{self.cell.id}: the loss is {loss} at step {self.global_step + 1} (at {fens}); "
                "lower selfplay.learning_rates or beta. The last checkpoint is kept."
            )
        if not record["rho"] >= MIN_MEAN_WEIGHT:
            raise TrainingFailure(
                f"{self.cell.id}: the mean importance weight is {record['rho']:.4g} at step "
                f"{self.global_step + 1}; moves are no longer sampled from a tempered policy"
            )
        coldest, hottest = record["tau_min"], record["tau_max"]
        if self.cell.tau == "adaptive" and not -1e-6 <= coldest <= hottest <= math.log(3) + 1e-4:
            raise TrainingFailure(
                f"{self.cell.id}: temperatures from {coldest:.4g} to {hottest:.4g} at step "
                f"{self.global_step + 1} leave [0, ln 3]; the value head is broken"
            )


def _joined(parts: list[Any]) -> list[Any]:
    """The fields of named tuples of [b] vectors, each as one [B] vector; a field that is None stays so."""
    return [None if field[0] is None else torch.cat(field) for field in zip(*parts, strict=True)]
