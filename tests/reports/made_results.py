"""Made-up results for tests of reports, and results as if a run had measured what the paper prints."""

from pathlib import Path

import numpy as np
import pandas as pd

from searchless_rl.cells import Cell, format_beta
from searchless_rl.evaluation.recovery import side_by_side
from searchless_rl.reports.table4 import SUITES
from searchless_rl.results.models import Measured
from searchless_rl.results.names import BASE
from searchless_rl.statistics.intervals import wilson

FORWARD, REVERSE = "forward_kl-adaptive-0.01-s0", "reverse_kl-adaptive-0.01-s0"
NONE, FIXED = "none-adaptive-0-s0", "forward_kl-fixed-0.01-s0"
PAPER = Path(__file__).resolve().parents[2] / "data" / "paper"
"""The paper's printed numbers."""
_NAMES = {"frozen_base": "base", "puzzle_tuned": "control"}
_MEANS = {"gm": "geometric", "am": "arithmetic"}


def puzzle_frame(n, solved=None, log_p=None, ratings=None):
    return pd.DataFrame(
        {
            "puzzle_id": [f"p{place:05d}" for place in range(n)],
            "rating": np.full(n, 1500) if ratings is None else ratings,
            "solved": np.zeros(n, bool) if solved is None else np.asarray(solved, bool),
            "log_probability": np.full(n, -1.0) if log_p is None else log_p,
        }
    )


def random_scores(seed=0, n=400, models=("base", REVERSE, FORWARD)):
    rng = np.random.default_rng(seed)
    ratings = rng.integers(700, 2900, n)
    ratings[ratings // 200 == 6] = 1100  # nobody is rated 1200 to 1399
    return {
        model: {
            suite: puzzle_frame(n, rng.random(n) < 0.5, -rng.exponential(1.5, n), ratings) for suite in SUITES
        }
        for model in models
    }


def random_recovery(seed=0, puzzles=300, models=(FORWARD, REVERSE)):
    """Random policies over four moves, the second of them the solution."""
    rng = np.random.default_rng(seed)
    turns = rng.integers(1, 4, puzzles)
    ids = np.repeat([f"p{place:05d}" for place in range(puzzles)], turns)
    policy = rng.dirichlet([1.5, 2.5, 1, 0.7, 0.3, 0.2, 0.1], len(ids))
    positions = {}
    for number, name in enumerate(("base", *models)):
        if number:
            shifted = policy * rng.lognormal(0, 0.4, policy.shape) * np.where(np.arange(7) == 1, 1.3, 1)
            mine = shifted / shifted.sum(axis=1, keepdims=True)
        else:
            mine = policy
        falling = -np.sort(-mine, axis=1)
        wdl = rng.dirichlet([2, 1, 1], len(ids))
        positions[name] = pd.DataFrame(
            {
                "puzzle_id": ids,
                "turn": np.concatenate([np.arange(count) for count in turns]),
                "move": [f"m{place}" for place in mine.argmax(axis=1)],
                "marked": "m1",
                "right": mine.argmax(axis=1) == 1,
                "log_winning": np.log(mine[:, 1]),
                "rank": (mine > mine[:, [1]]).sum(axis=1) + 1,
                "winning_probability": mine[:, 1],
                "top_probability": falling[:, 0],
                "second_probability": falling[:, 1],
                "win": wdl[:, 0],
                "draw": wdl[:, 1],
                "loss": wdl[:, 2],
                "tied": False,
            }
        )
    ratings = pd.DataFrame(
        {
            "puzzle_id": [f"p{place:05d}" for place in range(puzzles)],
            "rating": rng.integers(600, 2800, puzzles),
        }
    )
    return side_by_side(positions, ratings, "main")


def selection_model(name, k, n=10_000, **keys):
    """A network that solved k of n puzzles of the selection suite."""
    low, high = wilson(k, n)
    figures = {"k": k, "n": n, "accuracy": k / n, "low": low, "high": high}
    cell = None if name == BASE else Cell.parse(name)
    return Measured(name, cell, suites={"selection": figures}, **{"in_grid": True, **keys})


def printed_selection(folder):
    """The paper's Table 6 as printed: the reference rows of its caption, then 30 cells."""
    names = ("table6_reference", "table6")
    return pd.concat([pd.read_csv(folder / f"{name}.csv", dtype=str) for name in names])


def paper_selection(printed):
    """Networks with the counts behind `printed_selection`."""
    found = []
    for row in printed.itertuples():
        beta = "0" if row.term == "none" else None if pd.isna(row.beta) else format_beta(float(row.beta))
        name = BASE if row.term == "frozen_base" else f"{row.term}-{row.tau}-{beta}-s0"
        found.append(selection_model(name, round(float(row.acc_pct) * 100)))
    return found


def paper_tables(folder):
    """Our tables, as if this run had measured exactly what the paper prints."""
    read = {name: pd.read_csv(folder / f"table{name}.csv") for name in (1, 3, 4, 5, 6)}
    for frame in read.values():
        frame["term"] = frame["term"].replace(_NAMES)
    one = read[1]
    rate = {"accuracy": ("acc_pct", "acc_halfwidth"), "hard_accuracy": ("acc2400_pct", "acc2400_halfwidth")}
    for key, (value, half) in rate.items():
        prefix = key.removesuffix("accuracy")
        one[key], one[f"{prefix}low"] = one[value] / 100, (one[value] - one[half]) / 100
        one[f"{prefix}high"] = (one[value] + one[half]) / 100
    one["elo_low"], one["elo_high"] = one["elo"] - one["elo_halfwidth"], one["elo"] + one["elo_halfwidth"]
    one["los"] = one["los"].replace({">0.99": "0.9997", "<0.01": "0.00001"}).astype(float)
    three = read[3].pivot_table(index=["term", "tau"], columns="mate_in", values="acc_pct", dropna=False)
    three = three.dropna(how="all").reset_index()
    for depth in range(1, 6):
        three[f"mate{depth}_accuracy"] = three[depth] / 100
        three[f"mate{depth}_low"] = three[f"mate{depth}_high"] = three[depth] / 100
    suites = {"all": "main", "ge2400": "hard"}
    rows = []
    for row in read[4].to_dict("records"):
        for mean, name in _MEANS.items():
            entry = {"term": row["term"], "statistic": name}
            for column, value in row.items():
                suite, _, kind = column.rpartition("_")
                if kind == mean:
                    entry[suites.get(suite, suite)] = value
            rows.append(entry)
    four = pd.DataFrame(
        rows, columns=["term", "statistic", "main", "hard", *(f"mate{n}" for n in range(1, 6))]
    )
    for suite in four.columns[2:]:
        four[f"{suite}_low"] = four[f"{suite}_high"] = four[suite]
    five = read[5].rename(
        columns={"entropy_nats": "entropy", "kl_base_p": "kl_base_policy", "kl_p_base": "kl_policy_base"}
    )
    five["sampling"] = five["sampling"].replace({"mu": "μ"})
    half = five["elo_halfwidth"].fillna(0)
    five["elo_low"], five["elo_high"] = five["elo"] - half, five["elo"] + half
    reference = pd.read_csv(folder / "table6_reference.csv").replace(_NAMES)
    six = pd.concat([reference, read[6]], ignore_index=True)
    six["accuracy"] = six["acc_pct"] / 100
    six["low"], six["high"] = (
        (six["acc_pct"] - six["halfwidth"]) / 100,
        (six["acc_pct"] + six["halfwidth"]) / 100,
    )
    return {1: one, 3: three, 4: four, 5: five, 6: six}
