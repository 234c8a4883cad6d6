"""Checkpoints of training: written whole or not at all, hashed, and read without executing anything.

A checkpoint is what `torch.save` writes, followed by a trailer of `TRAILER_BYTES` bytes with the SHA-256 of
what precedes it. PyTorch does not check what it reads, so a flipped bit would otherwise give another run
without a word.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import torch
from torch import Tensor

from searchless_rl.files import atomic_writer
from searchless_rl.selfplay.memory import is_out_of_memory
from searchless_rl.unfinished import CannotContinue

MAGIC = b"searchless checkpoint 1 sha256 "
TRAILER_BYTES = len(MAGIC) + 64


class _HashedStream(io.RawIOBase):
    """Passes bytes on to a stream and hashes them; remembers the failure that PyTorch's writer hides."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.failure: OSError | None = None

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        try:
            written = self._stream.write(data)
        except OSError as error:
            self.failure = error
            raise
        self.digest.update(data)
        return written


def write_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write a checkpoint; an older one stays as it was until the new one is on disk.

    Raises:
        OSError: the disk is full, or cannot be written to (the file named).
    """
    with atomic_writer(path) as stream:
        hashed = _HashedStream(stream)
        try:
            torch.save(dict(state), cast(IO[bytes], hashed))
        except RuntimeError:
            if hashed.failure is not None:
                raise hashed.failure from None
            raise
        stream.write(MAGIC + hashed.digest.hexdigest().encode())


def read_checkpoint(path: Path, keys: Sequence[str], device: torch.device | str = "cpu") -> dict[str, Any]:
    """Read a checkpoint. Pickled objects other than tensors and plain values are refused unexecuted.

    Args:
        path: of the file.
        keys: what it must hold.
        device: where its tensors go.

    Raises:
        CannotContinue: it is damaged, no checkpoint, or lacks a key (the file named).
    """
    with usable(path):
        _require_intact(path)
        state = torch.load(path, map_location=device, weights_only=True)
        missing = [key for key in keys if key not in state]
        if missing:
            raise KeyError(", ".join(missing))
    content: dict[str, Any] = state
    return content


def _require_intact(path: Path) -> None:
    left = path.stat().st_size - TRAILER_BYTES
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while left > 0 and (block := stream.read(min(left, 2**20))):
            digest.update(block)
            left -= len(block)
        if stream.read() != MAGIC + digest.hexdigest().encode():
            raise ValueError("its content is not what was written")


@contextlib.contextmanager
def usable(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong while a checkpoint is read and taken over into one error.

    Lost memory passes unchanged.

    Raises:
        CannotContinue: the file, the reason and the remedy are named.
    """
    try:
        yield
    except CannotContinue:
        raise
    except pickle.UnpicklingError as error:  # its text advises to load such a file without protection
        raise CannotContinue.from_file(path, "not a checkpoint (objects other than tensors)") from error
    except (RuntimeError, EOFError, LookupError, TypeError, ValueError, AttributeError) as error:
        if is_out_of_memory(error):
            raise
        reason = str(error).partition("\n")[0]
        raise CannotContinue.from_file(path, f"not a usable checkpoint ({_kind(error)}: {reason})") from error


def _kind(error: BaseException) -> str:
    return "missing" if isinstance(error, KeyError) else type(error).__name__


def require_tensors(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Check the weights of a checkpoint before they are taken over.

    Raises:
        ValueError: a tensor is missing, unknown, of another shape, or not finite (its name given).
    """
    for name in sorted({*found, *expected}):
        if name not in found or name not in expected:
            raise ValueError(f"tensor {name} is {'unknown' if name in found else 'missing'}")
        if found[name].shape != expected[name].shape:
            raise ValueError(
                f"tensor {name} has shape {tuple(found[name].shape)}, not {tuple(expected[name].shape)}"
            )
        require_finite(name, found[name])


def require_optimizer(state: Mapping[str, Any], untrained: Sequence[str] = ()) -> None:
    """Check that AdamW's moments are there and finite for every parameter that is trained.

    Args:
        state: of `torch.optim.AdamW.state_dict`, after at least one step; groups have names.
        untrained: names of groups without gradients.

    Raises:
        ValueError: something is missing or not finite.
    """
    for group in state["param_groups"]:
        if group["name"] in untrained:
            continue
        for number in group["params"]:
            moments = state["state"].get(number)
            if moments is None:
                raise ValueError(f"the optimizer state of {group['name']} is missing (parameter {number})")
            for name in ("exp_avg", "exp_avg_sq"):
                require_finite(f"{name} of {group['name']} (parameter {number})", moments[name])


def require_finite(name: str, tensor: Tensor) -> None:
    """Raise ValueError where a floating-point tensor holds NaN or infinity."""
    if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
        raise ValueError(f"{name} is not finite")
