"""Opening books of other programs: FEN or EPD, a position a line, and PGN, a game each.

PGN is read here and not by python-chess's reader, which ends a game at any empty line, skips what it cannot
read and may fail on a damaged game: a book must not give a line that is in none of its games. Moves in
standard algebraic notation are python-chess's. Comments, variations, annotation glyphs and lines that begin
with % are skipped; whatever else is not understood makes the game invalid.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import chess
import chess.pgn
import zstandard

from searchless_rl.arena.openings import Opening, OpeningError, complete_fen
from searchless_rl.board import GameBatch
from searchless_rl.suites.compressed import open_bytes

MAX_BYTES = 2**29
"""Largest book, unpacked: 512 MiB, some 2 million games. Bounds memory where a file unpacks without end."""

# A comment without its brace ends before the next game's tags, so that it costs one game and not the book.
_COMMENT = r'\{(?P<comment>[^}\n]*(?:\n(?![ \t]*\n\[\w+\s+")[^}\n]*)*)(?P<closed>\}?)'
_PGN = re.compile(
    rf"{_COMMENT}|;[^\n]*|^%[^\n]*|^[ \t]*(?P<tags>\[[^\n]*)|(?<!\S)(?P<result>1-0|0-1|1/2-1/2|\*)(?!\S)",
    re.MULTILINE,
)
_TAG_NAME = r"\[\s*([A-Za-z0-9][\w+#=:-]*)"
_TAGS = re.compile(rf'{_TAG_NAME}\s+"((?:[^"\\]|\\.)*)"\s*\]\s*')
_LOOSE_TAG = re.compile(rf'{_TAG_NAME}\s+"(.*)"\s*\]\s*')  # with quotes in its value
_WORD = re.compile(r"[()]|[^\s()]+")
_MOVE_NUMBER = re.compile(r"([0-9]+)(?:\.+|…|$)")
_GLYPH = re.compile(r"\$[0-9]+|[!?]+|[±∓⩲⩱=∞□]|\+/?[-=]|[-=]/?\+|e\.p\.|\.+|…")


@dataclass(frozen=True)
class Book:
    """An opening book.

    Attributes:
        name: of its file, without endings.
        entries: number (of the line, or of the game) and text of each entry, not yet read.
        parse: reads an entry, given the opening's name and the text; raises `OpeningError`.
    """

    name: str
    entries: list[tuple[int, str]]
    parse: Callable[[str, str], Opening]


def open_book(path: Path) -> Book:
    """Open a book, PGN where the name ends in .pgn (in any case) and FEN or EPD otherwise.

    It may be packed as gzip or Zstandard. Empty lines and lines that begin with # are no positions.

    Raises:
        OpeningError: damaged, a zip archive, or larger than `MAX_BYTES`.
        OSError: it cannot be read.
    """
    try:
        with open_bytes(path) as stream:
            content = stream.read(MAX_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise OpeningError(f"{path}: damaged or cut off ({error}); get the file again") from error
    if len(content) > MAX_BYTES:
        raise OpeningError(f"{path}: more than {MAX_BYTES >> 20} MiB unpacked; take a part of the book")
    if content[:4] == b"PK\x03\x04":
        raise OpeningError(f"{path}: a zip archive; unzip it first")
    text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    plain = Path(re.sub(r"\.(gz|zst)$", "", path.name, flags=re.IGNORECASE))
    if plain.suffix.lower() == ".pgn":
        return Book(plain.stem, list(enumerate(_games(text), start=1)), _parse_game)
    return Book(plain.stem, list(_lines(text)), _parse_position)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _parse_position(name: str, line: str) -> Opening:
    try:
        return Opening(name, complete_fen(line))
    except OpeningError as error:
        raise OpeningError(f"opening {name}: {error}") from error


def _games(text: str) -> Iterator[str]:
    """The texts of a PGN file's games. A game ends with its result, or where the tags of another begin."""
    begin, end, has_moves, names = 0, 0, False, set[str]()
    for token in _PGN.finditer(text):
        has_moves = has_moves or not _is_blank(text, end, token.start())
        end = token.end()
        tags, is_result = token["tags"], token["result"] is not None
        found = {tag[0] for tag in _read_tags(tags) or ()} if tags else set[str]()
        if tags and (has_moves or found & names):
            yield text[begin : token.start()]
            begin, has_moves, names = token.start(), False, set()
        names |= found
        if is_result:
            if has_moves or names:
                yield text[begin:end]
            begin, has_moves, names = end, False, set()
    if has_moves or names or not _is_blank(text, end, len(text)):
        yield text[begin:]


