"""The puzzle-tuned control: what it learns from, and its loss (paper section 3.6; Table 1, last row).

The base of the self-play cells, tuned for as many steps on as large batches, by supervised learning on
puzzle solutions instead. Every position s that a solver faces is an example, and the marked move its label:

    L(θ) = mean[−log π_θ(marked|s)]

over legal moves only, with the history that the puzzle is scored with. Every other optimal mate counts as
solved too when a network is scored (`suites.winning`), but is no label here.

The paper gives no more of the objective than that. Here it has no part for value and moves left: those two
heads get no gradient and keep the base's weights. What they say drifts all the same, because the layers
below them move and nothing holds the value to games; that has to be borne in mind where the control's value
is read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from searchless_rl.board import GameBatch, LegalMoves
from searchless_rl.selfplay.diagnostics import measure_policy
from searchless_rl.selfplay.distributions import LegalRows
from searchless_rl.selfplay.memory import concatenate
from searchless_rl.suites.puzzles import Puzzle, position_keys
from searchless_rl.suites.split import SplitError

ORDER_STREAM = 101
"""Address of the random numbers that order an epoch; self-play counts its streams from 1."""


class Example(NamedTuple):
    """A position that a solver faces.

    Attributes:
        puzzle_id: the puzzle's.
        fen: first known position, None for the standard start.
        moves: UCI moves from there to the position: of the game before the puzzle, where they are known, then
            of the puzzle, whose first is the opponent's.
        marked: UCI of the move to find.
    """

    puzzle_id: str
    fen: str | None
    moves: tuple[str, ...]
    marked: str


def solver_examples(puzzles: Iterable[Puzzle]) -> list[Example]:
    """Every solver position of every puzzle, in order, with the history that it is scored with."""
    return [
        Example(puzzle.id, *puzzle.game(ply), puzzle.moves[ply])
        for puzzle in puzzles
        for ply in range(1, len(puzzle.moves), 2)
    ]


def require_unseen(pool: Iterable[Puzzle], suites: Mapping[str, Iterable[Puzzle]]) -> None:
    """Check that no suite holds a puzzle of the training pool or a solver position of one.

    Suites may overlap with each other.

    Raises:
        SplitError: the pool's puzzle, the suite, the suite's puzzle and the position are named.
    """
    suite_of: dict[str, str] = {}
    owner: dict[str, tuple[str, str]] = {}
    for name, puzzles in suites.items():
        for puzzle in puzzles:
            suite_of[puzzle.id] = name
            owner.update(dict.fromkeys(position_keys(puzzle), (puzzle.id, name)))
    for puzzle in pool:
        keys = position_keys(puzzle)
        if puzzle.id in suite_of:
            raise SplitError(
                f"puzzle {puzzle.id} of the training pool is in suite {suite_of[puzzle.id]} too "
                f"(position {keys[0]}); build the suites again"
            )
        for key in keys:
            if key in owner:
                other, name = owner[key]
                raise SplitError(
                    f"puzzle {puzzle.id} of the training pool and puzzle {other} of suite {name} share "
                    f"position {key}; build the suites again"
                )


def draw(count: int, size: int, step: int, seed: int) -> np.ndarray:
    """The examples of optimizer step 0, 1, ...: each of `count` once an epoch, epoch after epoch.

    The sequence over all steps depends on count and seed alone, not on where a run was interrupted or on the
    batch size; a batch may end one epoch and begin the next.

    Returns:
        int64 [size] in 0..count-1.
    """
    epoch, place = np.divmod(np.arange(step * size, (step + 1) * size), count)
    return np.concatenate([_order(count, seed, e)[place[epoch == e]] for e in np.unique(epoch).tolist()])


@functools.lru_cache(maxsize=2)  # sorting millions of examples anew at every step would take longer than it
def _order(count: int, seed: int, epoch: int) -> np.ndarray:
    bits = np.random.PCG64(np.random.SeedSequence([ORDER_STREAM, seed, epoch]))
    order = np.argsort(bits.random_raw(count), kind="stable")
    order.setflags(write=False)
    return order


class Batch(NamedTuple):
    """B examples in numbers.

    Attributes:
        planes: float32 [B, 112, 8, 8].
        legal: their legal moves.
        marked: int64 [B] policy indices of the labels.
    """

    planes: np.ndarray
    legal: LegalMoves
    marked: np.ndarray


def encode_examples(examples: Sequence[Example]) -> Batch:
    """Play the moves and encode the positions they lead to."""
    games = GameBatch([example.fen for example in examples])
    games.play([example.moves for example in examples])
    marked = [games.index(row, example.marked) for row, example in enumerate(examples)]
    return Batch(games.planes(), games.legal(), np.array(marked, np.int64))


class Measured(NamedTuple):
    """Measurements of B examples after a forward pass, as [B] vectors without gradient.

    Attributes:
        loss: −log π_θ(marked|s), nats.
        accuracy: 1 where no legal move is likelier than the marked one, else 0.
        entropy: of π_θ at s, nats.
        cov5: its mass on the base's five most likely moves.
        kl_base_policy, kl_policy_base: KL(π_base‖π_θ) and KL(π_θ‖π_base), nats. These three are None without
            a base.
    """

    loss: Tensor
    accuracy: Tensor
    entropy: Tensor
    cov5: Tensor | None
    kl_base_policy: Tensor | None
    kl_policy_base: Tensor | None


def accumulate_gradient(
    network: nn.Module,
    base: nn.Module | None,
    examples: Sequence[Example],
    *,
    micro_batch: int,
    precision: Literal["float32", "bf16"],
) -> Measured:
    """Add the gradient of the mean loss of all examples to the network's parameters.

    Args:
        network: the one that is tuned, on any device.
        base: the network to measure against, on the same device, or None to save its forward pass.
        examples: B of them.
        micro_batch: examples per forward and backward pass; it changes nothing but the order of sums.
        precision: bf16 runs the forward pass under autocast; logits and losses are float32 either way.
    """
    device = next(network.parameters()).device
    parts = []
    for begin in range(0, len(examples), micro_batch):
        batch = encode_examples(examples[begin : begin + micro_batch])
        planes = torch.from_numpy(batch.planes).to(device)
        legal = LegalRows.of(batch.legal, device)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            logits = network(planes).policy
        log_policy = legal.log_policy(logits)
        log_marked = log_policy.gather(1, _column(legal, batch.marked)[:, None]).squeeze(1)
        # Every example weighs 1/B, also in an uneven last part.
        torch.autograd.backward(-log_marked.sum() / len(examples))
        parts.append(_measure(log_policy.detach(), log_marked.detach(), base, planes, legal, precision))
    return concatenate(parts)


def _column(legal: LegalRows, marked: np.ndarray) -> Tensor:
    """int64 [B] where each row has its marked move; padding, which has index 0, is not looked at."""
    found = legal.index == torch.from_numpy(marked).to(legal.index.device)[:, None]
    return (found & legal.mask).int().argmax(1)


@torch.no_grad()
def _measure(
    log_policy: Tensor,
    log_marked: Tensor,
    base: nn.Module | None,
    planes: Tensor,
    legal: LegalRows,
    precision: Literal["float32", "bf16"],
) -> Measured:
    log_base = None
    if base is not None:
        with torch.autocast(planes.device.type, torch.bfloat16, enabled=precision == "bf16"):
            log_base = legal.log_policy(base(planes).policy)
    top = log_policy.masked_fill(~legal.mask, -torch.inf).amax(1)
    right = (log_marked >= top).float()
    return Measured(-log_marked, right, *measure_policy(log_policy, log_base, legal.mask))
