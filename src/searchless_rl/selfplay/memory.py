"""Recognising that memory has run out."""

from __future__ import annotations

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """The accelerator's allocator, or torch's on the CPU, could not serve a request."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )
