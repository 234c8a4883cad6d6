"""The stage `suites`: rows per second beside a bare validator, and peak memory by the size of the file.

    python benchmarks/suites.py [--rows 20000 100000]

The bare validator does with python-chess what any reader of the format must: read the FEN, check that the
position is valid, play the line. The stage reads, validates, splits, finds the winning sets and writes. Both
work on the same file, made of the bundled one: copies of its puzzles, each with another pawn on the board so
that no position occurs twice. Seconds are those of the processor, as each is one process that waits for
nothing.
A ratio is the stage over the validator; for memory, the file over the first.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import chess
from shared.rows import Row, describe_machine, keep

from searchless_rl.suites.puzzles import read_puzzles
from searchless_rl.suites.replay import play_line, read_board

ROOT = Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "data" / "lichess" / "torre_6605_2026.csv"
VALIDATED = 5000  # rows that the bare validator gets
_STAGE = """
import json, re, sys, time
from pathlib import Path
from searchless_rl.suites.build import build_suites
from searchless_rl.suites.split import SuiteSizes
begun = time.process_time()
build_suites(Path(sys.argv[1]), Path(sys.argv[2]), SuiteSizes(control_pool=1000, mate_cap=1000), 0)
seconds = time.process_time() - begun
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(json.dumps([seconds, int(peak[1]) / 1024]))
"""


def write_rows(path: Path, count: int) -> None:
    """A puzzle file of `count` valid rows with distinct positions; the same at every call."""
    puzzles = read_puzzles(BUNDLED)[0]
    source = random.Random(0)
    lines = ["PuzzleId,FEN,Moves,Rating,Themes,GameUrl"]
    seen: set[str] = set()
    while len(lines) <= count:
        for puzzle in puzzles:
            fen = _with_another_pawn(puzzle.fen, source)
            if fen is None or fen in seen or not _is_valid(fen, puzzle.moves):
                continue
            seen.add(fen)
            moves = " ".join(puzzle.moves)
            lines.append(
                f"{len(lines):05x},{fen},{moves},{puzzle.rating},{' '.join(puzzle.themes)},{puzzle.game_url}"
            )
    path.write_text("\n".join(lines[: count + 1]) + "\n", encoding="utf-8")


def _with_another_pawn(fen: str, source: random.Random) -> str | None:
    board = chess.Board(fen)
    square, white = source.randrange(8, 56), source.random() < 0.5
    if board.piece_at(square) or len(board.pieces(chess.PAWN, white)) == 8:
        return None
    board.set_piece_at(square, chess.Piece(chess.PAWN, white))
    return board.fen(en_passant="fen")


def _is_valid(fen: str, moves: tuple[str, ...]) -> bool:
    try:
        return not isinstance(play_line(read_board(fen), moves), int)
    except ValueError:
        return False


def validate(path: Path, count: int) -> int:
    """The bare validator on the first rows of a file; returns how many are valid."""
    valid = 0
    with path.open(encoding="utf-8") as stream:
        next(stream)
        for _, line in zip(range(count), stream, strict=False):
            _, fen, moves, *_ = line.split(",")
            board = chess.Board(fen)
            if not board.is_valid():
                continue
            for uci in moves.split():
                board.push(board.parse_uci(uci))
            valid += 1
    return valid


def measure(sizes: list[int], rounds: int) -> Iterator[Row]:
    """Speed and memory for files of some sizes, each the best of some rounds.

    Raises:
        SystemExit: the validator calls a row invalid.
    """
    first_peak = None
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"{size}.csv"
            write_rows(path, size)
            bare, stage, peaks = [], [], []
            checked = min(size, VALIDATED)
            for _ in range(rounds):
                begun = time.process_time()
                if validate(path, checked) != checked:
                    raise SystemExit("the bare validator refuses a row of the file")
                bare.append((time.process_time() - begun) / checked)
                command = [sys.executable, "-c", _STAGE, str(path), str(Path(folder) / "out")]
                seconds, peak = json.loads(subprocess.check_output(command))
                stage.append(seconds / size)
                peaks.append(peak)
            rate, validator = 1 / min(stage), 1 / min(bare)
            yield Row(
                "suites",
                f"whole stage beside a bare validator, {size} rows",
                rate,
                "rows/s",
                validator,
                rate / validator,
                "value >= 6000",
            )
            peak = min(peaks)
            first_peak = first_peak or peak
            yield Row(
                "suites",
                f"peak memory beside {sizes[0]} rows, {size} rows",
                peak,
                "MiB",
                first_peak,
                peak / first_peak,
                "ratio <= 1.5",
            )


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "suites.csv")
    arguments = parser.parse_args()
    keep(measure(arguments.rows, arguments.rounds), arguments.out, describe_machine(1))


if __name__ == "__main__":
    main()
