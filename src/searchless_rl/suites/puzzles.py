"""Lichess puzzles: the row type, a streaming reader for every header variant, and strict row validation.

A row of the Lichess puzzle export (CC0) holds the position *before* the opponent's move and a line in UCI
whose first move is the opponent's; the moves at odd indexes are the ones to find. Columns by period: nine
without a header row (December 2020 on), eleven without one (September 2022), ten without one (to May 2023),
ten with one, and eleven with one (`DailyDate`, from August 2026). No field contains a comma, nothing is
quoted.

The moves of the game before the puzzle are no part of that export. A file may add them in a column
`GameMoves`, or in `PGN` as the puzzles of Ruoss et al. (2024) do
(`PuzzleId,Rating,PGN,Solution,FEN,Moves`).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import chess
import numpy as np
import zstandard

from searchless_rl.suites.compressed import open_bytes
from searchless_rl.suites.game_moves import HistoryOutcome, read_history

REQUIRED_COLUMNS = ("PuzzleId", "FEN", "Moves", "Rating")
OPTIONAL_COLUMNS = ("Themes", "GameUrl")
HISTORY_COLUMNS = ("GameMoves", "PGN")  # the first that is not blank counts
#: The columns every export without a header row begins with.
POSITIONAL_COLUMNS = (
    *("PuzzleId", "FEN", "Moves", "Rating", "RatingDeviation"),
    *("Popularity", "NbPlays", "Themes", "GameUrl"),
)
POSITIONAL_WIDTHS = range(9, 12)
MAX_LINE_BYTES = 65_536
EXAMPLES_PER_REASON = 3

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_DIGIT = {letter: value for value, letter in enumerate(_BASE62)}
_ID = re.compile(r"[A-Za-z0-9]{5}")
_RATING = re.compile(r"[0-9]{1,4}")
_GAME_URL = re.compile(r"https://lichess\.org/[A-Za-z0-9]{8}(?:[/#].*)?")


class RejectReason(StrEnum):
    """Why a row was refused; the values are the keys of the reports."""

    BAD_ENCODING = "bad_encoding"  # not UTF-8
    LINE_TOO_LONG = "line_too_long"
    QUOTED_FIELD = "quoted_field"
    MISSING_FIELD = "missing_field"  # too few columns, or a field that must not be blank is
    EXTRA_FIELD = "extra_field"
    BAD_ID = "bad_id"
    DUPLICATE_ID = "duplicate_id"
    BAD_RATING = "bad_rating"
    BAD_GAME_URL = "bad_game_url"
    BAD_FEN = "bad_fen"
    EMPTY_MOVES = "empty_moves"
    ODD_MOVE_COUNT = "odd_move_count"
    ILLEGAL_MOVE = "illegal_move"
    BAD_WINNING = "bad_winning"  # suite files only
    BAD_HISTORY = "bad_history"  # suite files only


class PuzzleFileError(ValueError):
    """A puzzle file as a whole cannot be used; the message names the file, the reason and what to do."""


class RowError(ValueError):
    """One row is not a valid puzzle."""

    def __init__(self, reason: RejectReason, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


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


@dataclass(frozen=True, slots=True)
class RejectedRow:
    line: int
    detail: str


@dataclass
class ReadReport:
    """What a reader met: `rows` counts data rows (no header, no blank lines), accepted and rejected.

    `histories` counts the accepted rows by what became of their game moves, and is empty where no moves were
    given at all; `lost_histories` names the first puzzles of each outcome in which they were of no use.
    """

    rows: int = 0
    rejected: dict[RejectReason, int] = field(default_factory=dict)
    examples: dict[RejectReason, list[RejectedRow]] = field(default_factory=dict)
    histories: dict[HistoryOutcome, int] = field(default_factory=dict)
    lost_histories: dict[HistoryOutcome, list[str]] = field(default_factory=dict)

    @property
    def rejected_total(self) -> int:
        return sum(self.rejected.values())

    @property
    def accepted(self) -> int:
        return self.rows - self.rejected_total

    def reject(self, line: int, error: RowError) -> None:
        self.rejected[error.reason] = self.rejected.get(error.reason, 0) + 1
        examples = self.examples.setdefault(error.reason, [])
        if len(examples) < EXAMPLES_PER_REASON:
            examples.append(RejectedRow(line, error.detail))

    def count_history(self, puzzle_id: str, outcome: HistoryOutcome) -> None:
        self.histories[outcome] = self.histories.get(outcome, 0) + 1
        if outcome in (HistoryOutcome.MISSED, HistoryOutcome.ILLEGAL):
            ids = self.lost_histories.setdefault(outcome, [])
            if len(ids) < EXAMPLES_PER_REASON:
                ids.append(puzzle_id)

    def describe(self) -> str:
        """The reasons with their counts and first examples, one a line, most frequent first."""
        lines = []
        for reason, count in sorted(self.rejected.items(), key=lambda item: (-item[1], item[0])):
            shown = "; ".join(f"line {row.line}: {row.detail}" for row in self.examples[reason])
            lines.append(f"  {reason}: {count} ({shown})")
        return "\n".join(lines)


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


def parse_puzzle(row: Mapping[str, str]) -> Puzzle:
    """Validate one row, given by column name, and return it as a `Puzzle`.

    Strict: an id of five letters or digits, a rating 1..4000, a FEN exactly as python-chess writes it back,
    an even number (>= 2) of legal moves in standard UCI (castling e1g1). `Themes` may be blank; `Themes`
    and `GameUrl` may be absent, but a `GameUrl` that is there must name a game.

    Raises:
        RowError: with the first reason found.
    """
    for name in ("PuzzleId", "FEN", "Rating", "GameUrl"):
        if name in row and not row[name].strip():
            raise RowError(RejectReason.MISSING_FIELD, f"{name} is blank")
    puzzle_id, rating, game_url = row["PuzzleId"], row["Rating"], row.get("GameUrl")
    if not _ID.fullmatch(puzzle_id):
        raise RowError(RejectReason.BAD_ID, f"id {_short(puzzle_id)} is not five letters or digits")
    if not _RATING.fullmatch(rating) or not 1 <= int(rating) <= 4000:
        raise RowError(
            RejectReason.BAD_RATING, f"{puzzle_id}: rating {_short(rating)} is not an integer 1..4000"
        )
    if game_url is not None and not _GAME_URL.fullmatch(game_url):
        raise RowError(RejectReason.BAD_GAME_URL, f"{puzzle_id}: {_short(game_url)} names no Lichess game")
    moves = tuple(row["Moves"].split())
    if not moves:
        raise RowError(RejectReason.EMPTY_MOVES, f"{puzzle_id}: no moves")
    if len(moves) % 2:
        raise RowError(
            RejectReason.ODD_MOVE_COUNT,
            f"{puzzle_id}: {len(moves)} moves, the line must end on a solver move",
        )
    _play(puzzle_id, _board(puzzle_id, row["FEN"]), moves)
    return Puzzle(
        puzzle_id, row["FEN"], moves, int(rating), tuple(row.get("Themes", "").split()), game_url or ""
    )


def _board(puzzle_id: str, fen: str) -> chess.Board:
    try:
        board = chess.Board(fen)
    except ValueError as error:
        raise RowError(RejectReason.BAD_FEN, f"{puzzle_id}: {_short(fen)} ({_short(str(error))})") from error
    if board.fen(en_passant="fen") != fen:
        raise RowError(
            RejectReason.BAD_FEN, f"{puzzle_id}: {_short(fen)} should read {board.fen(en_passant='fen')!r}"
        )
    if not board.is_valid():
        raise RowError(
            RejectReason.BAD_FEN, f"{puzzle_id}: impossible position {_short(fen)} ({board.status()!r})"
        )
    return board


def _play(puzzle_id: str, board: chess.Board, moves: Sequence[str]) -> None:
    for index, text in enumerate(moves):
        try:
            move = board.parse_uci(text)
        except ValueError:
            move = chess.Move.null()
        # parse_uci lets null moves through and reads e1h1 as castling; neither is a move of this data.
        if not move or move.uci() != text:
            raise RowError(
                RejectReason.ILLEGAL_MOVE,
                f"{puzzle_id}: move {index} {_short(text)} is illegal in {board.fen()}",
            )
        board.push(move)


def _short(text: str) -> str:
    return repr(text if len(text) <= 100 else text[:97] + "...")


class _SeenIds:
    """The ids met so far as one bit per possible id: at most 115 MB, touched only where ids fall."""

    def __init__(self) -> None:
        self._bits = np.zeros(62**5 // 8 + 1, dtype=np.uint8)

    def add(self, puzzle_id: str) -> bool:
        """Record an id; False if it was there already."""
        index = 0
        for letter in puzzle_id:
            index = index * 62 + _DIGIT[letter]
        byte, bit = index >> 3, 1 << (index & 7)
        if self._bits[byte] & bit:
            return False
        self._bits[byte] |= bit
        return True


def iter_puzzles(
    path: Path,
    report: ReadReport,
    *,
    max_reject_share: float = 0.05,
    game_moves: Mapping[str, str] | None = None,
) -> Iterator[Puzzle]:
    """Stream the valid puzzles of a CSV file, plain, gzip or Zstandard, in file order and constant memory.

    Game moves that lead to a puzzle's FEN become its history. Others are not used, only counted: they are no
    fault of the puzzle.

    Args:
        path: the file. Columns are found by name when the first line holds `PuzzleId`, else by position.
        report: filled in while reading: rows, rejects by reason, the first examples of each with line numbers
            (counted from 1, the header included).
        max_reject_share: largest share of rejected rows, 0..1, judged at the end of the file.
        game_moves: moves of the game by puzzle id, SAN or UCI, in place of the `HISTORY_COLUMNS`.

    Raises:
        PuzzleFileError: the file is missing, unreadable, truncated, of an unknown layout or without rows, or
            more than `max_reject_share` of its rows were rejected (raised after the last valid row).
    """
    seen = _SeenIds()
    for line, row in iter_rows(path, report):
        try:
            puzzle = parse_puzzle(row)
            if not seen.add(puzzle.id):
                raise RowError(RejectReason.DUPLICATE_ID, f"id {puzzle.id} was on an earlier line")
        except RowError as error:
            report.reject(line, error)
            continue
        text = _history_text(row) if game_moves is None else game_moves.get(puzzle.id, "")
        if text is not None:
            outcome, history = read_history(text, puzzle.fen)
            report.count_history(puzzle.id, outcome)
            puzzle = replace(puzzle, history=history)
        yield puzzle
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


def read_puzzles(
    path: Path, *, max_reject_share: float = 0.05, game_moves: Mapping[str, str] | None = None
) -> tuple[list[Puzzle], ReadReport]:
    """All valid puzzles of a file that fits in memory, with the report; see `iter_puzzles`."""
    report = ReadReport()
    puzzles = iter_puzzles(path, report, max_reject_share=max_reject_share, game_moves=game_moves)
    return list(puzzles), report


def iter_rows(path: Path, report: ReadReport) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and fields by column name of every row of the right shape; counts rows, rejects the others.

    Raises:
        PuzzleFileError: the file is missing, unreadable, truncated or of an unknown layout.
    """
    try:
        with open_bytes(path) as stream:
            yield from _rows(path, stream, report)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise PuzzleFileError(f"{path}: cannot be read ({error}). Fetch or copy the file again.") from error


