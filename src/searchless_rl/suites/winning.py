"""Winning sets: the moves that count as right at each position the solver faces.

Lichess puzzles have one good move at every solver position, with one exception: any move that mates at once
is right. So by the rules alone the winning set W(s) is the marked move and every mate in one. A puzzle that
ends in mate asks for more (paper, section 3.3 and Table 3: a move is right if it is an optimal mate or the
marked move): with N solver moves to go, every move that mates in at most N is right. Which these are was
found by an engine once and is kept in a table, so that nobody else needs one; see `winning_search`.

A puzzle is solved when a player's choice lies in the winning set at *every* solver position, the marked line
being played in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import cozy_chess as cozy

from searchless_rl.files import write_atomically
from searchless_rl.suites.puzzles import Puzzle
from searchless_rl.suites.replay import is_legal, mates_in_one, solver_boards
from searchless_rl.suites.rows import PuzzleFileError, RejectReason, RowError
from searchless_rl.text import quoted

TABLE_COLUMNS = ("PuzzleId", "Optimal", "AnyMate")

#: One group of moves per solver position, in order of play; UCI, the marked move first, the others sorted.
Groups = tuple[tuple[str, ...], ...]


class WinningRow(NamedTuple):
    """The winning sets of one puzzle: of optimal mates, and of mates of any length; both hold the marked."""

    optimal: Groups
    any_mate: Groups


@dataclass(frozen=True)
class WinningTable:
    """Searched winning sets by puzzle id, as text until a puzzle says what is legal; `path` is their file."""

    path: Path
    rows: Mapping[str, tuple[str, str]]

    def __contains__(self, puzzle_id: object) -> bool:
        return puzzle_id in self.rows

    def row(self, puzzle: Puzzle) -> WinningRow:
        """The sets of a puzzle that is in the table.

        Raises:
            PuzzleFileError: they are not sets of this puzzle; id and reason are named.
        """
        try:
            optimal, any_mate = (parse_groups(puzzle, text) for text in self.rows[puzzle.id])
        except RowError as error:
            raise PuzzleFileError(f"{self.path}: {error.detail}. Make the table again.") from error
        if not all(set(few) <= set(many) for few, many in zip(optimal, any_mate, strict=True)):
            raise PuzzleFileError(
                f"{self.path}: {puzzle.id}: AnyMate lacks a move of Optimal. Make it again."
            )
        return WinningRow(optimal, any_mate)


def _winning_set(board: cozy.Board, marked: str) -> tuple[str, ...]:
    """UCI of the marked move, first, then of every other legal move that gives mate, sorted."""
    return (marked, *sorted(uci for uci in mates_in_one(board) if uci != marked))


def marked_moves(puzzle: Puzzle) -> Groups:
    """Groups of the marked moves alone."""
    return tuple((uci,) for uci in puzzle.moves[1::2])


def winning_sets(
    puzzle: Puzzle, table: WinningTable | None = None, *, any_forced_mate: bool = False
) -> Groups:
    """The winning set of each solver position of a valid puzzle, in order of play.

    Args:
        puzzle: a valid puzzle.
        table: searched sets. A puzzle that is not in it, as all that do not end in mate, has those by the
            rules: the marked move and the mates in one.
        any_forced_mate: count a mate of any length as right, not only an optimal one.

    Raises:
        PuzzleFileError: the table holds something else than sets of this puzzle.
    """
    if table is None or puzzle.id not in table:
        boards = solver_boards(puzzle.fen, puzzle.moves)
        return tuple(_winning_set(board, marked) for board, marked in boards)
    row = table.row(puzzle)
    return row.any_mate if any_forced_mate else row.optimal


def format_groups(groups: Groups) -> str:
    """Groups as text: separated by blanks, the moves of each joined by "|"."""
    return " ".join("|".join(group) for group in groups)


def parse_groups(puzzle: Puzzle, text: str) -> Groups:
    """The groups that `format_groups` wrote, checked against the puzzle.

    Raises:
        RowError: another number of groups than solver positions, or a group that does not begin with the
            marked move, repeats a move or holds an illegal one.
    """
    groups = tuple(tuple(group.split("|")) for group in text.split())
    if len(groups) != puzzle.solver_move_count:
        raise RowError(
            RejectReason.BAD_WINNING,
            f"{puzzle.id}: {len(groups)} winning groups for {puzzle.solver_move_count} solver positions",
        )
    for group, (board, marked) in zip(groups, solver_boards(puzzle.fen, puzzle.moves), strict=True):
        joined = quoted("|".join(group))
        if group[0] != marked:
            raise RowError(
                RejectReason.BAD_WINNING, f"{puzzle.id}: {joined} must begin with the marked {marked}"
            )
        if len(set(group)) != len(group) or not all(is_legal(board, uci) for uci in group[1:]):
            raise RowError(
                RejectReason.BAD_WINNING, f"{puzzle.id}: {joined} repeats a move or holds an illegal one"
            )
    return groups


def write_winning_table(path: Path, rows: Mapping[str, WinningRow]) -> None:
    """Write searched winning sets atomically as CSV with the columns `TABLE_COLUMNS`, LF line ends."""
    lines = [",".join((id_, *map(format_groups, row))) for id_, row in rows.items()]
    write_atomically(path, "\n".join([",".join(TABLE_COLUMNS), *lines]) + "\n")


def read_winning_table(path: Path) -> WinningTable:
    """Read a table of winning sets; each row is checked when its puzzle is looked up.

    Raises:
        PuzzleFileError: the file is missing, unreadable or no such table, or an id is repeated.
    """
    try:
        header, *lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise PuzzleFileError(f"{path}: cannot be read ({error}). Make the table again.") from error
    if header != ",".join(TABLE_COLUMNS):
        raise PuzzleFileError(
            f"{path}: the first line is not {','.join(TABLE_COLUMNS)}. Make the table again."
        )
    rows: dict[str, tuple[str, str]] = {}
    for number, line in enumerate(lines, start=2):
        fields = line.split(",")
        if len(fields) != len(TABLE_COLUMNS) or fields[0] in rows:
            problem = "repeats an id" if len(fields) == len(TABLE_COLUMNS) else "has not three columns"
            raise PuzzleFileError(f"{path}: line {number} {problem}: {quoted(line)}. Make the table again.")
        rows[fields[0]] = fields[1], fields[2]
    return WinningTable(path, rows)
