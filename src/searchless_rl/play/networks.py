"""The network at the board: a file, or the base network of params.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from searchless_rl import layout

if TYPE_CHECKING:
    from searchless_rl.nets.evaluator import Evaluator


def load_evaluator(weights: Path | None) -> Evaluator:
    """A network that evaluates one position at a time.

    Args:
        weights: an Lc0 network file; None: the base of params.yaml, fetched if need be.

    Raises:
        RuntimeError: the file cannot be used, or the base cannot be found or fetched (the message says what
            to give instead).
    """
    from searchless_rl.lc0 import load_network
    from searchless_rl.nets.evaluator import Evaluator

    try:
        return Evaluator(load_network(_base() if weights is None else weights.expanduser()), batch_size=1)
    except (ValueError, OSError) as error:
        raise RuntimeError(str(error)) from error


def _base() -> Path:
    from searchless_rl.params import load_params
    from searchless_rl.suites.download import resolve_base

    try:
        return resolve_base(load_params().base, layout.DATA)
    except (ValueError, OSError, RuntimeError) as error:
        raise RuntimeError(
            f"no network is named, and the base of params.yaml cannot be used: {error}. Give --weights FILE "
            "(an Lc0 .pb.gz; in UCI also the option WeightsFile)"
        ) from error
