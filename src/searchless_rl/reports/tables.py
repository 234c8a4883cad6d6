"""Table 2, and every cell with everything measured of it. Pure: models in, frames out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from searchless_rl.cells import format_beta
from searchless_rl.params import Params
from searchless_rl.reports.formats import significant
from searchless_rl.reports.rows import frame_of, rates
from searchless_rl.results.models import Measured
from searchless_rl.results.names import BASE, HARD, MAIN, SELECTION, SUITES, identity
from searchless_rl.results.selection import select_cells

PAPER_BASE = "bt4"
"""The paper's base network, as `searchless fetch` names it."""
_CAPS = {"draw": "drawn at cap", "bootstrap": "bootstrapped at cap"}


def cells(models: Sequence[Measured]) -> pd.DataFrame:
    """Every network with everything measured of it; the place to look a number up.

    Columns: model, term, tau, beta, seed, variant, in_grid, requested, selected, precision; per suite the
    rates as in Table 1 and both mean solution probabilities, prefixed selection_, main_, hard_, mate1_ ...
    mate5_ (of chosen models and the requested cell; every cell has the first two); training metrics (means
    over the last tenth of the steps, of running counts the end) prefixed final_.
    """
    selected = {model.name for model in select_cells(models)}
    finals = list(dict.fromkeys(key for model in models for key in model.final))
    means = ("geometric_mean", "arithmetic_mean")
    rows = []
    for model in models:
        flags: dict[str, Any] = {
            "variant": None if model.cell is None else model.cell.variant,
            "in_grid": model.in_grid,
            "requested": model.requested,
            "selected": model.name in selected,
        }
        flags["precision"] = model.precision
        suites: dict[str, Any] = {}
        for suite in SUITES:
            suites |= rates(model, suite, f"{suite}_")
            suites |= {f"{suite}_{key}": model.figure(suite, key) for key in means}
        rows.append(
            identity(model.name) | flags | suites | {f"final_{key}": model.final.get(key) for key in finals}
        )
    return frame_of(rows)


def headline(models: Sequence[Measured]) -> dict[str, dict[str, Any]]:
    """What `dvc metrics` and `dvc exp show` print, of the requested cell, the base and the best cell.

    Accuracy by suite (fractions), and of the online policy at the end of training its entropy and
    KL(π_base‖π_θ) in nats.
    """

    def figures(model: Measured) -> dict[str, Any]:
        rates = {suite: model.figure(suite, "accuracy") for suite in (SELECTION, MAIN, HARD)}
        training = {key: model.final.get(key) for key in ("entropy", "kl_base_policy")}
        return {key: significant(value) for key, value in (rates | training).items() if value is not None}

    requested = next(model for model in models if model.requested)
    chosen = {"requested": requested, BASE: models[0]}
    if selected := select_cells(models):
        chosen["best"] = max(selected, key=lambda model: model.count(SELECTION, "k") or 0)
    return {name: figures(model) for name, model in chosen.items()}


def table2(params: Params, precisions: Collection[str] = ()) -> pd.DataFrame:
    """Training settings, the paper's value beside this scale's.

    Args:
        params: this scale's.
        precisions: number formats that the cells were trained in, which "auto" does not tell.

    Returns:
        Columns item, paper, ours, same.
    """
    ours, rates = params.selfplay, params.selfplay.learning_rates
    adam = (ours.adam_beta1, ours.adam_beta2)
    cap = "none" if ours.importance_cap is None else f"{ours.importance_cap:g}"

    trained_in: str = ours.precision
    if ours.precision == "auto" and precisions:
        trained_in = f"auto: {', '.join(sorted(precisions))}"

    def pair(first: float, second: float) -> str:
        return f"{first:g} / {second:g}"

    def warmup(steps: int) -> str:
        return f"{steps}-step linear warmup, then constant"

    rows = [
        ("Optimizer", "AdamW, β1 = 0.9, β2 = 0.98", "AdamW, β1 = {:g}, β2 = {:g}".format(*adam)),
        ("Weight decay", "0", f"{ours.weight_decay:g}"),
        ("Schedule", warmup(200), warmup(ours.warmup_steps)),
        ("Learning rate (backbone / final block)", pair(3e-6, 1e-5), pair(rates.backbone, rates.final_block)),
        ("Learning rate (policy head / value head)", pair(1e-5, 3e-5),
         pair(rates.policy_head, rates.value_head)),
        ("Total steps", "2000", f"{ours.steps}"),
        ("Parallel games / batch size", "1024", f"{ours.games}"),
        ("Max plies per game", "512 (drawn at cap)", f"{ours.max_plies} ({_CAPS[ours.cap_target]})"),
        ("Value-loss coefficient c_v", "0.2", f"{ours.value_coefficient:g}"),
        ("EMA decay α", "0.995", f"{ours.ema_decay:g}"),
        ("Importance-sampling cap", "1", cap),
        ("Forward-KL weight β (headline)", "0.01", format_beta(params.headline_beta)),
        ("Gradient clipping / precision", "none / float32", f"none / {trained_in}"),
        ("Dropout / stochastic depth", "off", "off"),
        ("Warm start, full moves of the base", "Uniform{0..60}", f"Uniform{{0..{ours.warm_start_moves}}}"),
        ("Evaluated weights", "EMA", "EMA, rounded to the 16-bit codes of an Lc0 file"),
        ("Base network", PAPER_BASE, params.base),
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["item", "paper", "ours"])
    return frame.assign(same=frame["paper"] == frame["ours"])
