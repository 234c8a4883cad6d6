"""What the split needs to know of every puzzle of a file, in columns, and the rows themselves on disk.

A puzzle costs about 30 bytes of memory and each of its positions 16, whatever its row holds, so that a file
of millions of puzzles is split in the memory of its columns.
"""

from __future__ import annotations

import hashlib
import tempfile
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from searchless_rl.suites.puzzles import MADE_ID_LENGTH, CheckedPuzzle, Puzzle

_DIGEST_BYTES = 16
_SEPARATOR = "\t"  # no field of a puzzle holds one


@dataclass(frozen=True)
class Catalogue:
    """N puzzles, sorted by id; a puzzle's place 0..N-1 names it.

    Attributes:
        ids: bytes [N], ASCII.
        row: int64 [N], which in the order they were read.
        rating: int64 [N].
        mate_depth: int64 [N], solver moves of a line that ends in mate, else 0.
        positions: int64 [N], solver positions, at least 1.
        has_history: bool [N].
        first: int64 [N], where the puzzle's digests begin.
        digests: uint64 [M, 2], of the keys of all solver positions: equal where the positions are.
    """

    ids: np.ndarray
    row: np.ndarray
    rating: np.ndarray
    mate_depth: np.ndarray
    positions: np.ndarray
    has_history: np.ndarray
    first: np.ndarray
    digests: np.ndarray

    def __len__(self) -> int:
        return len(self.ids)

    @staticmethod
    def of(puzzles: Iterable[CheckedPuzzle]) -> Catalogue:
        """The catalogue of a stream of puzzles, of which none is kept."""
        ids, digests = bytearray(), bytearray()
        rating, depth, positions, history = array("H"), array("H"), array("H"), bytearray()
        for puzzle, line in puzzles:
            ids += puzzle.id.encode("ascii").ljust(MADE_ID_LENGTH, b"\0")
            rating.append(puzzle.rating)
            depth.append(puzzle.solver_move_count if line.ends_in_mate else 0)
            positions.append(len(line.keys))
            history.append(bool(puzzle.history))
            for key in line.keys:
                digests += hashlib.blake2b(key.encode(), digest_size=_DIGEST_BYTES).digest()
        names = np.frombuffer(bytes(ids), f"S{MADE_ID_LENGTH}")
        order = np.argsort(names, kind="stable")
        counts = np.array(positions, np.int64)
        return Catalogue(
            ids=names[order],
            row=order,
            rating=np.array(rating, np.int64)[order],
            mate_depth=np.array(depth, np.int64)[order],
            positions=counts[order],
            has_history=np.frombuffer(bytes(history), np.bool_)[order],
            first=(np.cumsum(counts) - counts)[order],
            digests=np.frombuffer(bytes(digests), np.uint64).reshape(-1, 2),
        )

    def id(self, place: int) -> str:
        """The id of the puzzle at a place."""
        return bytes(self.ids[place]).decode("ascii")

    def digests_of(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """uint64 [K, 2] digests of all solver positions of some puzzles, int64 [K] the place of each."""
        counts = self.positions[places]
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return self.digests[np.repeat(self.first[places], counts) + within], np.repeat(places, counts)


class RowStore:
    """Puzzles in a temporary file (in the folder that `TMPDIR` names), read back by number."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._offsets = array("Q")

    def __enter__(self) -> RowStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def keep(self, puzzles: Iterable[CheckedPuzzle]) -> Iterable[CheckedPuzzle]:
        """Pass puzzles on, each stored before."""
        end = 0
        for checked in puzzles:
            puzzle = checked.puzzle
            fields = (
                *(puzzle.id, puzzle.fen, " ".join(puzzle.moves), str(puzzle.rating)),
                *(" ".join(puzzle.themes), puzzle.game_url, " ".join(puzzle.history)),
            )
            line = _SEPARATOR.join(fields).encode() + b"\n"
            self._file.write(line)
            self._offsets.append(end)
            end += len(line)
            yield checked

    def read(self, row: int) -> Puzzle:
        """The puzzle that came as number `row`, 0 for the first."""
        self._file.seek(self._offsets[row])
        fields = self._file.readline().decode().removesuffix("\n").split(_SEPARATOR)
        puzzle_id, fen, moves, rating, themes, game_url, history = fields
        return Puzzle(
            puzzle_id,
            fen,
            tuple(moves.split()),
            int(rating),
            tuple(themes.split()),
            game_url,
            tuple(history.split()),
        )
