"""A puzzle, its row, and files of rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import zstandard

from searchless_rl.suites.puzzles import (
    Puzzle,
)

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "data" / "lichess" / "torre_6605_2026.csv"
SHARED = Path(os.environ.get("SEARCHLESS_SHARED", ROOT.parent / "shared"))

HEADER = "PuzzleId,FEN,Moves,Rating,Themes,GameUrl"
FEN = "r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24"
MOVES = "f2g3 e6e7 b2b1 b3c1 b1c1 h6c1"
URL = "https://lichess.org/787zsVup/black#48"
NINE = f"00008,{FEN},{MOVES},1811,76,95,18768,hangingPiece long,{URL}"
PUZZLE = Puzzle("00008", FEN, tuple(MOVES.split()), 1811, ("hangingPiece", "long"), URL)


def row(puzzle_id: str = "00008", **changes: str) -> str:
    fields = {"fen": FEN, "moves": MOVES, "rating": "1811", "themes": "hangingPiece long", "url": URL}
    fields |= changes
    return ",".join([puzzle_id, *fields.values()])


def write(path: Path, lines: Sequence[str | bytes], end: bytes = b"\n") -> Path:
    path.write_bytes(b"".join((line.encode() if isinstance(line, str) else line) + end for line in lines))
    return path


def skippable_frame(content: bytes) -> bytes:
    return b"\x50\x2a\x4d\x18" + len(content).to_bytes(4, "little") + content


def pzstd_like(blocks: Sequence[bytes], write_checksum: bool = False) -> bytes:
    """Several frames, each behind a skippable one, as the monthly export has them."""
    compressor = zstandard.ZstdCompressor(write_checksum=write_checksum)
    return b"".join(skippable_frame(b"size") + compressor.compress(block) for block in blocks)


def four_rows() -> list[bytes]:
    lines = BUNDLED.read_bytes().splitlines(keepends=True)
    return [lines[0] + lines[1], lines[2][:40], lines[2][40:] + lines[3], lines[4]]
