"""The method in the paper's words or as the authors' released trainer has it.

`METHOD_KEYS` are the differences between the two that are keys of ``selfplay`` in params.yaml; `write_preset`
sets all of them. The others have no key, because they are faults or accidents of the released code: they are
listed, with these, in `reports/SCALE/deviations.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from searchless_rl.files import atomic_writer
from searchless_rl.params import LearningRates, ParamsError, SelfPlayParams, load_params

PRESETS = ("paper", "authors_code")

TABLE_2_RATES = LearningRates(backbone=3e-6, final_block=1e-5, policy_head=1e-5, value_head=3e-5)
"""Peak learning rates of the paper (Table 2, appendix G)."""


@dataclass(frozen=True)
class MethodKey:
    """One difference between paper and released code.

    Attributes:
        key: dotted key below ``selfplay``.
        item: what it is about.
        paper: the paper's value, given the learning rates of a scale (`TABLE_2_RATES` in the paper itself).
        authors_code: the released trainer's, likewise.
        source: where the paper says so.
        note: what the released code does, in words.
    """

    key: str
    item: str
    paper: Callable[[LearningRates], Any]
    authors_code: Callable[[LearningRates], Any]
    source: str
    note: str

    def read(self, params: SelfPlayParams) -> Any:
        """The value in use."""
        value: Any = params
        for part in self.key.split("."):
            value = getattr(value, part)
        return value


def _constant(value: Any) -> Callable[[LearningRates], Any]:
    return lambda _: value


METHOD_KEYS = (
    MethodKey(
        "temperature_source",
        "network whose WDL entropy is the adaptive temperature",
        _constant("ema"),
        _constant("online"),
        "section 2.3, appendix E",
        "the online network unless an option is given",
    ),
    MethodKey(
        "cap_target",
        "value target of a game cut at the ply cap",
        _constant("draw"),
        _constant("bootstrap"),
        "Table 2, appendix G",
        "the game restarts, but its last target is the EMA's value of the position",
    ),
    MethodKey(
        "learning_rates.value_head",
        "learning rate of the value head",
        lambda rates: float(f"{10 * rates.backbone:.6g}"),
        lambda rates: rates.backbone,
        "Table 2, appendix G: ten times the backbone's",
        "a test of names misses the head, which therefore trains at the backbone's rate",
    ),
    MethodKey(
        "base_wdl_coefficient",
        "weight of a KL between the WDL of base and online network",
        _constant(0.0),
        _constant(0.02),
        "appendix G: the value head is unconstrained",
        "on by default for every arm, also without a regularizer; its direction follows the arm",
    ),
    MethodKey(
        "promotions",
        "the four promotions of a pawn move",
        _constant("separate"),
        _constant("merged"),
        "section 2.2: a distribution over the legal moves",
        "share one from-to slot in every loss, whose logit adds up the offsets of all pieces",
    ),
    MethodKey(
        "reverse_kl_floor",
        "least probability inside the reverse KL",
        _constant(0.0),
        _constant(1e-8),
        "section 3.1: the KL itself",
        "both policies are clamped, so that there is no gradient below",
    ),
)


def preset_values(name: str, params: SelfPlayParams) -> dict[str, Any]:
    """Value of every method key under a preset, by dotted key below ``selfplay``."""
    rates = params.learning_rates
    return {key.key: (key.paper if name == "paper" else key.authors_code)(rates) for key in METHOD_KEYS}


def write_preset(name: str, target: Path = Path("params.yaml")) -> dict[str, Any]:
    """Set the method keys of a parameter file; everything else in it stays, comments included.

    Returns:
        The keys that changed, with their new values.

    Raises:
        ParamsError: an unknown preset, or a faulty file.
    """
    if name not in PRESETS:
        raise ParamsError(f"preset {name!r} is unknown; allowed: {', '.join(PRESETS)}")
    params = load_params(target).selfplay
    values = preset_values(name, params)
    changed = {key.key: values[key.key] for key in METHOD_KEYS if key.read(params) != values[key.key]}
    if not changed:
        return {}
    yaml = YAML()
    yaml.width = 200
    # Numbers and nulls as the scale files write them.
    yaml.representer.add_representer(
        float, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:float", _plain(value))
    )
    yaml.representer.add_representer(
        type(None), lambda dumper, _: dumper.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    document = yaml.load(target.read_text(encoding="utf-8"))
    for dotted, value in changed.items():
        *sections, last = dotted.split(".")
        section = document["selfplay"]
        for part in sections:
            section = section[part]
        section[last] = value
    with atomic_writer(target) as stream:
        yaml.dump(document, stream)
    return changed


def _plain(value: float) -> str:
    """0.02, 3.0e-06: YAML reads an exponent as a number only after a point."""
    text = repr(value)
    return text if "." in text or "e" not in text else text.replace("e", ".0e")
