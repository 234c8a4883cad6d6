"""Self-play fine-tuning of one cell as a LightningModule: one ply of every game per optimizer step.

The step, as paper section 2.3 tells it:

    τ(s) = H(p_ema(s)) or 1;  μ ∝ π_θ^(1/τ);  a ~ μ;  s′ = s·a
    target = p_ema(s′) seen from s, one-hot at the end of a game
    A = score(target) − v_θ(s);  ρ = min(cap, π_θ(a|s)/μ(a|s))
    θ ← AdamW(∇ mean[−ρ·A·log π_θ(a|s) + β·R + c_v·ρ·CE(target, p_θ(s))]);  ema ← α·ema + (1−α)·θ
"""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from searchless_rl.board import Ending, GameBatch
from searchless_rl.cells import Cell
from searchless_rl.nets.outputs import NetOutput
from searchless_rl.params import SelfPlayParams
from searchless_rl.selfplay.diagnostics import StepRecord, measure_step
from searchless_rl.selfplay.distributions import LegalRows, sample, temper, wdl_entropy
from searchless_rl.selfplay.objective import (
    Losses,
    Transitions,
    importance_weight,
    losses,
    score,
    value_target,
)
from searchless_rl.selfplay.optimizer import build_optimizer, update_ema, warmup_factor
from searchless_rl.selfplay.randomness import Stream, uniforms
from searchless_rl.selfplay.terms import needs_base

MIN_MEAN_WEIGHT = 0.2
"""Healthy runs have a mean ρ of 0.85 to 1; a broken temperature gives about 0.001 and no other sign."""


class TrainingFailure(RuntimeError):
    """A cell that cannot go on; the last checkpoint stays."""


class _Observation(NamedTuple):
    planes: Tensor
    legal: LegalRows


