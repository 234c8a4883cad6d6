"""Rows of a puzzle file: a streaming reader for every header variant, and the count of what it refused.

Columns of the Lichess puzzle export (CC0) by period: nine without a header row (December 2020 on), eleven
without one (September 2022), ten without one (to May 2023), ten with one, and eleven with one (`DailyDate`,
from August 2026). No field contains a comma, nothing is quoted. Files of other tools have a header with at
least `FEN`, `Moves` and `Rating`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import zstandard

from searchless_rl.suites.compressed import open_bytes
from searchless_rl.suites.game_moves import HistoryOutcome
from searchless_rl.text import quoted

REQUIRED_COLUMNS = ("FEN", "Moves", "Rating")
ID_COLUMN = "PuzzleId"
#: The columns every export without a header row begins with.
POSITIONAL_COLUMNS = (
    *("PuzzleId", "FEN", "Moves", "Rating", "RatingDeviation"),
    *("Popularity", "NbPlays", "Themes", "GameUrl"),
)
POSITIONAL_WIDTHS = range(9, 12)
MAX_LINE_BYTES = 65_536
EXAMPLES_PER_REASON = 3


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
class RejectedRow:
    """A refused row: its line, counted from 1, and what is wrong with it."""

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
        """How many rows were refused."""
        return sum(self.rejected.values())

    @property
    def accepted(self) -> int:
        """How many rows were not refused."""
        return self.rows - self.rejected_total

    def reject(self, line: int, error: RowError) -> None:
        """Count a refused row; the first of each reason are kept as examples."""
        self.rejected[error.reason] = self.rejected.get(error.reason, 0) + 1
        examples = self.examples.setdefault(error.reason, [])
        if len(examples) < EXAMPLES_PER_REASON:
            examples.append(RejectedRow(line, error.detail))

    def count_history(self, puzzle_id: str, outcome: HistoryOutcome) -> None:
        """Count what became of the game moves of an accepted row."""
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
    if ID_COLUMN not in names and not {"FEN", "Moves"} <= set(names):
        if len(names) not in POSITIONAL_WIDTHS:
            raise PuzzleFileError(
                f"{path}: the first line is neither a header with FEN and Moves nor a row of 9 to 11 "
                f"columns: {quoted(','.join(names))}. This is not a Lichess puzzle file."
            )
        return None
    missing = [name for name in REQUIRED_COLUMNS if name not in names]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if missing or repeated:
        raise PuzzleFileError(
            f"{path}: header {quoted(','.join(names))} "
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
        raise RowError(RejectReason.QUOTED_FIELD, f"quotes are not part of this format: {quoted(text)}")
    fields = text.split(",")
    if len(fields) < widths.start:
        raise RowError(
            RejectReason.MISSING_FIELD, f"{len(fields)} columns, expected {widths.start}: {quoted(text)}"
        )
    if len(fields) >= widths.stop:
        raise RowError(
            RejectReason.EXTRA_FIELD, f"{len(fields)} columns, expected {widths.stop - 1}: {quoted(text)}"
        )
    return fields
