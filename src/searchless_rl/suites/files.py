"""Suite files: CSVs of puzzles with the winning sets spelled out; and CSVs of game moves."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from searchless_rl.files import atomic_writer
from searchless_rl.suites.game_moves import read_history
from searchless_rl.suites.puzzles import Puzzle, parse_puzzle
from searchless_rl.suites.rows import PuzzleFileError, ReadReport, RejectReason, RowError, iter_rows
from searchless_rl.suites.winning import Groups, format_groups, parse_groups
from searchless_rl.text import quoted

SUITE_COLUMNS = ("PuzzleId", "FEN", "Moves", "Rating", "Themes", "GameUrl", "Winning")
HISTORY_COLUMN = "History"  # the last, there only where some puzzle has a history
GAME_MOVES_COLUMNS = ("PuzzleId", "GameMoves")


@dataclass(frozen=True, slots=True)
class SuiteItem:
    """A puzzle with the winning set of each solver position, the marked move first in each."""

    puzzle: Puzzle
    winning: Groups


def write_suite(path: Path, items: Iterable[SuiteItem], *, with_history: bool | None = None) -> None:
    """Write a suite atomically as CSV with the columns `SUITE_COLUMNS`, LF line ends, no quoting.

    `Winning` holds one group per solver position, separated by blanks; the moves of a group are joined by
    "|", the marked move first.

    Args:
        path: the CSV; its folder is made if absent.
        items: consumed one by one where `with_history` is given.
        with_history: whether a column `HISTORY_COLUMN` follows; None: if any puzzle has one.

    Raises:
        ValueError: a field holds a comma, a quote or a line end.
    """
    if with_history is None:
        items = list(items)
        with_history = any(item.puzzle.history for item in items)
    columns = (*SUITE_COLUMNS, HISTORY_COLUMN) if with_history else SUITE_COLUMNS
    with atomic_writer(path) as stream:
        for line in itertools.chain([",".join(columns)], _suite_lines(items, columns)):
            stream.write(f"{line}\n".encode())


def _suite_lines(items: Iterable[SuiteItem], columns: tuple[str, ...]) -> Iterator[str]:
    for item in items:
        puzzle = item.puzzle
        fields = (
            *(puzzle.id, puzzle.fen, " ".join(puzzle.moves), str(puzzle.rating), " ".join(puzzle.themes)),
            *(puzzle.game_url, format_groups(item.winning), " ".join(puzzle.history)),
        )[: len(columns)]
        line = ",".join(fields)
        if line.count(",") != len(fields) - 1 or any(letter in line for letter in '"\r\n'):
            name, text = next(
                (name, text)
                for name, text in zip(columns, fields, strict=True)
                if any(letter in text for letter in ',"\r\n')
            )
            raise ValueError(
                f"puzzle {puzzle.id}: {name} {quoted(text)} holds a comma, a quote or a line end"
            )
        yield line


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
        header, *lines = path.read_text(encoding="utf-8").split("\n")
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
                f"{path}: line {number} repeats an id or has not two columns: {quoted(line)}. "
                "Fetch the histories again."
            )
        moves[puzzle_id] = text
    return moves
