"""The stage `openings`: where the games of every arena begin."""

from __future__ import annotations

from pathlib import Path

from searchless_rl.arena.book import make_book
from searchless_rl.arena.book_draw import draw_openings
from searchless_rl.arena.openings import write_openings


def prepare_openings(
    base: Path, out: Path, *, book: Path | None, count: int, seed: int, batch_size: int
) -> None:
    """Write the openings of every arena as `arena.openings.write_openings` does.

    Args:
        base: network that makes a book where none is given.
        out: the file.
        book: openings to draw from (EPD, FEN or PGN, packed or not), or None.
        count: how many, >= 1.
        seed: of the draw, or of the book that is made.
        batch_size: positions per forward pass.

    Raises:
        OpeningError: `book` is not readable or has too few openings.
    """
    if book is None:
        make_book(base, out, count=count, seed=seed, batch_size=batch_size)
    else:
        write_openings(out, draw_openings(book, count=count, seed=seed).openings)
