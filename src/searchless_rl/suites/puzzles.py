"""Lichess puzzles: the row type, and strict row validation.

A row of the Lichess puzzle export (CC0) holds the position *before* the opponent's move and a line in UCI
whose first move is the opponent's; the moves at odd indexes are the ones to find. Which columns a file may
have, `rows` says.

The moves of the game before the puzzle are no part of that export. A file may add them in a column
`GameMoves`, or in `PGN` as the puzzles of Ruoss et al. (2024) do
(`PuzzleId,Rating,PGN,Solution,FEN,Moves`).
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import chess
import numpy as np

from searchless_rl.suites.game_moves import read_history
from searchless_rl.suites.replay import PlayedLine, play_line, position_key, read_board
from searchless_rl.suites.rows import (
    ID_COLUMN,
    PuzzleFileError,
    ReadReport,
    RejectReason,
    RowError,
    iter_rows,
)
from searchless_rl.text import quoted

logger = logging.getLogger(__name__)

HISTORY_COLUMNS = ("GameMoves", "PGN")  # the first that is not blank counts
ID_LENGTH = 5
MADE_ID_LENGTH = 10

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGIT = {letter: value for value, letter in enumerate(_BASE62)}
_ID = re.compile(rf"[A-Za-z0-9]{{{ID_LENGTH}}}|[A-Za-z0-9]{{{MADE_ID_LENGTH}}}")
_RATING = re.compile(r"[0-9]{1,4}")
_GAME_URL = re.compile(r"https://lichess\.org/[A-Za-z0-9]{8}(?:[/#].*)?")


@dataclass(frozen=True, slots=True)
class Puzzle:
    """One puzzle: `fen` is the position before `moves[0]`, the opponent's; the solver's are the odd indexes.

    Moves are UCI, castling e1g1; `rating` is the puzzle's Glicko-2 rating on Lichess. `history` holds the
    moves of the game from the standard start position to `fen`; it is empty where they are not known.
    """

    id: str
    fen: str
    moves: tuple[str, ...]
    rating: int
    themes: tuple[str, ...]
    game_url: str
    history: tuple[str, ...] = ()

    @property
    def solver_move_count(self) -> int:
        """How many moves the solver has to find, at least 1."""
        return len(self.moves) // 2

    def game(self, plies: int) -> tuple[str | None, tuple[str, ...]]:
        """The game after the first `plies` of `moves`, as far back as it is known.

        Returns:
            FEN of its first position (None for the standard start) and the moves from there, UCI, as
            `board.encode_game` takes them.
        """
        line = self.moves[:plies]
        return (None, self.history + line) if self.history else (self.fen, line)


class CheckedPuzzle(NamedTuple):
    """A valid puzzle, and what its line showed when it was played."""

    puzzle: Puzzle
    line: PlayedLine


def solver_positions(puzzle: Puzzle) -> Iterator[tuple[chess.Board, chess.Move]]:
    """Each position the solver faces with the marked move, in order.

    The board is one object that moves on with the iteration: copy it to keep it, and leave it as it was.
    """
    board = chess.Board(puzzle.fen)
    for index, text in enumerate(puzzle.moves):
        move = chess.Move.from_uci(text)
        if index % 2:
            yield board, move
        board.push(move)


def puzzle_line(puzzle: Puzzle) -> PlayedLine:
    """What the line of a valid puzzle shows when it is played."""
    line = play_line(read_board(puzzle.fen), puzzle.moves)
    if isinstance(line, int):
        raise ValueError(f"puzzle {puzzle.id}: move {line} of {' '.join(puzzle.moves)} is illegal")
    return line


def mate_depth(puzzle: Puzzle) -> int | None:
    """Number of solver moves if the line ends in checkmate, else None.

    Read off the board: the theme `mateIn5` means five *or more*, and reduced theme lists omit mates.
    """
    return puzzle.solver_move_count if puzzle_line(puzzle).ends_in_mate else None


def position_keys(puzzle: Puzzle) -> tuple[str, ...]:
    """Placement, side to move, castling and legal en-passant square of each solver position, in order."""
    return puzzle_line(puzzle).keys


def parse_puzzle(row: Mapping[str, str]) -> Puzzle:
    """Validate one row, given by column name, and return it as a `Puzzle`.

    Strict: an id of five letters or digits (or one made here, see `made_id`), a rating 1..4000, a FEN exactly
    as python-chess writes it back and from which a game can start, an even number (>= 2) of legal moves in
    standard UCI (castling e1g1). `Themes` may be blank; `Themes` and `GameUrl` may be absent, but a `GameUrl`
    that is there must name a game.

    Raises:
        RowError: with the first reason found.
    """
    return check_puzzle(row).puzzle


def check_puzzle(row: Mapping[str, str]) -> CheckedPuzzle:
    """`parse_puzzle`, with what the line showed."""
    for name in (ID_COLUMN, "FEN", "Rating", "GameUrl"):
        if name in row and not row[name].strip():
            raise RowError(RejectReason.MISSING_FIELD, f"{name} is blank")
    puzzle_id, rating, game_url = row[ID_COLUMN], row["Rating"], row.get("GameUrl")
    if not _ID.fullmatch(puzzle_id):
        raise RowError(RejectReason.BAD_ID, f"id {quoted(puzzle_id)} is not five letters or digits")
    if not _RATING.fullmatch(rating) or not 1 <= int(rating) <= 4000:
        raise RowError(
            RejectReason.BAD_RATING, f"{puzzle_id}: rating {quoted(rating)} is not an integer 1..4000"
        )
    if game_url is not None and not _GAME_URL.fullmatch(game_url):
        raise RowError(RejectReason.BAD_GAME_URL, f"{puzzle_id}: {quoted(game_url)} names no Lichess game")
    moves = tuple(row["Moves"].split())
    if not moves:
        raise RowError(RejectReason.EMPTY_MOVES, f"{puzzle_id}: no moves")
    if len(moves) % 2:
        raise RowError(
            RejectReason.ODD_MOVE_COUNT,
            f"{puzzle_id}: {len(moves)} moves, the line must end on a solver move",
        )
    line = _play(puzzle_id, row["FEN"], moves)
    themes = tuple(row.get("Themes", "").split())
    return CheckedPuzzle(Puzzle(puzzle_id, row["FEN"], moves, int(rating), themes, game_url or ""), line)


def _play(puzzle_id: str, fen: str, moves: tuple[str, ...]) -> PlayedLine:
    try:
        board = read_board(fen)
    except ValueError as error:
        raise RowError(RejectReason.BAD_FEN, f"{puzzle_id}: {error}") from error
    line = play_line(board, moves)
    if isinstance(line, int):
        raise RowError(
            RejectReason.ILLEGAL_MOVE,
            f"{puzzle_id}: move {line} {quoted(moves[line])} is illegal in {position_key(board)}",
        )
    return line


def made_id(fen: str, moves: str) -> str:
    """An id for a row that has none: ten letters or digits that follow from its FEN and moves alone."""
    number = int.from_bytes(hashlib.sha256(f"{fen}\n{moves}".encode()).digest())
    letters = []
    for _ in range(MADE_ID_LENGTH):
        number, digit = divmod(number, len(_BASE62))
        letters.append(_BASE62[digit])
    return "".join(letters)


class _SeenIds:
    """The ids met so far, eight bytes each: the latest in a set, the others in a sorted array."""

    _RECENT = 1 << 15

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._older = np.empty(0, np.uint64)

    def add(self, puzzle_id: str) -> bool:
        """Record an id; False if it was there already."""
        number = 0
        for letter in puzzle_id:
            number = number * len(_BASE62) + _DIGIT[letter]
        if len(puzzle_id) == MADE_ID_LENGTH:  # numbered behind the others
            number += len(_BASE62) ** ID_LENGTH
        place = int(self._older.searchsorted(np.uint64(number)))
        if number in self._recent or (place < len(self._older) and int(self._older[place]) == number):
            return False
        self._recent.add(number)
        if len(self._recent) == self._RECENT:
            latest = np.fromiter(self._recent, np.uint64, self._RECENT)
            self._older = np.sort(np.concatenate([self._older, latest]))
            self._recent.clear()
        return True


def iter_checked(
    path: Path,
    report: ReadReport,
    *,
    max_reject_share: float = 0.05,
    game_moves: Mapping[str, str] | None = None,
) -> Iterator[CheckedPuzzle]:
    """Stream the valid puzzles of a CSV file, plain, gzip or Zstandard, in file order and constant memory.

    Game moves that lead to a puzzle's FEN become its history. Others are not used, only counted: they are no
    fault of the puzzle. In a file without ids each row gets one of its own (`made_id`), and the log says so.

    Args:
        path: the file. Columns are found by name when the first line is a header, else by position.
        report: filled in while reading: rows, rejects by reason, the first examples of each with line numbers
            (counted from 1, the header included).
        max_reject_share: largest share of rejected rows, 0..1, judged at the end of the file.
        game_moves: moves of the game by puzzle id, SAN or UCI, in place of the `HISTORY_COLUMNS`.

    Raises:
        PuzzleFileError: the file is missing, unreadable, truncated, of an unknown layout or without rows, or
            more than `max_reject_share` of its rows were rejected (raised after the last valid row).
    """
    seen = _SeenIds()
    without_id = False
    for number, row in iter_rows(path, report):
        if ID_COLUMN not in row:
            if not without_id:
                logger.warning("%s has no column %s: ids are made from FEN and moves", path, ID_COLUMN)
                without_id = True
            row[ID_COLUMN] = made_id(row["FEN"], row["Moves"])
        try:
            puzzle, line = check_puzzle(row)
            if not seen.add(puzzle.id):
                raise RowError(RejectReason.DUPLICATE_ID, f"id {puzzle.id} was on an earlier line")
        except RowError as error:
            report.reject(number, error)
            continue
        text = _history_text(row) if game_moves is None else game_moves.get(puzzle.id, "")
        if text is not None:
            outcome, history = read_history(text, puzzle.fen)
            report.count_history(puzzle.id, outcome)
            puzzle = replace(puzzle, history=history)
        yield CheckedPuzzle(puzzle, line)
    _require_enough(path, report, max_reject_share)


def _require_enough(path: Path, report: ReadReport, max_reject_share: float) -> None:
    if report.rows == 0:
        raise PuzzleFileError(f"{path}: no puzzle rows. Fetch or copy the file again.")
    if report.rejected_total > max_reject_share * report.rows:
        raise PuzzleFileError(
            f"{path}: {report.rejected_total} of {report.rows} rows rejected, more than the allowed "
            f"{max_reject_share:.1%}. Repair the file or replace it by a fresh download.\n{report.describe()}"
        )


def _history_text(row: Mapping[str, str]) -> str | None:
    """The game moves in a row, blank if it has none; None if the file has no column for them."""
    given = [row[name] for name in HISTORY_COLUMNS if name in row]
    return next((text for text in given if text.strip()), "") if given else None


def iter_puzzles(
    path: Path,
    report: ReadReport,
    *,
    max_reject_share: float = 0.05,
    game_moves: Mapping[str, str] | None = None,
) -> Iterator[Puzzle]:
    """The puzzles of `iter_checked`, alone."""
    checked = iter_checked(path, report, max_reject_share=max_reject_share, game_moves=game_moves)
    return (puzzle for puzzle, _ in checked)


def read_puzzles(
    path: Path, *, max_reject_share: float = 0.05, game_moves: Mapping[str, str] | None = None
) -> tuple[list[Puzzle], ReadReport]:
    """All valid puzzles of a file that fits in memory, with the report; see `iter_checked`."""
    report = ReadReport()
    puzzles = iter_puzzles(path, report, max_reject_share=max_reject_share, game_moves=game_moves)
    return list(puzzles), report
