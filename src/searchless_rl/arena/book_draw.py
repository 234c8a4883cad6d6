"""A sample of openings from any EPD, FEN or PGN book, each with the moves known to have led to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from searchless_rl.arena.book_formats import open_book
from searchless_rl.arena.openings import Opening, OpeningError, final_position
from searchless_rl.arena.randomness import Stream, generator

_SHOWN = 3  # faults quoted in a message


@dataclass(frozen=True)
class Draw:
    """Openings drawn from a book.

    Attributes:
        openings: in the order drawn.
        entries: number of entries of the whole book.
        rejected: number of entries that were met and not taken, by reason: "invalid", "over", "repeated".
    """

    openings: list[Opening]
    entries: int
    rejected: Counter[str]


def draw_openings(book: Path, *, count: int, seed: int) -> Draw:
    """Draw openings from a book, uniformly and without repetition of a position.

    Entries are validated in the order drawn, until there are enough: playable over the whole line, not over
    by rule, not the bare start position; a position met before is left out.

    Args:
        book: see `book_formats.open_book`; ~ is the home folder.
        count: number of openings, at least 1.
        seed: of the draw; a smaller count gives the first openings of a larger one.

    Raises:
        OpeningError: the book has fewer good entries (counts by reason and examples given), or is no book.
        OSError: it cannot be read.
    """
    if count < 1:
        raise OpeningError(f"{count} openings wanted; allowed: 1, 2, ...")
    opened = open_book(book.expanduser())
    faults: list[str] = []
    rejected: Counter[str] = Counter()
    positions: set[str] = set()
    openings: list[Opening] = []
    for place in generator(Stream.OPENING_SAMPLE, seed).permutation(len(opened.entries)).tolist():
        number, text = opened.entries[place]
        try:
            opening = opened.parse(f"{opened.name}:{number}", text)
            position = final_position(opening)
        except OpeningError as error:
            rejected["invalid"] += 1
            faults.append(str(error))
            continue
        if position is None:
            rejected["over"] += 1
        elif position in positions:
            rejected["repeated"] += 1
        else:
            positions.add(position)
            openings.append(opening)
        if len(openings) == count:
            return Draw(openings, len(opened.entries), rejected)
    counts = ", ".join(f"{n} {reason}" for reason, n in sorted(rejected.items())) or "none rejected"
    examples = "".join(f"\n  {fault}" for fault in faults[:_SHOWN])
    raise OpeningError(
        f"{book}: {count} openings wanted, but only {len(openings)} of {len(opened.entries)} entries can be "
        f"used ({counts}); ask for fewer or take a larger book{examples}"
    )
