"""What a run says of the paper's headline claims: one function a claim, from the report folder's CSV files.

A function takes the frames by name ("table1": reports/SCALE/table1.csv), of the rows that were measured, and
gives the measurement with its verdict. Of several seeds of a cell the first counts. A frame, a row or a value
that is missing raises KeyError or IndexError, which `findings` reports as not measurable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import pandas as pd

from searchless_rl.cells import TAUS, TERMS
from searchless_rl.reports.formats import signed

SUPPORTED, CONTRADICTED, INCONCLUSIVE = "supported", "contradicted", "inconclusive"
UNMEASURED = "not measurable here"
ANCHORS = ("reverse_kl", "forward_kl")
NAMES = {
    "none": "none",
    "entropy": "entropy",
    "reverse_kl": "reverse",
    "forward_kl": "forward",
    "base": "base",
}
SINGLE_LINE = 0.95
"""Mass of one line from which a policy plays a single line: a single draw then covers 95 %."""

MARGIN = 0.02
"""Share by which numbers without an interval must differ: they are exact, but of one training run."""

Frames = Mapping[str, pd.DataFrame]


class Finding(NamedTuple):
    """A measurement and what it says of a claim.

    Attributes:
        text: in words, with units.
        verdict: supported, contradicted or inconclusive.
        value: the measured number, in the unit of `text`; None where several carry the verdict.
        low: lower bound of its 95 % interval; None where it has none.
        high: upper bound.
        n: puzzles, games or positions behind it.
    """

    text: str
    verdict: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None


def by_interval(low: float, high: float, null: float = 0.0) -> str:
    """The verdict on "above `null`": a whole 95 % interval must lie on one side of it.

    Raises:
        KeyError: a bound was not measured.
    """
    if pd.isna(low) or pd.isna(high):
        raise KeyError("an interval that was not measured")
    return SUPPORTED if low > null else CONTRADICTED if high < null else INCONCLUSIVE


def by_margin(ratios: Sequence[float]) -> str:
    """Verdict of ratios that a claim wants above 1 and that have no interval.

    Supported: each by more than `MARGIN`. Contradicted: one below 1 by more than it. Else inconclusive.
    """
    if min(ratios) > 1 + MARGIN:
        return SUPPORTED
    return CONTRADICTED if min(ratios) < 1 / (1 + MARGIN) else INCONCLUSIVE


def accuracy_gain(frames: Frames, suite: str) -> Finding:
    """Selected forward-KL adaptive model against the base, paired by puzzle."""
    model = _one(frames["table1"], term="forward_kl", tau="adaptive")["model"]
    row = _one(frames["paired"], suite=suite, a="base", b=model)
    gain, low, high = (0.0 - 100 * float(row[key]) for key in ("difference", "high", "low"))
    text = f"{signed(gain, 1)} points [{signed(low, 1)}, {signed(high, 1)}], {row['n']:,} puzzles"
    return Finding(text, by_interval(low, high), gain, low, high, int(row["n"]))


def strength_of_anchors(frames: Frames) -> Finding:
    """Elo of the four cells that are anchored to the prior."""
    rows = [_one(frames["table1"], term=term, tau=tau) for term in ANCHORS for tau in TAUS]
    verdicts = [by_interval(row["elo_low"], row["elo_high"]) for row in rows]
    below, above = verdicts.count(CONTRADICTED), verdicts.count(SUPPORTED)
    verdict = CONTRADICTED if below else SUPPORTED if above == len(rows) else INCONCLUSIVE
    elos = ", ".join(f"{NAMES[row['term']]} {row['tau']} {_elo(row)}" for row in rows)
    text = f"{below} of {len(rows)} cells weaker than the base beyond their interval: {elos}"
    return Finding(text, verdict, n=len(rows))


def control_trades(frames: Frames) -> Finding:
    """The puzzle-tuned control: a larger gain in accuracy than any cell's, and a loss of rating."""
    gains, control = _gains(frames), _one(frames["table1"], model="control")
    gain, low, high = gains.pop("control")
    if not gains:
        raise KeyError("no other model to compare the control with")
    largest = low > max(gain[2] for gain in gains.values())
    rating = by_interval(control["elo_low"], control["elo_high"])
    refuted = rating == SUPPORTED or high < max(gain[1] for gain in gains.values())
    verdict = CONTRADICTED if refuted else INCONCLUSIVE
    if largest and rating == CONTRADICTED:
        verdict = SUPPORTED
    return Finding(f"{signed(100 * gain, 1)} points, {_elo(control)} Elo", verdict, *_bounds(control, "elo"))


def dissociation(frames: Frames) -> Finding:
    """Models that are better on puzzles and weaker in games, both beyond their intervals."""
    both = weaker = 0
    for name, (_, low, _) in _gains(frames).items():
        row = _one(frames["table1"], model=name)
        rating = by_interval(row["elo_low"], row["elo_high"])
        both += low > 0 and rating == SUPPORTED
        weaker += low > 0 and rating == CONTRADICTED
    verdict = SUPPORTED if weaker else CONTRADICTED if both else INCONCLUSIVE
    count = len(_gains(frames))
    text = f"{weaker} of {count} models gain on puzzles and lose rating, {both} gain both"
    return Finding(text, verdict, n=count)


