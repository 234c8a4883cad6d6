"""A split as puzzles, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from searchless_rl.suites.catalogue import Catalogue
from searchless_rl.suites.puzzles import CheckedPuzzle, Puzzle, position_keys, puzzle_line
from searchless_rl.suites.split import SuiteSizes, split_catalogue


class NamedOverlap(NamedTuple):
    """Ids of the two puzzles and the position they share."""

    dropped: str
    kept: str
    position: str


class NamedSplit(NamedTuple):
    """Puzzles by suite, and what was left out."""

    suites: dict[str, tuple[Puzzle, ...]]
    overlaps: list[NamedOverlap]


def catalogue_of(puzzles: Iterable[Puzzle]) -> Catalogue:
    """The catalogue of valid puzzles."""
    return Catalogue.of(CheckedPuzzle(puzzle, puzzle_line(puzzle)) for puzzle in puzzles)


def split_puzzles(puzzles: Iterable[Puzzle], sizes: SuiteSizes, seed: int) -> NamedSplit:
    """`split_catalogue` with its places looked up."""
    puzzles = list(puzzles)
    catalogue = catalogue_of(puzzles)
    by_place = [puzzles[row] for row in catalogue.row.tolist()]
    split = split_catalogue(catalogue, sizes, seed)
    return NamedSplit(
        {name: tuple(by_place[place] for place in places.tolist()) for name, places in split.suites.items()},
        [
            NamedOverlap(
                by_place[overlap.dropped].id,
                by_place[overlap.kept].id,
                position_keys(by_place[overlap.dropped])[overlap.position],
            )
            for overlap in split.overlaps
        ],
    )
