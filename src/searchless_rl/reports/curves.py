"""Learning curves of the arms at one beta, as one table that `dvc plots` draws."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from searchless_rl.results.curves import read_steps
from searchless_rl.results.models import Measured

METRICS = ("entropy", "kl_base_policy")


def learning_curves(models: Sequence[Measured], beta: float) -> pd.DataFrame:
    """Steps at which every arm was measured against the base.

    Args:
        models: as `read_models` gives them.
        beta: of the regularized arms; the unregularized ones take part too.

    Returns:
        Columns step, then ``METRIC ARM`` for entropy and KL(π_base‖π_θ), in nats, of the online policy on the
        positions it visits.
    """
    series: dict[str, pd.Series] = {}
    for model in models:
        if model.cell is None or not model.in_grid or model.curves is None or not model.curves.exists():
            continue
        if model.cell.variant != "full" or (model.cell.term != "none" and model.cell.beta != beta):
            continue
        curves = read_steps(model.curves)
        for metric in METRICS:
            points = dict(curves.get(metric, []))
            series.setdefault(f"{metric} {model.cell.arm}", pd.Series(points))  # of several seeds the first
    ordered = {name: series[name] for metric in METRICS for name in series if name.startswith(f"{metric} ")}
    return pd.DataFrame(ordered).dropna().rename_axis("step").reset_index()