def _is_blank(text: str, begin: int, end: int) -> bool:
    return not text[begin:end].strip()


def _read_tags(line: str) -> list[tuple[str, str]] | None:
    """Names and values of the tags of a line; None where it is no line of tags."""
    tags, place = [], 0
    while found := _TAGS.match(line, place):
        tags.append((found[1], found[2]))
        place = found.end()
    if tags and place == len(line):
        return tags
    loose = _LOOSE_TAG.fullmatch(line)
    return None if loose is None else [(loose[1], loose[2])]


def _parse_game(name: str, text: str) -> Opening:
    """The main line of one game's text.

    Raises:
        OpeningError: no moves and no position, damaged or cut, an illegal move, or a variant of chess.
    """
    try:
        tags, movetext = _take_apart(text)
        fen = _first_position(tags)
        GameBatch([fen])  # refuses a position that no game can start from
        moves = tuple(_main_line(movetext, fen))
        if fen is None and not moves:
            raise OpeningError("a game without moves and without a position")
    except ValueError as error:
        raise OpeningError(f"opening {name}: {error}") from error
    return Opening(name, fen, moves)


def _take_apart(text: str) -> tuple[dict[str, str], str]:
    """Tags, and the text of the moves without comments."""
    tags: dict[str, str] = {}
    parts, end = [], 0
    for token in _PGN.finditer(text):
        parts.append(text[end : token.start()])
        end = token.end()
        if token["comment"] is not None and not token["closed"]:
            raise OpeningError(f"a comment without end: {token[0][:60]!r}")
        if token["tags"]:
            found = _read_tags(token["tags"])
            if found is None:
                raise OpeningError(f"a damaged tag: {token['tags'][:60]!r}")
            tags.update(found)
    return tags, " ".join([*parts, text[end:]])


def _first_position(tags: dict[str, str]) -> str | None:
    headers = chess.pgn.Headers({name: tags[name] for name in ("Variant",) if name in tags})
    if headers.variant() is not chess.Board or headers.is_chess960():
        raise OpeningError(f"a variant of chess ({tags['Variant']})")
    if "FEN" in tags:
        return complete_fen(tags["FEN"])
    if tags.get("SetUp") == "1":
        raise OpeningError("the tag SetUp announces a position, but there is no tag FEN")
    return None


def _main_line(movetext: str, fen: str | None) -> Iterator[str]:
    """UCI moves. Move numbers are held against the game where it begins at the standard start position."""
    board, depth = chess.Board(fen or chess.STARTING_FEN), 0
    for word in _WORD.findall(movetext):
        if word in "()":
            depth += 1 if word == "(" else -1
            if depth < 0:
                raise OpeningError("a variation ends that did not begin")
            continue
        if depth:
            continue
        if number := _MOVE_NUMBER.match(word):
            if fen is None and int(number[1]) != board.fullmove_number:
                raise OpeningError(f"move number {number[1]} in place of {board.fullmove_number}")
            word = word[number.end() :]
        if not word or _GLYPH.fullmatch(word):
            continue
        move = board.parse_san(word.rstrip("!?"))
        if not move:
            raise OpeningError(f"{word} is no move")
        board.push(move)
        yield move.uci()
    if depth:
        raise OpeningError("a variation without end")
