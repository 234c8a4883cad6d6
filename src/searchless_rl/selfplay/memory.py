"""Taking a step's gradient in micro-batches, and in smaller ones when memory runs out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch

from searchless_rl.board import GameBatch
from searchless_rl.selfplay.guards import TrainingFailure

if TYPE_CHECKING:
    from searchless_rl.selfplay.module import SelfPlayModule

Parts = TypeVar("Parts", bound=tuple[Any, ...])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the accelerator's allocator, or torch's on the CPU, could not serve a request."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )


def accumulate_gradient(module: SelfPlayModule, ply: Callable[[np.ndarray], tuple[Parts, ...]]) -> list[Any]:
    """Play one ply of every game and leave the whole batch's gradient in the parameters.

    When memory runs out, the ply is taken back and played again in micro-batches of half the size: the same
    moves, and the same gradient but for the order of its sum.

    Args:
        module: whose games, optimizer and `micro_batch` (halved where needed) are used.
        ply: plays the games of some rows (int64 [b]) and adds their gradient; returns named tuples of [b]
            vectors.

    Returns:
        What `ply` returns, for all games.

    Raises:
        TrainingFailure: one position at a time does not fit either.
    """
    lengths = [len(moves) for moves in module.games.moves]
    while True:
        module.optimizers().zero_grad()  # type: ignore[union-attr]  # one optimizer, not a list
        try:
            parts = [ply(rows) for rows in _micro_batches(len(module.games), module.micro_batch)]
            return [concatenate(each) for each in zip(*parts, strict=True)]
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            problem = str(error).partition("\n")[0]
        # Outside the handler, which keeps the tensors of the failed pass alive.
        _halve_micro_batch(module, problem)
        played = [moves[:length] for moves, length in zip(module.games.moves, lengths, strict=True)]
        module.games = GameBatch.replay(module.games.fens, played)


def concatenate(parts: Sequence[Parts]) -> Parts:
    """Named tuples of [b] vectors as one of [B] vectors; a field that is None stays None."""
    fields: Any = zip(*parts, strict=True)
    kind: Any = type(parts[0])
    joined: Parts = kind(*(None if field[0] is None else torch.cat(field) for field in fields))
    return joined


def _micro_batches(count: int, size: int) -> list[np.ndarray]:
    return [np.arange(begin, min(begin + size, count)) for begin in range(0, count, size)]


def _halve_micro_batch(module: SelfPlayModule, problem: str) -> None:
    size, step = min(module.micro_batch, len(module.games)), module.global_step + 1
    if size == 1:
        raise TrainingFailure(
            f"{module.cell.id}: out of memory with one position at a time, at step {step} ({problem})."
        )
    module.micro_batch = (size + 1) // 2
    warnings.warn(
        f"{module.cell.id}: out of memory at step {step}; going on with {module.micro_batch} positions at a "
        "time (selfplay.micro_batch)",
        stacklevel=2,
    )
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