class SelfPlayModule(pl.LightningModule):
    """Online and EMA network, the frozen base, and the games.

    Args:
        base: the network to fine-tune; it is copied, and itself kept frozen outside the checkpoint.
        games: the warm-start games, as many as `params.games`; owned and stepped by the module.
        cell: exploration term, temperature, beta and seed.
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
        self.online = copy.deepcopy(base).requires_grad_(True)
        self.ema = copy.deepcopy(base).requires_grad_(False)
        self._frozen = (base.requires_grad_(False),)  # a tuple, so that it is no submodule
        self.record: StepRecord | None = None

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
        seen = self._observe()
        # With one micro-batch the forward pass that plays is also the one that is differentiated.
        whole = len(seen.planes) <= self.params.micro_batch
        with torch.set_grad_enabled(whole):
            acting = self._forward(self.online, seen.planes)
        step, record = self._play(seen, acting.policy.detach(), acting.wdl.detach())
        optimizer = self.optimizers()
        optimizer.zero_grad()  # type: ignore[union-attr]  # one optimizer, not a list
        parts = self._backward(acting, seen, step) if whole else self._backward_in_parts(seen, step)
        self.record = record.with_losses(parts)
        self._check(self.record)
        optimizer.step()  # type: ignore[union-attr]
        self.lr_schedulers().step()  # type: ignore[union-attr]
        update_ema(self.ema, self.online, self.params.ema_decay)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the games; their moves are their whole state, and random numbers need none."""
        checkpoint["games"] = {"fens": self.games.fens, "moves": self.games.moves}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the games."""
        self.games = GameBatch.replay(checkpoint["games"]["fens"], checkpoint["games"]["moves"])

    # --- one step ----------------------------------------------------------------------------------

    def _observe(self) -> _Observation:
        planes = torch.from_numpy(self.games.planes()).to(self.device)
        return _Observation(planes, LegalRows.of(self.games.legal(), self.device))

    def _forward(self, network: nn.Module, planes: Tensor) -> NetOutput:
        parts: list[NetOutput] = [network(part) for part in planes.split(self.params.micro_batch)]
        if len(parts) == 1:
            return parts[0]
        return NetOutput(
            policy=torch.cat([part.policy for part in parts]),
            wdl=torch.cat([part.wdl for part in parts]),
            moves_left=None,  # not read here
            value_logits=torch.cat([part.value_logits for part in parts]),
        )

    @torch.no_grad()
    def _play(self, seen: _Observation, logits: Tensor, wdl: Tensor) -> tuple[Transitions, StepRecord]:
        """Sample a move in every game from the online `logits`, play it, and label the transition.

        `wdl` is the online value head at s. Finished games begin again.
        """
        mask = seen.legal.mask
        log_policy = seen.legal.log_policy(logits)
        tau = torch.ones_like(log_policy[:, 0])
        if self.cell.tau == "adaptive":
            tau = wdl_entropy(self._forward(self.ema, seen.planes).wdl)
        log_mu = temper(log_policy, mask, tau)
        uniform = uniforms(Stream.SELF_PLAY, self.cell.seed, self.global_step, len(self.games))
        action = sample(log_mu, mask, uniform)
        weight = importance_weight(log_policy, log_mu, action, self.params.importance_cap)

        measured = self.global_step % self.params.diagnostics_every == 0
        log_base = None
        if needs_base(self.cell.term) or measured:
            log_base = seen.legal.log_policy(self._forward(self._frozen[0], seen.planes).policy)

        every = np.arange(len(self.games))
        self.games.step(every, seen.legal.index.gather(1, action[:, None]).squeeze(1).cpu().numpy())
        ending, plies = self.games.ending.copy(), self.games.plies
        capped = (ending == Ending.ONGOING) & (plies >= self.params.max_plies)
        successor = self._successor_wdl(np.flatnonzero(ending == Ending.ONGOING))
        target = value_target(successor, ending, capped)
        advantage = score(target) - score(wdl)
        record = measure_step(
            log_policy=log_policy,
            log_base=log_base,
            mask=mask,
            tau=tau,
            weight=weight,
            advantage=advantage,
            ending=ending,
            capped=capped,
            plies=plies,
            moved_white=~self.games.is_white,
        )
        self.games.restart(np.flatnonzero((ending != Ending.ONGOING) | capped))
        constant = log_base if needs_base(self.cell.term) else None
        return Transitions(action, weight, advantage, target, constant), record

    def _successor_wdl(self, ongoing: np.ndarray) -> Tensor:
        """[B, 3] EMA distribution at s′ from the side to move there; rows of finished games are not read."""
        wdl = torch.zeros(len(self.games), 3, device=self.device)
        if len(ongoing):
            planes = torch.from_numpy(self.games.planes(ongoing)).to(self.device)
            wdl[torch.from_numpy(ongoing).to(self.device)] = self._forward(self.ema, planes).wdl
        return wdl

    def _losses(self, out: NetOutput, legal: LegalRows, step: Transitions) -> Losses:
        return losses(
            legal.log_policy(out.policy),
            out.value_logits,
            legal.mask,
            step,
            term=self.cell.term,
            beta=self.cell.beta,
            value_coefficient=self.params.value_coefficient,
        )

    def _backward(self, out: NetOutput, seen: _Observation, step: Transitions) -> Losses:
        parts = self._losses(out, seen.legal, step)
        self.manual_backward(parts.total.sum() / len(self.games))
        return Losses(*(part.detach() for part in parts))

    def _backward_in_parts(self, seen: _Observation, step: Transitions) -> Losses:
        """The same gradient from micro-batches: every position weighs 1/B, also in an uneven last one."""
        done = []
        for begin in range(0, len(seen.planes), self.params.micro_batch):
            chosen = slice(begin, begin + self.params.micro_batch)
            part = _Observation(seen.planes[chosen], seen.legal.rows(chosen))
            done.append(self._backward(self.online(part.planes), part, step.rows(chosen)))
        return Losses(*(torch.cat(part) for part in zip(*done, strict=True)))

    def _check(self, record: StepRecord) -> None:
        loss = record.values["loss"]
        if not math.isfinite(loss):
            fens = "; ".join(self.games.board_fen(row) for row in range(min(3, len(self.games))))
            raise TrainingFailure(
                f"{self.cell.id}: the loss is {loss} at step {self.global_step + 1} (games now at: {fens}); "
                "lower selfplay.learning_rates or beta. The last checkpoint is kept."
            )
        if not record.values["rho"] >= MIN_MEAN_WEIGHT:
            raise TrainingFailure(
                f"{self.cell.id}: the mean importance weight is {record.values['rho']:.4g} at step "
                f"{self.global_step + 1}; moves are no longer sampled from a tempered policy"
            )
        coldest, hottest = record.values["tau_min"], record.values["tau_max"]
        if self.cell.tau == "adaptive" and not -1e-6 <= coldest <= hottest <= math.log(3) + 1e-4:
            raise TrainingFailure(
                f"{self.cell.id}: temperatures from {coldest:.4g} to {hottest:.4g} at step "
                f"{self.global_step + 1} leave [0, ln 3]; the value head is broken"
            )