def u_shape(frames: Frames) -> Finding:
    """Error of the forward-KL adaptive cells over beta: a minimum inside, below both ends."""
    cells = frames["cells"]
    cells = cells[(cells["variant"] == "full") & cells["in_grid"] & (cells["tau"] == "adaptive")]
    curve = cells[cells["term"] == "forward_kl"].drop_duplicates("beta").sort_values("beta")
    curve = curve.dropna(subset="main_accuracy")
    ends = [_one(cells, term="none"), curve.iloc[-1]]
    best = curve.sort_values("main_accuracy", ascending=False, kind="stable").iloc[0]
    if best["beta"] in (curve["beta"].min(), curve["beta"].max()):
        verdict = CONTRADICTED if best["main_low"] > min(end["main_high"] for end in ends) else INCONCLUSIVE
    else:
        verdict = SUPPORTED if best["main_low"] > max(end["main_high"] for end in ends) else INCONCLUSIVE
    errors = [f"{100 * (1 - row['main_accuracy']):.1f}" for row in (ends[0], best, ends[1])]
    text = (
        f"errors {errors[0]} % unregularized, {errors[1]} % at the best β = {best['beta']:g}, "
        f"{errors[2]} % at β = {ends[1]['beta']:g}"
    )
    value, low, high = (100 * (1 - float(best[f"main_{key}"])) for key in ("accuracy", "high", "low"))
    return Finding(text, verdict, value, low, high, int(best["main_n"]))


def selected_beta(frames: Frames) -> Finding:
    """Arms that select beta 1e-2, the paper's choice of five of six."""
    table = frames["table6"]
    table = table[table["term"].isin(TERMS[1:])].drop_duplicates(["term", "tau", "beta"])
    chosen = worse = 0
    for _, arm in table.groupby(["term", "tau"]):
        best, paper = arm[arm["selected"]].iloc[0], arm[arm["beta"] == 0.01].iloc[0]
        chosen += best["beta"] == 0.01
        worse += paper["high"] < best["low"]
    arms = table.groupby(["term", "tau"]).ngroups
    verdict = SUPPORTED if chosen >= arms - 1 else CONTRADICTED if worse > 1 else INCONCLUSIVE
    text = f"{chosen} of {arms} arms; in {worse} it is worse than the choice beyond the intervals"
    return Finding(text, verdict, n=int(table["n"].iloc[0]))


def forward_over_reverse(frames: Frames, suite: str) -> Finding:
    """Solution probability of the forward prior over the reverse anchor's, geometric means, paired."""
    row = _one(frames["table4"], statistic="forward / reverse")
    value, low, high = (float(row[f"{suite}{key}"]) for key in ("", "_low", "_high"))
    count = int(row[f"{suite}_n"])
    text = f"ratio {value:.2f} [{low:.2f}, {high:.2f}], {count:,} puzzles"
    return Finding(text, by_interval(low, high, 1.0), value, low, high, count)


def entropy_retention(frames: Frames) -> Finding:
    """Solution probability of the adaptive entropy bonus below the base's, on the main suite."""
    means = frames["table4"][frames["table4"]["statistic"] == "geometric"]
    base, entropy = _one(means, model="base"), _one(means, term="entropy")
    if entropy["main_high"] < base["main_low"]:
        verdict = SUPPORTED
    else:
        verdict = CONTRADICTED if entropy["main_low"] > base["main_high"] else INCONCLUSIVE
    text = f"geometric mean {entropy['main']:.3f}, the base's {base['main']:.3f}"
    return Finding(text, verdict, *_bounds(entropy, "main"), int(entropy["main_n"]))


def collapse(frames: Frames) -> Finding:
    """Unregularized self-play plays a single line from the start position."""
    rows = [_one(_at_start(frames), term="none", model=f"none-{tau}") for tau in TAUS]
    heaviest = [float(row["heaviest"]) for row in rows]
    verdict = SUPPORTED if min(heaviest) >= SINGLE_LINE else CONTRADICTED
    draws = " and ".join(_draws(row) for row in rows)
    text = f"{draws} draws cover 95 %; the likeliest line has {100 * max(heaviest):.0f} %"
    return Finding(text, verdict, max(heaviest))


def coverage_order(frames: Frames) -> Finding:
    """No regularizer, reverse, forward, entropy, base: from concentrated to wide, in both temperatures."""
    order = ("none", "reverse_kl", "forward_kl", "entropy", "base")
    kinds = {"adaptive": "adaptive", "fixed": "raw"}
    start = _at_start(frames)
    found: list[list[str]] = []
    ratios: list[float] = []
    for policy in kinds.values():
        draws = {term: float(_one(start, term=term, policy=policy)["draws_95_low"]) for term in order}
        found.append(sorted(order, key=lambda term: draws[term]))
        ratios += [draws[wider] / draws[tighter] for tighter, wider in pairwise(order)]
    verdict = by_margin(ratios)
    texts = [" < ".join(NAMES[term] for term in one) for one in found]
    text = f"{texts[0]} (both temperatures)" if texts[0] == texts[1] else "; ".join(texts)
    return Finding(text, verdict)


