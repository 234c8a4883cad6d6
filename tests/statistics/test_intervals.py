"""Wilson intervals against the paper's printed half-widths, a closed form, and the edges of their domain."""

from __future__ import annotations

import csv
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from searchless_rl.statistics.intervals import half_width, wilson

PAPER = Path(__file__).resolve().parents[2] / "data" / "paper"
Z = 1.959963984540054


def closed_form(k: int, n: int) -> tuple[float, float]:
    """Wilson's interval from the textbook formula (roots of a quadratic), without a statistics library."""
    p, z2 = k / n, Z * Z
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    spread = Z / (1 + z2 / n) * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    return centre - spread, centre + spread


def printed_half_widths() -> list[tuple[str, str, int, str]]:
    """(label, accuracy in percent, n, half-width in points) of every interval the three tables print."""
    found = []
    for table, columns in {
        "table1": (("acc_pct", "acc_halfwidth", 100_000), ("acc2400_pct", "acc2400_halfwidth", 20_000)),
        "table3": (("acc_pct", "halfwidth", None),),
        "table6": (("acc_pct", "halfwidth", 10_000),),
    }.items():
        with (PAPER / f"{table}.csv").open(newline="") as handle:
            for row in csv.DictReader(handle):
                for accuracy, width, n in columns:
                    label = " ".join([table, row["term"], row["tau"], row.get("beta") or "", accuracy])
                    found.append((label, row[accuracy], n or int(row["n"]), row[width]))
    return found


def test_every_printed_half_width_is_reproduced_to_its_last_digit() -> None:
    printed = printed_half_widths()
    assert len(printed) == 95
    wrong = []
    for label, accuracy, n, width in printed:
        k = round(Decimal(accuracy) * n / 100)
        ours = f"{100 * half_width(k, n):.2f}"
        if ours != width:
            wrong.append((label, accuracy, n, width, ours))
    assert wrong == []


@pytest.mark.parametrize("n", [1, 2, 7, 100, 999, 20_000, 10_000_000])
def test_agrees_with_the_closed_form(n: int) -> None:
    for k in sorted({0, 1, n // 3, n // 2, n - 1, n}):
        low, high = wilson(k, n)
        expected_low, expected_high = closed_form(k, n)
        assert low == pytest.approx(expected_low, rel=1e-9, abs=1e-12)
        assert high == pytest.approx(expected_high, rel=1e-9, abs=1e-12)
        assert half_width(k, n) == pytest.approx((expected_high - expected_low) / 2, rel=1e-9, abs=1e-12)


def test_interval_is_inside_the_unit_interval_and_contains_the_rate() -> None:
    for n in range(1, 80):
        for k in range(n + 1):
            low, high = wilson(k, n)
            assert 0.0 <= low <= k / n <= high <= 1.0
            assert low < high
    assert wilson(0, 50)[0] == 0.0
    assert wilson(50, 50)[1] == 1.0


def test_other_confidence_levels_nest() -> None:
    narrow, wide = wilson(30, 100, 0.5), wilson(30, 100, 0.99)
    middle = wilson(30, 100)
    assert wide[0] < middle[0] < narrow[0] < 0.3 < narrow[1] < middle[1] < wide[1]


def test_no_trials_gives_nan() -> None:
    assert all(math.isnan(end) for end in wilson(0, 0))
    assert math.isnan(half_width(0, 0))


def test_numpy_integers_are_counts() -> None:
    assert wilson(np.int64(3), np.int32(10)) == wilson(3, 10)


@pytest.mark.parametrize(
    ("k", "n", "named"),
    [
        (-1, 10, "k = -1"),
        (11, 10, "k = 11, n = 10"),
        (0, -1, "n = -1"),
        (1.0, 10, r"k must be an integer count, got 1\.0"),
        (1.5, 10, r"got 1\.5"),
        (1, 10.0, r"n must be an integer count, got 10\.0"),
        (True, 10, "got True"),
        ("3", 10, "got '3'"),
        (math.nan, 10, "got nan"),
    ],
)
def test_impossible_counts_are_refused_with_their_values(k: object, n: object, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        wilson(k, n)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=named):
        half_width(k, n)  # type: ignore[arg-type]


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, -0.1, math.nan])
def test_impossible_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1"):
        wilson(1, 2, confidence)