def _rows(path: Path, stream: BinaryIO, report: ReadReport) -> Iterator[tuple[int, dict[str, str]]]:
    columns: Sequence[str] = POSITIONAL_COLUMNS
    widths = POSITIONAL_WIDTHS
    for line, content in _lines(stream):
        if line == 1:
            header = _header(path, content)
            if header is not None:
                columns, widths = header, range(len(header), len(header) + 1)
                continue
        if content is not None and not content.strip():
            continue
        report.rows += 1
        try:
            fields = _fields(content, widths)
        except RowError as error:
            report.reject(line, error)
            continue
        yield line, dict(zip(columns, fields, strict=False))


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines without their ends (LF or CRLF); None stands for one longer than `MAX_LINE_BYTES`."""
    line = 0
    while raw := stream.readline(MAX_LINE_BYTES):
        line += 1
        if len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n"):
            while raw and not raw.endswith(b"\n"):
                raw = stream.readline(MAX_LINE_BYTES)
            yield line, None
            continue
        if line == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        yield line, raw.removesuffix(b"\n").removesuffix(b"\r")


def _header(path: Path, content: bytes | None) -> list[str] | None:
    """The column names if the first line is a header; None if it is a row of a file without one."""
    names = (content or b"").decode("utf-8", "replace").split(",")
    if "PuzzleId" not in names:
        if len(names) not in POSITIONAL_WIDTHS:
            raise PuzzleFileError(
                f"{path}: the first line is neither a header with PuzzleId nor a row of 9 to 11 columns: "
                f"{_short(','.join(names))}. This is not a Lichess puzzle file."
            )
        return None
    missing = [name for name in REQUIRED_COLUMNS if name not in names]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if missing or repeated:
        raise PuzzleFileError(
            f"{path}: header {_short(','.join(names))} "
            + (f"lacks {', '.join(missing)}" if missing else f"repeats {', '.join(repeated)}")
            + f"; needed are {', '.join(REQUIRED_COLUMNS)}, once each."
        )
    return names


def _fields(content: bytes | None, widths: range) -> list[str]:
    if content is None:
        raise RowError(RejectReason.LINE_TOO_LONG, f"longer than {MAX_LINE_BYTES} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RowError(RejectReason.BAD_ENCODING, f"not UTF-8 at byte {error.start} of the line") from error
    if '"' in text:
        raise RowError(RejectReason.QUOTED_FIELD, f"quotes are not part of this format: {_short(text)}")
    fields = text.split(",")
    if len(fields) < widths.start:
        raise RowError(
            RejectReason.MISSING_FIELD, f"{len(fields)} columns, expected {widths.start}: {_short(text)}"
        )
    if len(fields) >= widths.stop:
        raise RowError(
            RejectReason.EXTRA_FIELD, f"{len(fields)} columns, expected {widths.stop - 1}: {_short(text)}"
        )
    return fields