def reverse_is_tighter(frames: Frames) -> Finding:
    """Draws that cover 95 % of the mass: forward over reverse, at every position and temperature."""
    table, ratios = frames["coverage"], []
    for _, rows in table[table["term"].isin(ANCHORS)].groupby(["position", "policy"], sort=False):
        forward, reverse = (float(_one(rows, term=term)["draws_95_low"]) for term in ANCHORS[::-1])
        ratios.append(forward / reverse)
    if not ratios:
        raise KeyError("no pair of anchors")
    tighter = sum(ratio > 1 for ratio in ratios)
    verdict = by_margin(ratios)
    text = (
        f"{tighter} of {len(ratios)} comparisons; forward needs {min(ratios):.2f} to {max(ratios):.2f} times "
        "the draws"
    )
    return Finding(text, verdict, min(ratios), n=len(ratios))


def divergence_order(frames: Frames) -> Finding:
    """KL(base‖π) of the arms at τ ≡ 1: lowest for forward, then reverse, then entropy."""
    order = ("forward_kl", "reverse_kl", "entropy")
    rows = {term: _one(frames["table5"], player=f"{term}-fixed") for term in order}
    values = [float(rows[term]["kl_base_policy"]) for term in order]
    verdict = by_margin(
        [larger / smaller for smaller, larger in pairwise(values)] if min(values) > 0 else [1.0]
    )
    text = (
        ", ".join(f"{NAMES[term]} {value:.2f}" for term, value in zip(order, values, strict=True)) + " nats"
    )
    return Finding(text, verdict, n=int(rows["forward_kl"]["positions"]))


def sampled_strength(frames: Frames) -> Finding:
    """In sampled play tempering raises the base and every adaptive arm outranks its twin at τ ≡ 1."""
    table = frames["table5"]
    base = _one(table, player="base-mu")

    def elo(player: str) -> float:
        return float(_one(table, player=player)["elo"])

    twins = [elo(f"{term}-adaptive") > elo(f"{term}-fixed") for term in TERMS]
    raised = by_interval(base["elo_low"], base["elo_high"])
    if raised == SUPPORTED and all(twins):
        verdict = SUPPORTED
    else:
        verdict = CONTRADICTED if raised == CONTRADICTED or not any(twins) else INCONCLUSIVE
    text = f"tempered base {_elo(base)}; {sum(twins)} of {len(twins)} arms outrank their twin"
    return Finding(text, verdict, *_bounds(base, "elo"))


def recovery_gate(frames: Frames) -> Finding:
    """The base's probability of a solution decides whether it is recovered, for both selected anchors."""
    table = frames["recovery"]
    table = table[table["statistic"].str.fullmatch(r"recovered, solution at [<≥]?0[.0-9–]*")]
    verdicts, texts = [], []
    for model, rows in table.groupby("model", sort=False):
        first, last = rows.iloc[0], rows.iloc[-1]
        rises = bool(rows["value"].is_monotonic_increasing)
        apart = first["high"] < last["low"]
        verdicts.append(SUPPORTED if rises and apart else INCONCLUSIVE if rises or apart else CONTRADICTED)
        term = NAMES[str(model).split("-")[0]]
        low, high = (f"{row['k']:.0f} of {row['n']:.0f}" for row in (first, last))
        texts.append(f"{term} {low} below 0.05, {high} from 0.3")
    if not verdicts:
        raise KeyError("recovery.csv has no row of recovered positions")
    verdict = verdicts[0] if len(set(verdicts)) == 1 and table["k"].sum() else INCONCLUSIVE
    return Finding("; ".join(texts), verdict)


def _one(frame: pd.DataFrame, **wanted: str) -> pd.Series:
    """The first row with these values; IndexError without one."""
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    return frame.iloc[0]


def _bounds(row: pd.Series, key: str) -> tuple[float, float, float]:
    """A value with the bounds of its interval."""
    return float(row[key]), float(row[f"{key}_low"]), float(row[f"{key}_high"])


def _gains(frames: Frames) -> dict[str, tuple[float, float, float]]:
    """Model of Table 1 -> gain in accuracy over the base on the main suite, with its paired interval."""
    paired = frames["paired"]
    rows = paired[(paired["suite"] == "main") & (paired["a"] == "base")]
    rows = rows[rows["b"].isin(frames["table1"]["model"])]
    if rows.empty:
        raise KeyError("no model to compare with the base")
    return {str(row["b"]): (-row["difference"], -row["high"], -row["low"]) for _, row in rows.iterrows()}


def _at_start(frames: Frames) -> pd.DataFrame:
    table = frames["coverage"]
    return table[table["position"] == "start"]


def _draws(row: pd.Series) -> str:
    return f"{row['draws_95_low']:,.0f}"


def _elo(row: pd.Series) -> str:
    return f"{signed(row['elo'], 0)} ± {(row['elo_high'] - row['elo_low']) / 2:.0f}"
