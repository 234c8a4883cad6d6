"""The positions of tests/data/positions."""

from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "data" / "positions"


def _rows(name: str) -> list[list[str]]:
    lines = (FOLDER / name).read_text().splitlines()
    return [[part.strip() for part in line.split(";")] for line in lines if not line.startswith("#")]


PERFT = [(fen, tuple(int(each.split()[1]) for each in counts)) for fen, *counts in _rows("perft.epd")]
"""FEN and the numbers of lines of 1, 2, ... plies."""
FENS = [fen for fen, _ in PERFT] + [fen for fen, _ in _rows("special.epd")]
