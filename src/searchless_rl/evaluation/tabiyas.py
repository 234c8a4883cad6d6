"""The positions at which trajectory coverage is measured: the start and the tabiyas (paper appendix H)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import chess

START = "start"
COLUMNS = ("name", "eco", "plies", "uci", "fen")


@dataclass(frozen=True)
class Tabiya:
    """A position with the moves that reach it from the standard start position.

    Attributes:
        name: as in the file; `START` for the start position.
        moves: UCI.
    """

    name: str
    moves: tuple[str, ...]


def read_tabiyas(path: Path) -> list[Tabiya]:
    """The start position, then the file's tabiyas in order, each one replayed.

    Args:
        path: CSV with the columns `COLUMNS`; uci holds the moves separated by blanks, fen what they reach.

    Raises:
        OSError: the file cannot be read.
        ValueError: other columns, a repeated name, an illegal move, or moves that do not reach the FEN
            (file, line and what was expected named).
    """
    tabiyas = [Tabiya(START, ())]
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(
                f"{path}: columns {', '.join(reader.fieldnames or ())}; expected {', '.join(COLUMNS)}"
            )
        for row in reader:
            try:
                tabiya = _read_row(row)
                if tabiya.name in {earlier.name for earlier in tabiyas}:
                    raise ValueError("the name is taken; names must differ")
            except ValueError as error:
                raise ValueError(f"{path}, line {reader.line_num}, {row['name']}: {error}") from error
            tabiyas.append(tabiya)
    return tabiyas


def _read_row(row: dict[str, str]) -> Tabiya:
    if None in row or None in row.values():
        raise ValueError(f"the row does not have {len(COLUMNS)} fields")
    moves = tuple(row["uci"].split())
    if row["plies"] != str(len(moves)):
        raise ValueError(f"plies is {row['plies']} and uci has {len(moves)} moves")
    board = chess.Board()
    for uci in moves:
        board.push_uci(uci)  # its error names the move and the position
    if board.fen() != chess.Board(row["fen"]).fen():
        raise ValueError(f"the moves reach {board.fen()}, not {row['fen']}")
    return Tabiya(row["name"], moves)
