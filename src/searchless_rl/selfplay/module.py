"""Self-play fine-tuning of one cell as a LightningModule: one ply of every game per optimizer step.

`SelfPlayModule.training_step` is the algorithm of paper section 2.3:

    τ(s) = H(p_ema(s)) or 1;  μ ∝ π_θ^(1/τ);  a ~ μ;  ρ = min(cap, π_θ(a|s)/μ(a|s));  s′ = s·a
    target = p_ema(s′) seen from s, one-hot at the end of a game;  A = score(target) − v_θ(s)
    θ ← AdamW(∇ mean[−ρ·A·log π_θ(a|s) + β·R + c_v·ρ·CE(target, p_θ(s))]);  ema ← α·ema + (1−α)·θ

Games are taken in micro-batches from the forward pass to the backward pass, so that no position is
evaluated twice by the same weights and memory holds one micro-batch's activations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from searchless_rl.board import Ending, GameBatch
from searchless_rl.cells import Cell
from searchless_rl.nets.outputs import NetOutput
from searchless_rl.params import SelfPlayParams
from searchless_rl.selfplay.checkpoint import require_tensors
from searchless_rl.selfplay.diagnostics import Signals, finished, measure_policy, summarize_step
from searchless_rl.selfplay.distributions import LegalRows, Stream, sample, temper, uniforms, wdl_entropy
from searchless_rl.selfplay.game_statistics import GameStatistics
from searchless_rl.selfplay.guards import require_finite_weights, require_healthy
from searchless_rl.selfplay.memory import accumulate_gradient
from searchless_rl.selfplay.networks import ThreeNetworks
from searchless_rl.selfplay.objective import (
    Coefficients,
    Losses,
    Transitions,
    importance_weight,
    losses,
    score,
    td_advantage,
    value_target,
)
from searchless_rl.selfplay.optimizer import beta_at, update_ema
from searchless_rl.selfplay.promotions import MergedRows
from searchless_rl.selfplay.terms import needs_base
from searchless_rl.selfplay.warm_start import randomize_roots


class _Observation(NamedTuple):
    """Some games at s: which (int64 [b]), their planes [b, 112, 8, 8], legal moves, and the losses' moves.

    `moves` are what the losses take for moves: the legal ones, or from-to slots.
    """

    rows: np.ndarray
    planes: Tensor
    legal: LegalRows
    moves: LegalRows | MergedRows


class _Choice(NamedTuple):
    """Their moves: log π_θ [b, L], τ [b], the column of a ~ μ (int64 [b]) and its ρ [b]."""

    log_policy: Tensor
    tau: Tensor
    action: Tensor
    rho: Tensor


class SelfPlayModule(ThreeNetworks):
    """The games of a cell, played and learned from by its online network, EMA and frozen base.

    Args:
        base: the network to fine-tune; it is copied, and itself kept frozen outside the checkpoint.
        games: the warm-start games, as many as `params.games`; owned and stepped by the module.
        cell: exploration term, temperature, beta and seed; its variant is in `params` already.
        params: training parameters.

    Attributes:
        record: metrics of the last step.
    """

    def __init__(self, base: nn.Module, games: GameBatch, cell: Cell, params: SelfPlayParams) -> None:
        super().__init__(base, params)
        if len(games) != params.games:
            raise ValueError(f"{len(games)} warm-start games for selfplay.games = {params.games}")
        self.cell, self.games = cell, games
        self.statistics = GameStatistics(len(games))
        self.micro_batch = params.micro_batch
        self.record: dict[str, float] = {}

    def training_step(self, _batch: Any, _index: int) -> None:
        """One ply of every game, and one optimizer step on these transitions."""
        step, count = self.global_step, len(self.games)
        uniform = uniforms(Stream.SELF_PLAY, self.cell.seed, step, count)
        coefficients = Coefficients(
            beta=beta_at(step, self.cell.beta, self.params),
            c_v=self.params.value_coefficient,
            base_wdl=self.params.base_wdl_coefficient,
            reverse_floor=self.params.reverse_kl_floor,
        )

        def ply(rows: np.ndarray) -> tuple[Losses, Signals]:
            seen = self._observe(rows)
            out = self._online(seen.planes)
            choice = self._act(seen, out, uniform[rows])
            transitions, signals = self._label(seen, out, choice)
            log_policy = seen.moves.log_policy(out.policy)
            loss = losses(
                log_policy, out.value_logits, seen.moves.mask, transitions, self.cell.term, coefficients
            )
            self.manual_backward(loss.total.sum() / count)  # every position weighs 1/B, also in a short part
            return Losses(*(part.detach() for part in loss)), signals

        loss, signals = accumulate_gradient(self, ply)
        self.record = summarize_step(loss, signals, self.games, self.params.max_plies)
        require_healthy(self.cell, step + 1, self.record, loss.total, self.games)
        self.optimizers().step()  # type: ignore[union-attr]  # one optimizer, not a list
        self.lr_schedulers().step()  # type: ignore[union-attr]
        update_ema(self.ema, self.online, self.params.ema_decay)
        self._restart_finished(signals.value.double().cpu().numpy())

    def _observe(self, rows: np.ndarray) -> _Observation:
        """Encode s and list its legal moves."""
        legal = LegalRows.of(self.games.legal(rows), self.device)
        moves = MergedRows.of(legal) if self.params.promotions == "merged" else legal
        return _Observation(rows, torch.from_numpy(self.games.planes(rows)).to(self.device), legal, moves)

    @torch.no_grad()
    def _act(self, seen: _Observation, out: NetOutput, uniform: np.ndarray) -> _Choice:
        """Draw a ~ μ ∝ π_θ^(1/τ) in each game, with its ρ."""
        mask = seen.legal.mask
        log_policy = seen.legal.log_policy(out.policy.detach())
        tau = torch.ones_like(log_policy[:, 0])
        if self.cell.tau == "adaptive":
            online = self.params.temperature_source == "online"
            tau = wdl_entropy(out.wdl.detach() if online else self._ema(seen.planes).wdl)
        log_mu = temper(log_policy, mask, tau)
        action = sample(log_mu, mask, uniform)
        rho = importance_weight(log_policy, log_mu, action, self.params.importance_cap)
        return _Choice(log_policy, tau, action, rho)

    @torch.no_grad()
    def _label(self, seen: _Observation, out: NetOutput, choice: _Choice) -> tuple[Transitions, Signals]:
        """Play the moves and label the transitions: target from s′, advantage, what the base says at s."""
        base = self._base(seen.planes) if self._evaluates_base() else None
        played = seen.legal.index.gather(1, choice.action[:, None]).squeeze(1)
        self.games.step(seen.rows, played.cpu().numpy())
        ending = self.games.ending[seen.rows]
        capped = np.zeros(len(seen.rows), bool)
        if self.params.cap_target == "draw":
            capped = (ending == Ending.ONGOING) & (self.games.plies[seen.rows] >= self.params.max_plies)
        successor_wdl = self._successor_wdl(seen.rows, (ending == Ending.ONGOING) & ~capped)
        target = value_target(successor_wdl, ending, capped)
        wdl = out.wdl.detach()
        advantage = td_advantage(target, wdl)
        transitions = Transitions(
            action=seen.moves.column(choice.action),
            rho=choice.rho,
            advantage=advantage,
            target=target,
            log_base=seen.moves.log_policy(base.policy) if base and needs_base(self.cell.term) else None,
            base_wdl=base.wdl if base and self.params.base_wdl_coefficient else None,
        )
        log_base = None if base is None else seen.legal.log_policy(base.policy)
        measured = measure_policy(choice.log_policy, log_base, seen.legal.mask)
        return transitions, Signals(*measured, choice.tau, choice.rho, advantage, value=score(wdl))

    def _evaluates_base(self) -> bool:
        """Whether the step needs the frozen base: for its losses, or because it is measured."""
        measured = self.global_step % self.params.diagnostics_every == 0
        return needs_base(self.cell.term) or self.params.base_wdl_coefficient > 0 or measured

    def _successor_wdl(self, rows: np.ndarray, going_on: np.ndarray) -> Tensor:
        """[b, 3] EMA distribution at s′ from the side to move there; zeros where the game is over."""
        wdl = torch.zeros(len(rows), 3, device=self.device)
        if going_on.any():
            planes = torch.from_numpy(self.games.planes(rows[going_on])).to(self.device)
            wdl[torch.from_numpy(going_on).to(self.device)] = self._ema(planes).wdl
        return wdl

    @torch.no_grad()
    def _restart_finished(self, value: np.ndarray) -> None:
        """Begin new games where games are over; `value` is v_θ(s) of the step."""
        over = finished(self.games, self.params.max_plies)
        self.record |= self.statistics.observe(value, self.games, over)
        self.statistics.read_openings(self.games)
        rows = np.flatnonzero(over)
        self.games.restart(rows)
        self.statistics.begin(rows)
        if self.params.root_randomization and len(rows):
            randomize_roots(
                self.games,
                over,
                lambda planes: self._base(torch.from_numpy(planes).to(self.device)).policy,
                full_moves=self.params.root_randomization,
                seed=self.cell.seed,
                step=self.global_step,
            )
            self.statistics.read_openings(self.games)
        self.record |= self.statistics.openings()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the games; their moves are their whole state, and random numbers need none.

        Raises:
            TrainingFailure: a weight is not finite; the checkpoint on disk stays the last good state.
        """
        require_finite_weights(self.online, self.cell.id, self.global_step)
        checkpoint["games"] = {"fens": self.games.fens, "moves": self.games.moves}
        checkpoint["statistics"] = self.statistics.state()
        checkpoint["micro_batch"] = self.micro_batch

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the games.

        Raises:
            ValueError: the checkpoint's weights are not those of this network, or not finite.
        """
        require_tensors(checkpoint["state_dict"], self.state_dict())
        self.games = GameBatch.replay(checkpoint["games"]["fens"], checkpoint["games"]["moves"])
        self.statistics.restore(checkpoint["statistics"])
        self.micro_batch = checkpoint["micro_batch"]
