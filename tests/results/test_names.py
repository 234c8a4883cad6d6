"""Names of models."""

import pytest

from searchless_rl.cells import CellError
from searchless_rl.results.names import ARMS, BASE, CONTROL, COVERED, identity, policies_of


def test_identity_of_references_and_cells():
    nothing = dict.fromkeys(("tau", "beta", "seed"))
    assert identity(BASE) == {"model": "base", "term": "base", **nothing}
    assert identity(CONTROL) == {"model": "control", "term": "control", **nothing}
    cell = "reverse_kl-fixed-0.03-s2"
    expected = {"model": cell, "term": "reverse_kl", "tau": "fixed", "beta": 0.03, "seed": 2}
    assert identity(cell) == expected
    with pytest.raises(CellError, match="does not parse"):
        identity("selected-none-fixed")


def test_the_base_is_measured_through_both_policies_and_an_arm_through_its_own():
    assert {model: policies_of(model) for model in COVERED} == {
        "base": ("raw", "adaptive"),
        **{arm: (("adaptive",) if arm.endswith("adaptive") else ("raw",)) for arm in ARMS},
    }
