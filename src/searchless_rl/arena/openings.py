"""Openings: a sample of any EPD, FEN or PGN book, each with the moves that are known to have led to it."""

from __future__ import annotations

import csv
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chess
import chess.pgn
import zstandard

from searchless_rl.arena.randomness import Stream, generator
from searchless_rl.board import GameBatch, PositionError
from searchless_rl.files import write_atomically
from searchless_rl.suites.compressed import open_bytes

COLUMNS = ("id", "fen", "moves")
_SHOWN = 3  # faults quoted in a message


class OpeningError(ValueError):
    """A book or an opening that cannot be played from."""


@dataclass(frozen=True)
class Opening:
    """Where a game starts.

    Attributes:
        id: told apart by it in results.
        fen: first known position, None for the standard start position.
        moves: UCI moves from there, the networks' real history; play starts after them.
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


@dataclass(frozen=True)
class Draw:
    """Openings drawn from a book.

    Attributes:
        openings: in the order drawn.
        entries: of the whole book.
        rejected: entries met on the way that were not taken, by reason.
    """

    openings: list[Opening]
    entries: int
    rejected: Counter[str]


def draw_openings(book: Path, *, count: int, seed: int) -> Draw:
    """Draw openings from a book, uniformly and without repetition of a position.

    Entries are validated in the order drawn, until there are enough: playable and not over by rule; a
    position met before is left out. Files ending in .pgn are games, each with its moves as history; any other
    holds a FEN or EPD a line (4 or 6 fields; EPD operations are skipped, so are empty lines and # comments).
    Files may be packed as gzip or Zstandard.

    Raises:
        OpeningError: the book has fewer good entries (counts by reason and examples given).
        OSError: it cannot be read.
    """
    if count < 1:
        raise OpeningError(f"{count} openings wanted; allowed: 1, 2, ...")
    plain = Path(book.name.removesuffix(".gz").removesuffix(".zst"))
    entries, parse = _open_book(book, is_pgn=plain.suffix == ".pgn")
    faults: list[str] = []
    rejected: Counter[str] = Counter()
    seen: set[str] = set()
    openings: list[Opening] = []
    for place in generator(Stream.OPENING_SAMPLE, seed).permutation(len(entries)).tolist():
        number, text = entries[place]
        name = f"{plain.stem}:{number}"
        try:
            opening = parse(name, text)
            key = final_position(opening)
        except OpeningError as error:
            rejected["invalid"] += 1
            faults.append(str(error))
            continue
        if key is None:
            rejected["over"] += 1
        elif key in seen:
            rejected["repeated"] += 1
        else:
            seen.add(key)
            openings.append(opening)
        if len(openings) == count:
            return Draw(openings, len(entries), rejected)
    counts = ", ".join(f"{n} {reason}" for reason, n in sorted(rejected.items())) or "none rejected"
    examples = "".join(f"\n  {fault}" for fault in faults[:_SHOWN])
    raise OpeningError(
        f"{book}: {count} openings wanted, but only {len(openings)} of {len(entries)} entries can be used "
        f"({counts}); ask for fewer or take a larger book{examples}"
    )


def final_position(opening: Opening) -> str | None:
    """What tells an opening's last position from others: board, side, castling rights, legal en passant.

    None where the game is already over by rule.

    Raises:
        OpeningError: no game can start from the FEN, or a move is not legal (the opening named).
    """
    try:
        game = GameBatch([opening.fen])
        game.play([opening.moves])
    except (PositionError, ValueError) as error:
        raise OpeningError(f"opening {opening.id}: {error}") from error
    if game.over[0]:
        return None
    return chess.Board(game.board_fen(0)).epd(en_passant="legal")


def write_openings(path: Path, openings: Sequence[Opening]) -> None:
    """Write openings as CSV: id, fen (empty for the standard start position), moves (UCI, blanks between)."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((each.id, each.fen or "", " ".join(each.moves)) for each in openings)
    write_atomically(path, text.getvalue())


def read_openings(path: Path) -> list[Opening]:
    """Read `write_openings` back, every opening checked.

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
        if len(row) != len(COLUMNS):
            raise OpeningError(f"{path}, line {line}: {len(row)} fields instead of {len(COLUMNS)}")
        if not row[0] or not row[0].isprintable():
            raise OpeningError(f"{path}, line {line}: the id {row[0]!r} is empty or not printable")
        opening = Opening(row[0], _whole_fen(row[1] or chess.STARTING_FEN), tuple(row[2].split()))
        try:
            key = final_position(opening)
        except OpeningError as error:
            raise OpeningError(f"{path}, line {line}: {error}") from error
        if key is None or key in positions or opening.id in ids:
            fault = "is over by rule" if key is None else "was on an earlier line"
            raise OpeningError(f"{path}, line {line}: opening {opening.id} {fault}; draw the openings again")
        ids.add(opening.id)
        positions.add(key)
        openings.append(opening)
    return openings


_Entries = list[tuple[int, str]]  # the number of a line or game, and its text


def _open_book(book: Path, *, is_pgn: bool) -> tuple[_Entries, Callable[[str, str], Opening]]:
    try:
        with open_bytes(book) as stream:
            content = stream.read()
    except (EOFError, zlib.error, zstandard.ZstdError) as error:
        raise OpeningError(f"{book}: damaged or cut off ({error})") from error
    if content[:4] == b"PK\x03\x04":
        raise OpeningError(f"{book}: a zip archive; unzip it first")
    text = content.decode("utf-8-sig", errors="replace")
    entries: Any = _games(text) if is_pgn else _lines(text)
    return list(entries), _parse_game if is_pgn else _parse_position


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _games(text: str) -> Iterator[tuple[int, str]]:
    """The texts of the games of a PGN file; only those that are drawn are parsed."""
    stream = io.StringIO(text)
    number, begin = 0, 0
    while chess.pgn.skip_game(stream):
        number, end = number + 1, stream.tell()
        yield number, text[begin:end]
        begin = end


def _parse_position(name: str, line: str) -> Opening:
    if len(line.split()) < 4:
        raise OpeningError(f"opening {name}: neither FEN nor EPD: {line.strip()[:100]!r}")
    return Opening(name, _whole_fen(line))


def _whole_fen(text: str) -> str | None:
    """Six fields from FEN or EPD, without EPD's operations; None for the standard start position."""
    fields = text.split()
    has_counters = len(fields) >= 6 and fields[4].isdecimal() and fields[5].isdecimal()
    fen = " ".join(fields[:4] + (fields[4:6] if has_counters else ["0", "1"]))
    return None if fen == chess.STARTING_FEN else fen


def _parse_game(name: str, text: str) -> Opening:
    game = chess.pgn.read_game(io.StringIO(text))
    if game is None or game.errors:
        fault = game.errors[0] if game is not None else "no game"
        raise OpeningError(f"opening {name}: {fault}")
    if type(game.board()) is not chess.Board or game.board().chess960:
        raise OpeningError(f"opening {name}: a variant of chess ({game.headers.get('Variant')})")
    moves = tuple(move.uci() for move in game.mainline_moves())
    return Opening(name, _whole_fen(game.headers.get("FEN", chess.STARTING_FEN)), moves)
