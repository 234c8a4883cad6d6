"""bfloat16 and `torch.compile`: what they gain, and what they do to the outputs.

One forward pass, and one forward with one backward pass, of positions from games of the base, in turns; the
baseline is float32 without compilation, the ratio how many times faster than it. Differences are those of
the outputs from float32 without compilation: of the logits of legal moves, and of the win/draw/loss
probabilities. The Chessformer has random weights. *First passes* are those in which a network is compiled,
with nothing kept from earlier runs. Where that fails, the row says why.
"""

from __future__ import annotations

import copy
import os
import statistics
import tempfile
import time
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import torch
from shared.rows import Row
from torch import Tensor, nn
from tqdm import tqdm

from searchless_rl.board import POLICY_SIZE, GameBatch
from searchless_rl.nets import (
    AttentionPolicyConfig,
    Chessformer,
    ChessformerConfig,
    DenseEmbeddingConfig,
    EncoderConfig,
    NetOutput,
    SmolgenConfig,
    TokenHeadConfig,
)
from searchless_rl.selfplay.distributions import LegalRows
from selfplay_parts.settings import Settings

PART = "formats"


class Variant(NamedTuple):
    """A network in a number format, compiled or not."""

    bf16: bool
    compiled: bool

    @property
    def label(self) -> str:
        """As in the table."""
        return ("bf16" if self.bf16 else "float32") + (", compiled" if self.compiled else "")


PLAIN = Variant(bf16=False, compiled=False)
OTHERS = tuple(Variant(*choice) for choice in ((True, False), (False, True), (True, True)))


class Runner:
    """Passes of one variant of a network over fixed positions."""

    def __init__(self, network: nn.Module, variant: Variant, planes: Tensor) -> None:
        own = copy.deepcopy(network).requires_grad_(True)
        self._variant = variant
        self._network = torch.compile(own) if variant.compiled else own
        self._planes = planes
        generator = torch.Generator().manual_seed(0)
        self._gradients = [torch.randn(len(planes), width, generator=generator) for width in (POLICY_SIZE, 3)]

    def forward(self) -> NetOutput:
        """Outputs, without a graph."""
        with torch.no_grad(), self._autocast():
            out: NetOutput = self._network(self._planes)
        return out

    def forward_and_backward(self) -> None:
        """Both passes; the gradients add up and are never read."""
        with self._autocast():
            out = self._network(self._planes)
            torch.autograd.backward([out.policy, out.value_logits], self._gradients)

    def _autocast(self) -> torch.autocast:
        return torch.autocast("cpu", torch.bfloat16, enabled=self._variant.bf16)


def random_chessformer(width: int, layers: int, heads: int) -> Chessformer:
    """A network of BT4's shape, smaller, with random weights of seed 0."""
    config = ChessformerConfig(
        width=width,
        encoders=EncoderConfig(layers, heads, attention=width, ffn=2 * width),
        policy=AttentionPolicyConfig(width, width),
        value=TokenHeadConfig(16, 128),
        dense=DenseEmbeddingConfig(position=64, ffn=width),
        smolgen=SmolgenConfig(compress=16, hidden=64, generator=64),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Chessformer(config)


def difference(one: NetOutput, other: NetOutput, legal: LegalRows) -> tuple[float, float, float]:
    """Largest and mean difference of the logits of legal moves, and the largest of the WDL probabilities."""
    logits = (one.policy - other.policy).abs().gather(1, legal.index)[legal.mask]
    return float(logits.max()), float(logits.mean()), float((one.wdl - other.wdl).abs().max())


def measure(settings: Settings, name: str, network: nn.Module, games: GameBatch) -> list[Row]:
    """Rows of this part for `network`, called `name`, and for a random Chessformer."""
    games = games.select(np.arange(settings.batch))
    chessformer = random_chessformer(*settings.chessformer)
    networks = {
        name: network,
        "random Chessformer ({}x{}, {} heads)".format(*settings.chessformer): chessformer,
    }
    rows = []
    with (
        # Compiled code of earlier runs would make the first passes look fast.
        tempfile.TemporaryDirectory() as cache,
        mock.patch.dict(os.environ, {"TORCHINDUCTOR_CACHE_DIR": cache}),
        tqdm(total=len(networks) * (len(OTHERS) + settings.passes), desc=PART, unit="round") as bar,
    ):
        for label, candidate in networks.items():
            torch.compiler.reset()
            rows += _measure_network(settings, label, candidate, games, bar)
    return rows


def _measure_network(
    settings: Settings, name: str, network: nn.Module, games: GameBatch, bar: tqdm[Any]
) -> list[Row]:
    planes, legal = torch.from_numpy(games.planes()), LegalRows.of(games.legal())
    plain = Runner(network, PLAIN, planes)
    plain.forward_and_backward()
    reference = plain.forward()
    ready, rows = {PLAIN: plain}, []
    for variant in OTHERS:
        label = f"{name}, {variant.label}"
        begun = time.perf_counter()
        try:
            runner = Runner(network, variant, planes)
            out = runner.forward()
            runner.forward_and_backward()
        except Exception as error:  # a compiler that is missing or fails raises whatever it likes
            if not variant.compiled:
                raise
            rows.append(Row(PART, label, None, "", problem=_first_line(error)))
            bar.update()
            continue
        if variant.compiled:
            rows.append(Row(PART, f"first passes, {label}", time.perf_counter() - begun, "s"))
        largest, mean, largest_wdl = difference(out, reference, legal)
        rows.append(Row(PART, f"largest difference, {label}", largest, "logit"))
        rows.append(Row(PART, f"mean difference, {label}", mean, "logit"))
        rows.append(Row(PART, f"largest WDL difference, {label}", largest_wdl, "probability"))
        ready[variant] = runner
        bar.update()
    return [*_speeds(settings, name, ready, bar), *rows]


def _speeds(settings: Settings, name: str, runners: dict[Variant, Runner], bar: tqdm[Any]) -> list[Row]:
    seconds: dict[tuple[str, Variant], list[float]] = {}
    for _ in range(settings.passes):
        for variant, runner in runners.items():
            for kind, work in (
                ("forward", runner.forward),
                ("forward and backward", runner.forward_and_backward),
            ):
                begun = time.perf_counter()
                work()
                seconds.setdefault((kind, variant), []).append(time.perf_counter() - begun)
        bar.update()
    speed = {key: settings.batch / statistics.median(times) for key, times in seconds.items()}
    return [
        Row(
            PART,
            f"{kind}, {name}, {variant.label}",
            speed[kind, variant],
            "positions/s",
            speed[kind, PLAIN],
            speed[kind, variant] / speed[kind, PLAIN],
        )
        for kind in ("forward", "forward and backward")
        for variant in runners
        if variant != PLAIN
    ]


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}"[:200]
