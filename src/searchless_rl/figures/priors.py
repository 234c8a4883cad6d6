"""Entropy of visits and priors, and the temperature, by how decided a position is (appendix C, Figure 3)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from searchless_rl.figures.style import BASE_COLOUR, DOUBLE_WIDTH, TERM_COLOURS, use_style, write_figure

_LOOKS = ((BASE_COLOUR, "P"), (TERM_COLOURS["reverse_kl"], "^"), (TERM_COLOURS["entropy"], "s"))
_VISITS = (TERM_COLOURS["forward_kl"], "D")


def draw_priors(frame: pd.DataFrame, stem: Path, networks: Mapping[str, str]) -> None:
    """Draw `pretrain.priors.by_decidedness`; write PDF, PNG, CSV.

    Args:
        frame: see there.
        stem: path without suffix.
        networks: name -> its label, at most three.
    """
    use_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(DOUBLE_WIDTH, 2.9), layout="constrained")
    place = np.arange(len(frame))
    colour, marker = _VISITS
    left.plot(place, frame["visits"], color=colour, marker=marker, label="the search's visits")
    for (name, label), (colour, marker) in zip(networks.items(), _LOOKS, strict=False):
        left.plot(place, frame[f"{name}_entropy"], color=colour, marker=marker, label=label)
        right.plot(place, frame[f"{name}_tau"], color=colour, marker=marker, label=label)
    right.axhline(np.log(3), color="0.7", linewidth=0.8, linestyle="--")
    right.annotate("ln 3", (place[-1], np.log(3)), textcoords="offset points", xytext=(0, -9), fontsize=7)
    for axes in (left, right):
        axes.set_xticks(
            place, [f"{low:g}–{high:g}" for low, high in zip(frame["low"], frame["high"], strict=True)]
        )
        axes.set_xlabel("|value| of the search")
        axes.set_ylim(bottom=0)
    left.set_ylabel("entropy of the policy, nats")
    right.set_ylabel("τ: entropy of win/draw/loss, nats")
    left.legend(loc="lower right")
    figure.suptitle("Priors by how decided the search found a position", fontsize=8)
    write_figure(figure, frame, stem)
    plt.close(figure)
