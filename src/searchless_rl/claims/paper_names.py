"""How the files of data/paper call what this project calls otherwise."""

from __future__ import annotations

from searchless_rl.results.names import BASE, CONTROL

PAPER_TERMS = {"frozen_base": BASE, "puzzle_tuned": CONTROL}
"""Models that are no arm."""
PAPER_SAMPLING = {"mu": "μ", "raw": "raw"}
"""Policies of Table 5."""
