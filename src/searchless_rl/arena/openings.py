"""Openings: where games start, checked move by move, and the file that holds them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import chess

from searchless_rl.board import GameBatch
from searchless_rl.files import write_atomically

COLUMNS = ("id", "fen", "moves")
_START = chess.Board().epd()
# Four fields, perhaps both counters, then operations.
_POSITION = re.compile(r"\s*(\S+\s+\S+\s+\S+\s+[^\s;]+)(?:\s+([0-9]+)\s+([0-9]+)(?![^\s;]))?(.*)", re.DOTALL)
_OPERAND = re.compile(r'"[^"]*"?|;|[^\s;"]+')
_COUNTERS = {"hmvc": 0, "fmvn": 1}
"""EPD operations that are part of the position (half-move clock, move number), and their defaults."""


class OpeningError(ValueError):
    """A book or an opening that cannot be played from."""


@dataclass(frozen=True)
class Opening:
    """Where a game starts.

    Attributes:
        id: its name in results, different from that of every other opening.
        fen: first known position, None for the standard start position.
        moves: UCI moves from there, castling as e1g1: the networks' real history. Play starts after them.
    """

    id: str
    fen: str | None
    moves: tuple[str, ...] = ()

    @property
    def plies(self) -> int:
        """Plies from the standard start position to where play starts (the FEN's counter is believed)."""
        return first_ply(self.fen) + len(self.moves)


def first_ply(fen: str | None) -> int:
    """Plies played before a position, by its move counter; 0 for the standard start position (None)."""
    fields = (fen or chess.STARTING_FEN).split()
    return 2 * max(int(fields[5]) - 1, 0) + (fields[1] == "b")


def complete_fen(text: str) -> str | None:
    """The six fields of a FEN or EPD line; None for the standard start position.

    Half-move clock and move number stand in fields five and six, or in EPD's operations hmvc and fmvn;
    without either they are 0 and 1. All other operations are skipped. The position itself is not checked.

    Raises:
        OpeningError: fewer than four fields, or counters that cannot be read or contradict each other.
    """
    found = _POSITION.fullmatch(text)
    if found is None:
        raise OpeningError(f"neither FEN nor EPD: {_cut(text)}")
    position, clock, number, operations = found.groups()
    stated = {} if clock is None else {"hmvc": int(clock), "fmvn": int(number)}
    for name, value in _counters(operations, text).items():
        if stated.setdefault(name, value) != value:
            raise OpeningError(f"{name} {value} contradicts the counter {stated[name]}: {_cut(text)}")
    counters = _COUNTERS | stated
    fen = f"{' '.join(position.split())} {counters['hmvc']} {max(counters['fmvn'], 1)}"
    return None if fen == chess.STARTING_FEN else fen


def _counters(operations: str, line: str) -> dict[str, int]:
    """Values of hmvc and fmvn among a line's EPD operations."""
    found: dict[str, int] = {}
    words: list[str] = []
    for word in [*_OPERAND.findall(operations), ";"]:
        if word != ";":
            words.append(word)
            continue
        if words and words[0][0].isdigit():
            raise OpeningError(f"{words[0]!r} is neither both counters nor an operation: {_cut(line)}")
        if words and words[0] in _COUNTERS:
            name, *operands = words
            if len(operands) != 1 or not re.fullmatch("[0-9]+", operands[0]) or name in found:
                raise OpeningError(f"{name} takes one number and ends with a semicolon: {_cut(line)}")
            found[name] = int(operands[0])
        words = []
    return found


def _cut(text: str) -> str:
    return repr(text.strip()[:100])


def final_position(opening: Opening) -> str | None:
    """The last position of an opening as EPD: board, side, castling rights, en-passant square if legal.

    None where the game is over by rule there, or was before: a line that goes on after a draw is no game.

    Raises:
        OpeningError: no game can start from the FEN, a move is not legal or not written as `Opening` says, or
            the opening is the bare start position (the opening named).
    """
    try:
        game = GameBatch([opening.fen])
        for uci in opening.moves:
            if game.over[0]:
                return None
            name = game.uci(0, game.index(0, uci))
            if name != uci:
                raise OpeningError(f"move {uci} must be written {name}")
            game.play([[uci]])
    except ValueError as error:
        raise OpeningError(f"opening {opening.id}: {error}") from error
    if game.over[0]:
        return None
    position = chess.Board(game.board_fen(0)).epd(en_passant="legal")
    if not opening.moves and position == _START:
        raise OpeningError(f"opening {opening.id}: the bare start position; give moves or another position")
    return position


def write_openings(path: Path, openings: Sequence[Opening]) -> None:
    """Write openings as CSV: id, fen (empty for the standard start position), moves (UCI, blanks between)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((each.id, each.fen or "", " ".join(each.moves)) for each in openings)
    write_atomically(path, text.getvalue())


def read_openings(path: Path) -> list[Opening]:
    """Read the file of `write_openings`, every opening checked.

    Raises:
        OpeningError: not such a file, or an opening that is invalid, over or repeated (line and fault named).
    """
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            reader = csv.reader(stream)
            header = next(reader, [])
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise OpeningError(f"{path}: not readable as a file of openings ({error})") from error
    if tuple(header) != COLUMNS:
        raise OpeningError(f"{path}: the first line must be {','.join(COLUMNS)}; draw the openings again")
    openings, ids, positions = [], set[str](), set[str]()
    for line, row in rows:
        try:
            opening = _read_row(row)
            position = final_position(opening)
        except OpeningError as error:
            raise OpeningError(f"{path}, line {line}: {error}") from error
        if position is None or position in positions or opening.id in ids:
            fault = "is over by rule" if position is None else "was on an earlier line"
            raise OpeningError(f"{path}, line {line}: opening {opening.id} {fault}; draw the openings again")
        ids.add(opening.id)
        positions.add(position)
        openings.append(opening)
    return openings


def _read_row(row: Sequence[str]) -> Opening:
    if len(row) != len(COLUMNS):
        raise OpeningError(f"{len(row)} fields instead of {len(COLUMNS)}")
    name, fen, moves = row
    if not name or not name.isprintable():
        raise OpeningError(f"the id {name!r} is empty or not printable")
    try:
        return Opening(name, complete_fen(fen) if fen else None, tuple(moves.split()))
    except OpeningError as error:
        raise OpeningError(f"opening {name}: {error}") from error
