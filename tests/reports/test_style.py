"""Can the figures be read: by the colour-blind, in grey, and at print size?

Colours are compared in CIE L*a*b*, after the simulation of dichromats by Machado, Oliveira and Fernandes
(2009, severity 1): two colours are told apart where they differ by 20, more than in seaborn's "colorblind"
palette, whose green and grey are 11 apart for deuteranopes.
"""

import itertools
import json

import numpy as np
import pytest
import seaborn as sns
from matplotlib.colors import to_rgb

from searchless_rl.cells import TAUS, TERMS
from searchless_rl.figures.style import BASE_COLOUR, BASE_MARKER, TERM_COLOURS, TERM_MARKERS
from searchless_rl.results.names import TAU_NAMES, TERM_NAMES

PALETTE = {"base": BASE_COLOUR, **TERM_COLOURS}
EYES = {
    "normal": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip


def _lab(colour, eye="normal"):
    srgb = np.array(to_rgb(colour))
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    xyz = XYZ @ np.clip(EYES[eye] @ linear, 0, 1) / [0.95047, 1, 1.08883]
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


def _closest(palette, eye):
    return min(
        np.linalg.norm(_lab(one, eye) - _lab(other, eye))
        for one, other in itertools.combinations(palette.values(), 2)
    )


def test_the_measure_knows_white_black_and_a_confusing_palette():
    assert _lab("white") == pytest.approx([100, 0, 0], abs=0.02)
    assert _lab("black") == pytest.approx([0, 0, 0], abs=0.02)
    seaborn = sns.color_palette("colorblind")
    assert _closest({"forward_kl": seaborn[2], "none": seaborn[7]}, "deuteranopia") < 12
    assert _closest({"a": (0.8, 0.2, 0.2), "b": (0.35, 0.45, 0.15)}, "normal") > 50
    for eye in EYES:  # greys stay grey
        assert np.abs(_lab("#808080", eye)[1:]).max() < 1


@pytest.mark.parametrize("eye", EYES)
def test_terms_are_told_apart_by_colour(eye):
    assert _closest(PALETTE, eye) > 20


def test_terms_are_told_apart_in_grey():
    lightness = sorted(_lab(colour)[0] for colour in PALETTE.values())
    assert np.diff(lightness).min() > 10
    assert lightness[-1] < 75  # still seen on white


def test_terms_are_told_apart_by_marker():
    markers = [BASE_MARKER, *(TERM_MARKERS[term] for term in TERMS)]
    assert len(set(markers)) == len(markers)


def test_dvc_draws_terms_and_temperatures_as_the_figures_do(pytestconfig):
    """Hue is the term, dashes are the temperature; a revision has its own panel, not a legend entry."""
    plots = pytestconfig.rootpath / ".dvc" / "plots"
    arms = json.loads((plots / "arms.json").read_text(encoding="utf-8"))
    assert arms["spec"]["encoding"]["color"]["scale"] == {
        "domain": [TERM_NAMES[term] for term in TERMS],
        "range": [TERM_COLOURS[term] for term in TERMS],
    }
    assert arms["spec"]["encoding"]["strokeDash"]["scale"]["domain"] == [TAU_NAMES[tau] for tau in TAUS]
    curve = (plots / "beta_curve.json").read_text(encoding="utf-8")
    assert TERM_COLOURS["forward_kl"] in curve
    for spec in (arms, json.loads(curve)):
        assert spec["facet"]["field"] == "rev"
        assert '"field": "rev"' not in json.dumps(spec["spec"])
