"""Suite files: a CSV per suite with the winning sets spelled out, and the stage that builds all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.suites.game_moves import HistoryOutcome, read_history
from searchless_rl.suites.puzzles import (
    Puzzle,
    PuzzleFileError,
    ReadReport,
    RejectReason,
    RowError,
    iter_rows,
    parse_puzzle,
    read_puzzles,
)
from searchless_rl.suites.split import Split, SuiteSizes, mate_depth, split_puzzles
from searchless_rl.suites.winning import (
    Groups,
    format_groups,
    parse_groups,
    read_winning_table,
    winning_sets,
)

SUITE_COLUMNS = ("PuzzleId", "FEN", "Moves", "Rating", "Themes", "GameUrl", "Winning")
HISTORY_COLUMN = "History"  # the last, there only where some puzzle has a history
GAME_MOVES_COLUMNS = ("PuzzleId", "GameMoves")
REPORT_NAME = "report.json"
_QUANTILES = {"min": 0.0, "q25": 0.25, "median": 0.5, "q75": 0.75, "max": 1.0}


@dataclass(frozen=True, slots=True)
class SuiteItem:
    """A puzzle with the winning set of each solver position, the marked move first in each."""

    puzzle: Puzzle
    winning: Groups


def write_suite(path: Path, items: Iterable[SuiteItem]) -> None:
    """Write a suite atomically as CSV with the columns `SUITE_COLUMNS`, LF line ends, no quoting.

    `Winning` holds one group per solver position, separated by blanks; the moves of a group are joined by
    "|", the marked move first. If any puzzle has a history, a column `HISTORY_COLUMN` follows. Raises
    `ValueError` if a field holds a comma, a quote or a line end.
    """
    items = list(items)
    with_history = any(item.puzzle.history for item in items)
    columns = (*SUITE_COLUMNS, HISTORY_COLUMN) if with_history else SUITE_COLUMNS
    lines = [",".join(columns)]
    for item in items:
        puzzle = item.puzzle
        fields = [
            *(puzzle.id, puzzle.fen, " ".join(puzzle.moves), str(puzzle.rating), " ".join(puzzle.themes)),
            *(puzzle.game_url, format_groups(item.winning)),
        ]
        if with_history:
            fields.append(" ".join(puzzle.history))
        for name, text in zip(columns, fields, strict=True):
            if any(letter in text for letter in ',"\r\n'):
                raise ValueError(f"puzzle {puzzle.id}: {name} {text!r} holds a comma, a quote or a line end")
        lines.append(",".join(fields))
    write_atomically(path, "\n".join(lines) + "\n")


def read_suite(path: Path) -> list[SuiteItem]:
    """Read a suite file back, every row validated as strictly as a puzzle row, with winning sets and history.

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
        if not row.get("GameUrl"):  # blank where the puzzle's source does not name the game
            row.pop("GameUrl", None)
        try:
            puzzle = parse_puzzle(row)
            if puzzle.id in ids:
                raise RowError(RejectReason.DUPLICATE_ID, f"id {puzzle.id} was on an earlier line")
            puzzle = replace(puzzle, history=_parse_history(puzzle, row.get(HISTORY_COLUMN, "")))
            items.append(SuiteItem(puzzle, parse_groups(puzzle, row["Winning"])))
            ids.add(puzzle.id)
        except RowError as error:
            report.reject(line, error)
    if report.rejected:
        raise PuzzleFileError(
            f"{path}: {report.rejected_total} of {report.rows} rows are invalid. Build the suites again.\n"
            f"{report.describe()}"
        )
    return items


def _parse_history(puzzle: Puzzle, text: str) -> tuple[str, ...]:
    """The history as `write_suite` wrote it: UCI moves that end at the FEN, or nothing."""
    outcome, history = read_history(text, puzzle.fen)
    if " ".join(history) != text:
        raise RowError(
            RejectReason.BAD_HISTORY, f"{puzzle.id}: the history does not end at the FEN ({outcome})"
        )
    return history


def read_game_moves(path: Path) -> dict[str, str]:
    """Game moves by puzzle id, from a CSV with the columns `GAME_MOVES_COLUMNS`.

    Raises:
        PuzzleFileError: the file is missing, unreadable or something else, or repeats an id.
    """
    try:
        header, *lines = path.read_text().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PuzzleFileError(f"{path}: cannot be read ({error}). Fetch the histories again.") from error
    moves: dict[str, str] = {}
    if header != ",".join(GAME_MOVES_COLUMNS):
        raise PuzzleFileError(f"{path}: the first line is not {','.join(GAME_MOVES_COLUMNS)}")
    for number, line in enumerate(lines, start=2):
        if not line:
            continue
        puzzle_id, comma, text = line.partition(",")
        if not comma or "," in text or puzzle_id in moves:
            raise PuzzleFileError(
                f"{path}: line {number} repeats an id or has not two columns: {line[:80]!r}. "
                "Fetch the histories again."
            )
        moves[puzzle_id] = text
    return moves


def build_suites(
    source_csv: Path,
    out_dir: Path,
    sizes: SuiteSizes,
    seed: int,
    *,
    winning: Path | None = None,
    any_forced_mate: bool = False,
    game_moves: Path | None = None,
) -> dict[str, Any]:
    """Validate a puzzle file, split it and write one CSV per suite and `report.json` into `out_dir`.

    The same source, sizes and seed give the same bytes. Ratings are Lichess puzzle ratings (Glicko-2).

    Args:
        source_csv: a puzzle file.
        out_dir: made if absent.
        sizes: how many puzzles go where.
        seed: of the split, >= 0.
        winning: a table of searched winning sets (`winning.read_winning_table`); None: sets by the rules.
            Puzzles that end in mate and are not in it have those too, and are counted.
        any_forced_mate: count mates of any length as right, not only optimal ones; needs `winning`.
        game_moves: a CSV of game moves (`read_game_moves`), in place of those `source_csv` may carry.

    Returns:
        The report: source name and sha256, rows read and rejected by reason, mate depths in the whole source,
        and per suite the number of puzzles, solver positions and the rating quantiles (values that occur).
        Where they are given: what became of the game moves; the table and the mates that are not in it.

    Raises:
        PuzzleFileError, SplitError: see `read_puzzles`, `read_winning_table` and `split_puzzles`.
        ValueError: `any_forced_mate` without `winning`.
    """
    if any_forced_mate and winning is None:
        raise ValueError("any_forced_mate needs a table of winning sets: name one, or count optimal mates")
    table = None if winning is None else read_winning_table(winning)
    given = None if game_moves is None else read_game_moves(game_moves)
    puzzles, read = read_puzzles(source_csv, game_moves=given)
    split = split_puzzles(puzzles, sizes, seed)
    for name, members in split.suites.items():
        items = [
            SuiteItem(puzzle, winning_sets(puzzle, table, any_forced_mate=any_forced_mate))
            for puzzle in members
        ]
        write_suite(out_dir / f"{name}.csv", items)
    report = _report(source_csv, puzzles, read, split, sizes, seed)
    if read.histories:
        report["histories"] = {outcome.value: read.histories.get(outcome, 0) for outcome in HistoryOutcome}
        report["lost_histories"] = {outcome.value: ids for outcome, ids in read.lost_histories.items()}
    if table is not None:
        report["winning_table"] = {
            "name": table.path.name,
            "sha256": sha256_of(table.path),
            "any_forced_mate": any_forced_mate,
            "mates_not_in_it": sum(
                mate_depth(puzzle) is not None and puzzle.id not in table for puzzle in puzzles
            ),
        }
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
