"""The split into suites: sizes, disjointness, determinism, and errors that name what is wrong."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from splitting import NamedOverlap, NamedSplit, catalogue_of, split_puzzles

from searchless_rl.suites.puzzles import Puzzle, mate_depth, position_keys, read_puzzles
from searchless_rl.suites.split import SUITE_NAMES, SplitError, SuiteSizes, require_disjoint

BUNDLED = Path(__file__).resolve().parents[2] / "data" / "lichess" / "torre_6605_2026.csv"
SMALL = SuiteSizes(selection=120, main=150, hard=50)


@pytest.fixture(scope="module")
def bundled() -> list[Puzzle]:
    return read_puzzles(BUNDLED)[0]


@pytest.fixture(scope="module")
def few(bundled: list[Puzzle]) -> list[Puzzle]:
    return bundled[::10]


@pytest.fixture(scope="module")
def split(bundled: list[Puzzle]) -> NamedSplit:
    return split_puzzles(bundled, SuiteSizes(), seed=0)


def ids(split: NamedSplit) -> dict[str, list[str]]:
    return {name: [puzzle.id for puzzle in members] for name, members in split.suites.items()}


def test_mate_depths_of_the_bundled_file(bundled: list[Puzzle]) -> None:
    depths = Counter(mate_depth(puzzle) for puzzle in bundled)
    assert [depths[depth] for depth in range(1, 6)] == [713, 986, 581, 346, 39]


def test_mate_depth_looks_at_the_board_not_at_themes(bundled: list[Puzzle]) -> None:
    puzzle = next(puzzle for puzzle in bundled if mate_depth(puzzle) == 2)
    assert mate_depth(replace(puzzle, themes=("mateIn4",))) == 2
    assert mate_depth(replace(puzzle, moves=puzzle.moves[:2], themes=puzzle.themes)) is None


def test_sizes(split: NamedSplit, bundled: list[Puzzle]) -> None:
    sizes = {name: len(members) for name, members in split.suites.items()}
    assert list(sizes) == list(SUITE_NAMES)
    assert (sizes["selection"], sizes["main"], sizes["hard"], sizes["mate5"]) == (1500, 2000, 600, 39)
    assert sum(sizes.values()) + len(split.overlaps) == len(bundled)
    assert all(puzzle.rating >= 2400 for puzzle in split.suites["hard"])


def test_mate_suites_hold_all_mates_of_the_rest(split: NamedSplit) -> None:
    for depth in range(1, 6):
        members = split.suites[f"mate{depth}"]
        assert members
        assert {mate_depth(puzzle) for puzzle in members} == {depth}
    left = {mate_depth(puzzle) for puzzle in split.suites["control"]}
    assert left.isdisjoint(range(1, 6))
    assert len(split.suites["control"]) > 1000


def test_disjoint_by_id_and_by_position(split: NamedSplit) -> None:
    seen_ids: set[str] = set()
    seen_positions: set[str] = set()
    for members in split.suites.values():
        suite_ids = {puzzle.id for puzzle in members}
        positions = {key for puzzle in members for key in position_keys(puzzle)}
        assert len(suite_ids) == len(members)
        assert not suite_ids & seen_ids
        assert not positions & seen_positions
        seen_ids |= suite_ids
        seen_positions |= positions


def test_overlaps_name_the_puzzle_kept(split: NamedSplit, bundled: list[Puzzle]) -> None:
    by_id = {puzzle.id: puzzle for puzzle in bundled}
    used = {puzzle.id for members in split.suites.values() for puzzle in members}
    assert len(split.overlaps) == 7
    for overlap in split.overlaps:
        assert overlap.kept < overlap.dropped
        assert overlap.kept in used
        assert overlap.dropped not in used
        for puzzle_id in (overlap.kept, overlap.dropped):
            assert overlap.position in position_keys(by_id[puzzle_id])


def test_selection_and_main_are_alike_and_close_to_the_pool(split: NamedSplit, bundled: list[Puzzle]) -> None:
    """Mean rating and share of hard puzzles lie within 4 standard errors of the pool both were drawn from."""
    apart = {puzzle.id for name in ("hard", "mate5") for puzzle in split.suites[name]}
    pool = [puzzle for puzzle in bundled if puzzle.id not in apart]
    mean = sum(puzzle.rating for puzzle in pool) / len(pool)
    deviation = (sum((puzzle.rating - mean) ** 2 for puzzle in pool) / len(pool)) ** 0.5
    hard_share = sum(puzzle.rating >= 2400 for puzzle in pool) / len(pool)
    assert 0.05 < hard_share < 0.06
    for name in ("selection", "main"):
        members = split.suites[name]
        n = len(members)
        assert abs(sum(puzzle.rating for puzzle in members) / n - mean) < 4 * deviation / n**0.5
        share = sum(puzzle.rating >= 2400 for puzzle in members) / n
        assert abs(share - hard_share) < 4 * (hard_share * (1 - hard_share) / n) ** 0.5


def test_row_order_does_not_matter(few: list[Puzzle]) -> None:
    shuffled = few[:]
    random.Random(1).shuffle(shuffled)
    assert shuffled != few
    assert ids(split_puzzles(shuffled, SMALL, 3)) == ids(split_puzzles(few, SMALL, 3))
    for members in split_puzzles(shuffled, SMALL, 3).suites.values():
        assert list(members) == sorted(members, key=lambda puzzle: puzzle.id)


def test_the_seed_changes_every_drawn_suite(few: list[Puzzle]) -> None:
    sizes = replace(SMALL, mate_cap=2)
    first, second = ids(split_puzzles(few, sizes, 0)), ids(split_puzzles(few, sizes, 1))
    for name in SUITE_NAMES:
        assert first[name] != second[name], name


def test_the_draw_is_pinned(split: NamedSplit) -> None:
    """Every checkout, with any NumPy, gets the same suites at seed 0."""
    digest = hashlib.sha256(json.dumps(ids(split)).encode()).hexdigest()
    assert digest == "15611c2ed859d54fddcaec87e5f9fe26d09ff823a686ffbe7e712819cb59daa0"


def test_sizes_of_later_draws_leave_earlier_ones_alone(few: list[Puzzle]) -> None:
    small = ids(split_puzzles(few, SMALL, 0))
    larger = ids(split_puzzles(few, replace(SMALL, main=200), 0))
    assert larger["hard"] == small["hard"]
    assert larger["selection"] == small["selection"]
    assert set(larger["main"]) > set(small["main"])


def test_a_mate_cap_passes_the_others_on(few: list[Puzzle]) -> None:
    capped = split_puzzles(few, replace(SMALL, mate_cap=3), 0).suites
    free = split_puzzles(few, SMALL, 0).suites
    assert [len(capped[f"mate{depth}"]) for depth in range(1, 6)] == [3, 3, 3, 3, 3]
    assert len(free["mate1"]) > 3
    assert 1 in {mate_depth(puzzle) for puzzle in capped["control"]}


def test_the_controls_pool_is_a_uniform_sample_of_the_rest(bundled: list[Puzzle]) -> None:
    """Shares of mates and of high ratings lie within 4 standard errors of what it was drawn from."""
    whole = split_puzzles(bundled, SuiteSizes(control_pool=1000), 0).suites
    names = ("mate1", "mate2", "mate3", "mate4", "control")
    others = split_puzzles(
        bundled, SuiteSizes(control_pool=None), 0
    ).suites  # the same puzzles, cut otherwise
    rest = [puzzle for name in names for puzzle in others[name]]
    pool = whole["control"]
    assert len(pool) == 1000
    assert {puzzle.id for puzzle in pool} < {puzzle.id for puzzle in rest}
    for trait in (
        lambda puzzle: mate_depth(puzzle) in (1, 2, 3, 4),
        lambda puzzle: mate_depth(puzzle) == 4,
        lambda puzzle: puzzle.rating >= 2000,
    ):
        share = sum(map(trait, rest)) / len(rest)
        assert 0.05 < share < 0.6
        assert abs(sum(map(trait, pool)) / 1000 - share) < 4 * (share * (1 - share) / 1000) ** 0.5


def test_the_size_of_the_controls_pool_leaves_the_scored_samples_alone(few: list[Puzzle]) -> None:
    free, drawn = (ids(split_puzzles(few, replace(SMALL, control_pool=size), 0)) for size in (None, 60))
    for name in ("selection", "main", "hard", "mate5"):
        assert drawn[name] == free[name]
    assert set(drawn["mate2"]) < set(free["mate2"])


def test_zero_sizes_give_empty_suites(few: list[Puzzle]) -> None:
    suites = split_puzzles(few, SuiteSizes(0, 0, 0, mate_cap=0), 0).suites
    assert {name for name, members in suites.items() if members} == {"control"}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            replace(SMALL, hard=10_000),
            r"suites.hard: 10000 puzzles are wanted, but only \d+ are rated 2400 or more",
        ),
        (
            replace(SMALL, control_pool=10_000),
            r"suites.control_pool: 10000 puzzles are wanted, but only \d+ are left by",
        ),
        (
            replace(SMALL, main=10_000),
            r"suites.selection and suites.main: 10120 puzzles are wanted, but only \d+ are left by",
        ),
    ],
)
def test_too_few_puzzles(few: list[Puzzle], sizes: SuiteSizes, message: str) -> None:
    with pytest.raises(SplitError, match=message):
        split_puzzles(few, sizes, 0)


@pytest.mark.parametrize("name", ["selection", "main", "hard", "hard_rating", "mate_cap", "control_pool"])
def test_negative_sizes_are_refused(name: str) -> None:
    with pytest.raises(SplitError, match=f"{name} = -1"):
        SuiteSizes(**{name: -1})


def test_a_negative_seed_and_a_repeated_id_are_refused(few: list[Puzzle]) -> None:
    with pytest.raises(SplitError, match="seed -1"):
        split_puzzles(few, SMALL, -1)
    with pytest.raises(SplitError, match=f"{few[5].id} occurs twice"):
        split_puzzles([*few, few[5]], SMALL, 0)


def test_overlapping_suites_are_named(few: list[Puzzle]) -> None:
    one, other = few[:2]
    twin = replace(other, id="zzzzz")
    catalogue = catalogue_of([one, other, twin])  # sorted by id already
    assert [catalogue.id(place) for place in range(3)] == [one.id, other.id, "zzzzz"]

    def suites(**places: list[int]) -> dict[str, np.ndarray]:
        return {name: np.array(members, np.int64) for name, members in places.items()}

    require_disjoint(catalogue, suites(main=[0], hard=[1]))
    require_disjoint(catalogue, suites(main=[0], hard=[1, 2]))  # within a suite it is no leak
    with pytest.raises(SplitError, match=f"{one.id} is in both main and control"):
        require_disjoint(catalogue, suites(main=[0], hard=[1], control=[0]))
    with pytest.raises(SplitError, match=f"{other.id} in hard and zzzzz in control share a position"):
        require_disjoint(catalogue, suites(main=[0], hard=[1], control=[2]))


def test_positions_are_equal_whatever_the_counters_and_dead_en_passant_squares() -> None:
    line = ("h8g8", "a1a2")
    keys = [
        position_keys(Puzzle("AAAAA", fen, line, 1, (), ""))
        for fen in ("7k/8/8/8/8/8/8/K7 b - - 0 1", "7k/8/8/8/8/8/8/K7 b - - 17 60")
    ]
    assert keys[0] == keys[1] == ("6k1/8/8/8/8/8/8/K7 w - -",)
    double_step = ("e7e5", "a1a2")
    plain, capturable = (
        position_keys(Puzzle("AAAAA", fen, double_step, 1, (), ""))[0]
        for fen in ("7k/4p3/8/8/8/8/8/K7 b - - 0 1", "7k/4p3/8/3P4/8/8/8/K7 b - - 0 1")
    )
    assert plain.endswith(" -")
    assert capturable.endswith(" e6")


def test_a_shared_position_drops_the_later_id(few: list[Puzzle]) -> None:
    twin = replace(few[10], id="zzzzz", rating=3000)
    result = split_puzzles([twin, *few], SMALL, 0)
    assert NamedOverlap("zzzzz", few[10].id, position_keys(twin)[0]) in result.overlaps
    assert "zzzzz" not in {puzzle.id for members in result.suites.values() for puzzle in members}
