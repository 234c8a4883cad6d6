"""Suite files: a CSV per suite with the winning sets spelled out, and the stage that builds all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.suites.puzzles import (
    Puzzle,
    PuzzleFileError,
    ReadReport,
    RejectReason,
    RowError,
    iter_rows,
    parse_puzzle,
    read_puzzles,
    solver_positions,
)
from searchless_rl.suites.split import Split, SuiteSizes, mate_depth, split_puzzles
from searchless_rl.suites.winning import winning_sets

SUITE_COLUMNS = ("PuzzleId", "FEN", "Moves", "Rating", "Themes", "GameUrl", "Winning")
REPORT_NAME = "report.json"
_QUANTILES = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}


@dataclass(frozen=True, slots=True)
class SuiteItem:
    """A puzzle with the winning set of each solver position, the marked move first in each."""

    puzzle: Puzzle
    winning: tuple[tuple[str, ...], ...]


def write_suite(path: Path, items: Iterable[SuiteItem]) -> None:
    """Write a suite atomically as CSV with the columns `SUITE_COLUMNS`, LF line ends, no quoting.

    `Winning` holds one group per solver position, separated by blanks; the moves of a group are joined by
    "|", the marked move first. Raises `ValueError` if a field holds a comma, a quote or a line end.
    """
    lines = [",".join(SUITE_COLUMNS)]
    for item in items:
        puzzle = item.puzzle
        fields = (
            *(puzzle.id, puzzle.fen, " ".join(puzzle.moves), str(puzzle.rating), " ".join(puzzle.themes)),
            *(puzzle.game_url, " ".join("|".join(group) for group in item.winning)),
        )
        for name, text in zip(SUITE_COLUMNS, fields, strict=True):
            if any(letter in text for letter in ',"\r\n'):
                raise ValueError(f"puzzle {puzzle.id}: {name} {text!r} holds a comma, a quote or a line end")
        lines.append(",".join(fields))
    write_atomically(path, "\n".join(lines) + "\n")


def read_suite(path: Path) -> list[SuiteItem]:
    """Read a suite file back, every row validated as strictly as a puzzle row and its winning sets with it.

    Raises:
        PuzzleFileError: the file is unreadable or has no `Winning` column, or any row is invalid or repeated;
            the message gives line, id and reason.
    """
    report = ReadReport()
    items: list[SuiteItem] = []
    ids: set[str] = set()
    for line, row in iter_rows(path, report):
        if "Winning" not in row:
            raise PuzzleFileError(
                f"{path}: no column Winning; this is a puzzle file, not a suite. Build the suites."
            )
        try:
            puzzle = parse_puzzle(row)
            if puzzle.id in ids:
                raise RowError(RejectReason.DUPLICATE_ID, f"id {puzzle.id} was on an earlier line")
            items.append(SuiteItem(puzzle, _parse_winning(puzzle, row["Winning"])))
            ids.add(puzzle.id)
        except RowError as error:
            report.reject(line, error)
    if report.rejected:
        raise PuzzleFileError(
            f"{path}: {report.rejected_total} of {report.rows} rows are invalid. Build the suites again.\n"
            f"{report.describe()}"
        )
    return items


def _parse_winning(puzzle: Puzzle, text: str) -> tuple[tuple[str, ...], ...]:
    groups = tuple(tuple(group.split("|")) for group in text.split())
    if len(groups) != puzzle.solver_move_count:
        raise RowError(
            RejectReason.BAD_WINNING,
            f"{puzzle.id}: {len(groups)} winning groups for {puzzle.solver_move_count} solver positions",
        )
    for group, (board, marked) in zip(groups, solver_positions(puzzle), strict=True):
        joined = "|".join(group)
        if group[0] != marked.uci():
            raise RowError(
                RejectReason.BAD_WINNING, f"{puzzle.id}: {joined} must begin with the marked {marked.uci()}"
            )
        legal = {move.uci() for move in board.legal_moves} if len(group) > 1 else {marked.uci()}
        if len(set(group)) != len(group) or not legal.issuperset(group):
            raise RowError(
                RejectReason.BAD_WINNING, f"{puzzle.id}: {joined} repeats a move or holds an illegal one"
            )
    return groups


def build_suites(source_csv: Path, out_dir: Path, sizes: SuiteSizes, seed: int) -> dict[str, Any]:
    """Validate a puzzle file, split it and write one CSV per suite and `report.json` into `out_dir`.

    The same source, sizes and seed give the same bytes. Ratings are Lichess puzzle ratings (Glicko-2).

    Returns:
        The report: source name and sha256, rows read and rejected by reason, mate depths in the whole source,
        and per suite the number of puzzles, solver positions and the rating quantiles (values that occur).

    Raises:
        PuzzleFileError, SplitError: see `read_puzzles` and `split_puzzles`.
    """
    puzzles, read = read_puzzles(source_csv)
    split = split_puzzles(puzzles, sizes, seed)
    for name, members in split.suites.items():
        write_suite(out_dir / f"{name}.csv", (SuiteItem(puzzle, winning_sets(puzzle)) for puzzle in members))
    report = _report(source_csv, puzzles, read, split, sizes, seed)
    # Last, so that a report means that the suites beside it are complete.
    write_json(out_dir / REPORT_NAME, report)
    return report


def _report(
    source: Path, puzzles: Sequence[Puzzle], read: ReadReport, split: Split, sizes: SuiteSizes, seed: int
) -> dict[str, Any]:
    depths = Counter(depth for depth in map(mate_depth, puzzles) if depth is not None)
    return {
        "source": {"name": source.name, "sha256": sha256_of(source)},
        "seed": seed,
        "sizes": asdict(sizes),
        "rows": {
            "read": read.rows,
            "accepted": read.accepted,
            "rejected": {reason.value: read.rejected[reason] for reason in sorted(read.rejected)},
        },
        "mate_depths": {str(depth): depths[depth] for depth in sorted(depths)},
        "suites": {
            name: _suite_summary(members, sizes.hard_rating) for name, members in split.suites.items()
        },
        "overlaps_dropped": [asdict(overlap) for overlap in split.overlaps],
    }


def _suite_summary(puzzles: Sequence[Puzzle], hard_rating: int) -> Mapping[str, Any]:
    ratings = [puzzle.rating for puzzle in puzzles]
    return {
        "puzzles": len(puzzles),
        "solver_positions": sum(puzzle.solver_move_count for puzzle in puzzles),
        "rated_hard": sum(rating >= hard_rating for rating in ratings),
        "rating": {
            name: int(np.quantile(ratings, share, method="inverted_cdf"))
            for name, share in _QUANTILES.items()
        }
        if ratings
        else None,
    }
