"""The split of a puzzle file into suites that share neither a puzzle nor a position.

Scarce puzzles are drawn first, the rest uniformly. `mate5` takes every mate in five: the bundled file has
39, and a random third of them would measure nothing. `hard` is then a uniform sample of those rated at or
above its threshold: the bundled file has 940, of which fewer than 600 would be left behind uniform samples
of everything. Then `selection` and `main` are drawn together, as one uniform sample of what remains, cut in
two, so both have the same distribution: the strength of the regulariser is chosen on one and the result
reported on the other.

What they are samples of is therefore the file less `hard` and `mate5`. That leaves 5 to 6 % of their
puzzles at or above 2400, the share of the whole Lichess export (5.8 to 6.4 %); in other respects the
bundled file, which is flat over rating bands, is no sample of that export and neither are they. The other
mate suites take the mates among the rest, and `control`, the training pool of the puzzle-tuned network,
everything then left.

Every draw has a numbered random stream of its own, so changing one size leaves the draws before it as they
were, and works on puzzles sorted by id, so the order of rows in the file does not matter. The streams are
the raw output of NumPy's PCG64, which NumPy keeps unchanged between versions (unlike that of `Generator`
methods).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import chess
import numpy as np

from searchless_rl.suites.puzzles import Puzzle, solver_positions

SUITE_NAMES = ("selection", "main", "hard", "mate1", "mate2", "mate3", "mate4", "mate5", "control")

_HARD_STREAM, _UNIFORM_STREAM, _MATE_STREAM = 0, 1, 2  # mate in N draws from stream _MATE_STREAM + N


class SplitError(ValueError):
    """The split asked for is impossible, or suites overlap."""


@dataclass(frozen=True, slots=True)
class SuiteSizes:
    """How many puzzles each suite takes, all >= 0.

    `hard_rating` is the least rating of a hard puzzle. `mate_cap` limits each mate suite (None: no limit;
    what a cap leaves out stays in the pool for the later draws).
    """

    selection: int = 1500
    main: int = 2000
    hard: int = 600
    hard_rating: int = 2400
    mate_cap: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is not None and value < 0:
                raise SplitError(f"suite size {name} = {value} must not be negative")


@dataclass(frozen=True, slots=True)
class Overlap:
    """A puzzle left out because it shares a solver position with one whose id sorts earlier."""

    dropped: str
    kept: str
    position: str


@dataclass(frozen=True, slots=True)
class Split:
    """The suites by name, in the order of `SUITE_NAMES` and sorted by id within, and the puzzles left out."""

    suites: Mapping[str, tuple[Puzzle, ...]]
    overlaps: tuple[Overlap, ...]


def mate_depth(puzzle: Puzzle) -> int | None:
    """Number of solver moves if the line ends in checkmate, else None.

    Read off the board: the theme `mateIn5` means five *or more*, and reduced theme lists omit mates.
    """
    board = chess.Board(puzzle.fen)
    for text in puzzle.moves:
        board.push_uci(text)
    return puzzle.solver_move_count if board.is_checkmate() else None


def position_keys(puzzle: Puzzle) -> tuple[str, ...]:
    """Placement, side to move, castling and legal en-passant square of each solver position, in order."""
    return tuple(board.epd() for board, _ in solver_positions(puzzle))


def split_puzzles(puzzles: Iterable[Puzzle], sizes: SuiteSizes, seed: int) -> Split:
    """Cut puzzles into the suites named in `SUITE_NAMES`, disjoint by id and by solver position.

    Of puzzles that share a solver position only the one whose id sorts first is used; the others are
    reported.

    Args:
        puzzles: valid puzzles with distinct ids, in any order.
        sizes: how many go where.
        seed: >= 0; same puzzles, sizes and seed give the same suites.

    Raises:
        SplitError: an id occurs twice, there are too few puzzles, or the seed is negative.
    """
    if seed < 0:
        raise SplitError(f"seed {seed} must not be negative")
    rest, overlaps = _without_shared_positions(sorted(puzzles, key=lambda puzzle: puzzle.id))
    depths = {puzzle.id: mate_depth(puzzle) for puzzle in rest}
    drawn = {"mate5": _draw_mates(rest, depths, 5, sizes, seed)}
    rest = _minus(rest, drawn["mate5"])

    eligible = [puzzle for puzzle in rest if puzzle.rating >= sizes.hard_rating]
    _require("hard", sizes.hard, len(eligible), f"rated {sizes.hard_rating} or more")
    drawn["hard"] = _draw(eligible, seed, _HARD_STREAM)[: sizes.hard]
    rest = _minus(rest, drawn["hard"])

    _require("selection and main", sizes.selection + sizes.main, len(rest), "left by mate5 and hard")
    order = _draw(rest, seed, _UNIFORM_STREAM)
    drawn["selection"] = order[: sizes.selection]
    drawn["main"] = order[sizes.selection : sizes.selection + sizes.main]
    rest = _minus(rest, drawn["selection"] + drawn["main"])

    for depth in (1, 2, 3, 4):
        drawn[f"mate{depth}"] = _draw_mates(rest, depths, depth, sizes, seed)
        rest = _minus(rest, drawn[f"mate{depth}"])
    drawn["control"] = rest

    suites = {name: tuple(sorted(drawn[name], key=lambda puzzle: puzzle.id)) for name in SUITE_NAMES}
    require_disjoint(suites)
    return Split(suites, overlaps)


def require_disjoint(suites: Mapping[str, Sequence[Puzzle]]) -> None:
    """Check that no id and no solver position occurs in two of the suites.

    Raises:
        SplitError: naming the two suites, the two ids and the position.
    """
    id_owner: dict[str, str] = {}
    position_owner: dict[str, tuple[str, str]] = {}
    for name, puzzles in suites.items():
        for puzzle in puzzles:
            other = id_owner.setdefault(puzzle.id, name)
            if other != name:
                raise SplitError(f"puzzle {puzzle.id} is in both {other} and {name}")
            for key in position_keys(puzzle):
                other, other_id = position_owner.setdefault(key, (name, puzzle.id))
                if other != name:
                    raise SplitError(
                        f"puzzle {other_id} in {other} and {puzzle.id} in {name} share position {key}"
                    )


def _without_shared_positions(puzzles: Sequence[Puzzle]) -> tuple[list[Puzzle], tuple[Overlap, ...]]:
    owner: dict[str, str] = {}
    kept: list[Puzzle] = []
    overlaps = []
    for puzzle in puzzles:
        if kept and kept[-1].id == puzzle.id:
            raise SplitError(f"puzzle id {puzzle.id} occurs twice; ids must be distinct")
        keys = position_keys(puzzle)
        shared = next((key for key in keys if key in owner), None)
        if shared is not None:
            overlaps.append(Overlap(puzzle.id, owner[shared], shared))
            continue
        kept.append(puzzle)
        owner.update(dict.fromkeys(keys, puzzle.id))
    return kept, tuple(overlaps)


def _draw(puzzles: list[Puzzle], seed: int, stream: int) -> list[Puzzle]:
    """The puzzles in a random order given by seed and stream number alone."""
    bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(stream,)))
    order = np.argsort(bits.random_raw(len(puzzles)), kind="stable")
    return [puzzles[index] for index in order]


def _draw_mates(
    puzzles: list[Puzzle], depths: Mapping[str, int | None], depth: int, sizes: SuiteSizes, seed: int
) -> list[Puzzle]:
    mates = [puzzle for puzzle in puzzles if depths[puzzle.id] == depth]
    return _draw(mates, seed, _MATE_STREAM + depth)[: sizes.mate_cap]


def _minus(puzzles: list[Puzzle], taken: list[Puzzle]) -> list[Puzzle]:
    ids = {puzzle.id for puzzle in taken}
    return [puzzle for puzzle in puzzles if puzzle.id not in ids]


def _require(name: str, wanted: int, available: int, which: str) -> None:
    if wanted > available:
        raise SplitError(
            f"suite {name} needs {wanted} puzzles, but only {available} are {which}: "
            "ask for fewer, or use a larger puzzle file"
        )
