"""The split of a puzzle file into suites that share neither a puzzle nor a position.

Scarce puzzles are drawn first, the rest uniformly. `mate5` takes every mate in five: the bundled file has
39, and a random third of them would measure nothing. `hard` is then a uniform sample of those rated at or
above its threshold: the bundled file has 940, of which fewer than 600 would be left behind uniform samples
of everything. Then `selection` and `main` are drawn together, as one uniform sample of what remains, cut in
two, so both have the same distribution: the strength of the regulariser is chosen on one and the result
reported on the other.

What they are samples of is therefore the file less `hard` and `mate5`. That leaves 5 to 6 % of their
puzzles at or above 2400, the share of the whole Lichess export (5.8 to 6.4 %); in other respects the
bundled file, which is flat over rating bands, is no sample of that export and neither are they.

`control`, the training pool of the puzzle-tuned network, is a uniform sample of the rest where its size is
given, so that it holds mates in their natural share; the other mate suites take the mates that are then left.
Where no size is given it is everything that the mate suites leave, which without a cap on them is a pool
without mates.

Every draw has a numbered random stream of its own, so changing one size leaves the draws before it as they
were, and works on puzzles sorted by id, so the order of rows in the file does not matter. The streams are
the raw output of NumPy's PCG64, which NumPy keeps unchanged between versions (unlike that of `Generator`
methods).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from searchless_rl.suites.catalogue import Catalogue

SUITE_NAMES = ("selection", "main", "hard", "mate1", "mate2", "mate3", "mate4", "mate5", "control")

_HARD_STREAM, _UNIFORM_STREAM, _MATE_STREAM = 0, 1, 2  # mate in N draws from stream _MATE_STREAM + N
_CONTROL_STREAM = 8


class SplitError(ValueError):
    """The split asked for is impossible, or suites overlap."""


@dataclass(frozen=True, slots=True)
class SuiteSizes:
    """How many puzzles each suite takes, all >= 0; the names are the keys of `suites` in params.yaml.

    `hard_rating` is the least rating of a hard puzzle. `mate_cap` limits each mate suite (None: no limit;
    what a cap leaves out stays in the pool for the later draws). `control_pool` is the size of the control's
    training pool, drawn before mates in one to four (None: what those leave).
    """

    selection: int = 1500
    main: int = 2000
    hard: int = 600
    hard_rating: int = 2400
    mate_cap: int | None = None
    control_pool: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value < 0:
                raise SplitError(f"suite size {name} = {value} must not be negative")


@dataclass(frozen=True, slots=True)
class Overlap:
    """A puzzle left out because it shares a solver position with one whose id sorts earlier.

    Both are places in the catalogue; `position` says which of the dropped one's it is, 0 for the first.
    """

    dropped: int
    kept: int
    position: int


@dataclass(frozen=True, slots=True)
class Split:
    """Places in the catalogue: int64, ascending (so sorted by id), by suite in the order of `SUITE_NAMES`."""

    suites: Mapping[str, np.ndarray]
    overlaps: tuple[Overlap, ...]


def split_catalogue(catalogue: Catalogue, sizes: SuiteSizes, seed: int) -> Split:
    """Cut puzzles into the suites named in `SUITE_NAMES`, disjoint by id and by solver position.

    Of puzzles that share a solver position only the one whose id sorts first is used; the others are
    reported.

    Args:
        catalogue: of valid puzzles with distinct ids.
        sizes: how many go where.
        seed: >= 0; same puzzles, sizes and seed give the same suites.

    Raises:
        SplitError: an id occurs twice, there are too few puzzles, or the seed is negative.
    """
    if seed < 0:
        raise SplitError(f"seed {seed} must not be negative")
    rest, overlaps = _without_shared_positions(catalogue)
    draw = _Draw(catalogue, sizes, seed)
    drawn = {"mate5": draw.mates(rest, 5)}
    rest = _minus(rest, drawn["mate5"])

    eligible = rest[catalogue.rating[rest] >= sizes.hard_rating]
    _require("suites.hard", sizes.hard, len(eligible), f"rated {sizes.hard_rating} or more")
    drawn["hard"] = draw.order(eligible, _HARD_STREAM)[: sizes.hard]
    rest = _minus(rest, drawn["hard"])

    both = sizes.selection + sizes.main
    _require("suites.selection and suites.main", both, len(rest), "left by mate5 and hard")
    order = draw.order(rest, _UNIFORM_STREAM)
    drawn["selection"], drawn["main"] = order[: sizes.selection], order[sizes.selection : both]
    rest = _minus(rest, order[:both])

    if sizes.control_pool is not None:
        _require(
            "suites.control_pool", sizes.control_pool, len(rest), "left by mate5, hard, selection and main"
        )
        drawn["control"] = draw.order(rest, _CONTROL_STREAM)[: sizes.control_pool]
        rest = _minus(rest, drawn["control"])
    for depth in (1, 2, 3, 4):
        drawn[f"mate{depth}"] = draw.mates(rest, depth)
        rest = _minus(rest, drawn[f"mate{depth}"])
    drawn.setdefault("control", rest)

    suites = {name: np.sort(drawn[name]) for name in SUITE_NAMES}
    require_disjoint(catalogue, suites)
    return Split(suites, overlaps)


def require_disjoint(catalogue: Catalogue, suites: Mapping[str, np.ndarray]) -> None:
    """Check that no puzzle and no solver position is in two of the suites (places in the catalogue).

    Raises:
        SplitError: naming the two suites and the two ids.
    """
    names = list(suites)
    places = np.concatenate([suites[name] for name in names])
    suite = np.repeat(np.arange(len(names)), [len(suites[name]) for name in names])
    order = np.argsort(places, kind="stable")
    twice = (places[order[1:]] == places[order[:-1]]) & (suite[order[1:]] != suite[order[:-1]])
    for row in np.flatnonzero(twice)[:1].tolist():
        one, other = order[row], order[row + 1]
        raise SplitError(
            f"puzzle {catalogue.id(places[one])} is in both {names[suite[one]]} and {names[suite[other]]}"
        )
    suite_of = np.full(len(catalogue), -1)
    suite_of[places] = suite
    digests, owner = catalogue.digests_of(places)
    order = np.lexsort((owner, suite_of[owner], digests[:, 1], digests[:, 0]))
    digests, owner = digests[order], owner[order]
    shared = (digests[1:] == digests[:-1]).all(1) & (suite_of[owner[1:]] != suite_of[owner[:-1]])
    for row in np.flatnonzero(shared)[:1].tolist():
        one, other = owner[row], owner[row + 1]
        raise SplitError(
            f"puzzle {catalogue.id(one)} in {names[suite_of[one]]} and {catalogue.id(other)} in "
            f"{names[suite_of[other]]} share a position"
        )


def _without_shared_positions(catalogue: Catalogue) -> tuple[np.ndarray, tuple[Overlap, ...]]:
    places = np.arange(len(catalogue))
    repeated = np.flatnonzero(catalogue.ids[1:] == catalogue.ids[:-1])
    if len(repeated):
        raise SplitError(f"puzzle id {catalogue.id(repeated[0])} occurs twice; ids must be distinct")
    digests, owner = catalogue.digests_of(places)
    order = np.argsort(digests[:, 0], kind="stable")
    equal = digests[order[1:], 0] == digests[order[:-1], 0]
    # Only puzzles with a digest that occurs again can share a position; few do.
    suspects = np.unique(owner[np.concatenate([order[1:][equal], order[:-1][equal]])])
    owners: dict[bytes, int] = {}
    kept = np.ones(len(catalogue), bool)
    overlaps = []
    for place in suspects.tolist():
        keys = [digest.tobytes() for digest in catalogue.digests_of(np.array([place]))[0]]
        shared = next((number for number, key in enumerate(keys) if key in owners), None)
        if shared is None:
            owners.update(dict.fromkeys(keys, place))
        else:
            overlaps.append(Overlap(place, owners[keys[shared]], shared))
            kept[place] = False
    return places[kept], tuple(overlaps)


class _Draw:
    def __init__(self, catalogue: Catalogue, sizes: SuiteSizes, seed: int) -> None:
        self._catalogue = catalogue
        self._sizes = sizes
        self._seed = seed

    def order(self, places: np.ndarray, stream: int) -> np.ndarray:
        """The places in a random order given by seed and stream number alone."""
        bits = np.random.PCG64(np.random.SeedSequence(self._seed, spawn_key=(stream,)))
        return places[np.argsort(bits.random_raw(len(places)), kind="stable")]

    def mates(self, places: np.ndarray, depth: int) -> np.ndarray:
        """Mates in `depth` among the places, in random order, at most `mate_cap`."""
        mates = places[self._catalogue.mate_depth[places] == depth]
        return self.order(mates, _MATE_STREAM + depth)[: self._sizes.mate_cap]


def _minus(places: np.ndarray, taken: np.ndarray) -> np.ndarray:
    return places[~np.isin(places, taken)]


def _require(key: str, wanted: int, available: int, which: str) -> None:
    if wanted > available:
        raise SplitError(
            f"{key}: {wanted} puzzles are wanted, but only {available} are {which}; "
            "lower it in params.yaml, or name a larger file in suites.source"
        )
