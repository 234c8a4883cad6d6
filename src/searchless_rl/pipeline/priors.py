"""The stage `priors`: priors of several origins measured, this project's own put in place with its card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from searchless_rl import layout
from searchless_rl.figures.priors import draw_priors
from searchless_rl.files import atomic_writer, sha256_of, write_json
from searchless_rl.pretrain.priors import by_decidedness, measure_network, play_networks
from searchless_rl.pretrain.records import read_shard, shards
from searchless_rl.pretrain.settings import PretrainParams
from searchless_rl.pretrain.student_stage import MANIFEST, WEIGHTS, split
from searchless_rl.reports.formats import Source
from searchless_rl.reports.priors import priors_table, write_decidedness, write_priors
from searchless_rl.reports.strength import ladder, read_games
from searchless_rl.suites.download import resolve_base

NAME = "visits"
LICENCE = "GPL-3.0-or-later, as its parent's"
SCALE = "pretrain"


def make_priors(params: PretrainParams, data: Path, scratch: Path) -> None:
    """Measure the priors, write their tables and figure, and put the student in place with its card.

    Args:
        params: of pretrain/params.yaml.
        data: the data folder, with the student, the games and the puzzle suites.
        scratch: holds unfinished games.
    """
    student = layout.student(data) / WEIGHTS
    parent = params.visits.base
    networks = {name: resolve_base(name, data) for name in dict.fromkeys((parent, *params.priors.networks))}
    networks[NAME] = student
    measured = {
        name: measure_network(path, layout.suites(data), params.priors) for name, path in networks.items()
    }
    play_networks(networks, layout.priors(data), scratch, params.priors)
    rated = ladder(read_games(layout.priors(data)), parent)
    games = [game for path in shards(layout.visits(data)) for game in read_shard(path)]
    validation = split(games, params.student.validation_every)[1]
    shown = {parent: networks[parent], NAME: student}
    decided = by_decidedness(validation, shown)
    out, source = layout.reports(SCALE), Source(parent, SCALE)
    write_priors(priors_table(measured, rated, layout.paper(data)), out / "priors", source)
    write_decidedness(decided, out / "decidedness", source, list(shown))
    labels = {parent: f"its prior ({parent})", NAME: "the student"}
    draw_priors(decided, layout.figures(SCALE) / "decidedness", labels)
    _put_in_place(student, parent, networks[parent], params, measured, rated, data)


def _put_in_place(
    student: Path,
    parent: str,
    parent_weights: Path,
    params: PretrainParams,
    measured: Mapping[str, Any],
    rated: Any,
    data: Path,
) -> None:
    """The student as a bundled network, its card beside it."""
    target = layout.bundled_network(NAME, data)
    with student.open("rb") as reading, atomic_writer(target) as writing:
        shutil.copyfileobj(reading, writing)
    told = json.loads((layout.student(data) / MANIFEST).read_text(encoding="utf-8"))
    played = json.loads((layout.visits(data) / "visits.json").read_text(encoding="utf-8"))
    elo = rated.set_index("player").loc[NAME]
    card = {
        "name": NAME,
        "sha256": sha256_of(target),
        "bytes": target.stat().st_size,
        "licence": LICENCE,
        "parent": {"name": parent, "sha256": sha256_of(parent_weights)},
        "games": {key: played[key] for key in ("games", "positions", "white_wins", "draws", "black_wins")},
        "search": params.visits.search.model_dump(),
        "training": params.student.model_dump(),
        "validation": told["validation"],
        "measured": measured[NAME],
        "parent_measured": measured[parent],
        "elo_against_parent": {key: float(elo[key]) for key in ("elo", "elo_low", "elo_high")},
        "marks": marks(measured[NAME], float(elo["elo"])),
    }
    write_json(layout.network_card(NAME, data), card)


def marks(found: Mapping[str, Any], elo: float) -> dict[str, Any]:
    """What a base of the default scale shall reach, what this one does, and whether it is met."""
    least = {
        "accuracy on the main suite": (found["main"]["accuracy"], 0.34),
        "entropy at solver positions, nats": (found["main"]["entropy"], 1.3),
        "Elo against its parent": (elo, -20.0),
    }
    most = {"Brier out of sample": (found["value"]["brier_calibrated"], 0.60)}
    told = {
        name: {"value": value, "wanted": f">= {bound:g}", "met": value >= bound}
        for name, (value, bound) in least.items()
    }
    return told | {
        name: {"value": value, "wanted": f"<= {bound:g}", "met": value is not None and value <= bound}
        for name, (value, bound) in most.items()
    }
