"""Figure 9: exclusive recoveries of each anchor, candidate moves with their verdicts (paper appendix H)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chess
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from searchless_rl.cells import Term
from searchless_rl.evaluation.candidates import COLUMNS, EXAMPLES, FORWARD, PLAYERS, REVERSE
from searchless_rl.reports.board import Arrow, draw_board
from searchless_rl.reports.formats import MISSING
from searchless_rl.reports.style import BASE_COLOUR, DOUBLE_WIDTH, TERM_COLOURS, use_style, write_figure
from searchless_rl.results.names import BASE

NO_ORACLE = "set stockfish.path"
_TERMS: dict[str, Term] = {FORWARD: "forward_kl", REVERSE: "reverse_kl"}
_NAMES = {FORWARD: "forward-KL prior", REVERSE: "reverse-KL anchor"}
_WINNING, _OTHER = "#b8257a", "#4d4d4d"
_HEADERS = ("move", "base", "fwd", "rev", "1−v", "oracle")
_STARTS = (0.0, 0.36, 0.51, 0.66, 0.80, 1.0)  # right ends of the columns, the first its left end


def read_candidates(path: Path) -> pd.DataFrame:
    """What the stage `recovery` wrote of the candidates; no rows where it is missing."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(COLUMNS))


def draw_figure9(candidates: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw and write Figure 9 (PDF, PNG, CSV) from the frame of `evaluation.candidates.judge_candidates`."""
    use_style()
    figure, grid = plt.subplots(
        EXAMPLES, 4, figsize=(DOUBLE_WIDTH, 5.6), layout="constrained", width_ratios=[1, 1.05, 1, 1.05]
    )
    for half, role in enumerate((FORWARD, REVERSE)):
        mine = candidates[candidates["recovered_by"] == role]
        puzzles = list(dict.fromkeys(mine["puzzle_id"]))
        for place in range(EXAMPLES):
            board, table = grid[place, 2 * half : 2 * half + 2]
            if place < len(puzzles):
                _panel(board, table, mine[mine["puzzle_id"] == puzzles[place]], role)
                continue
            board.axis("off")
            table.axis("off")
            if place == len(puzzles):
                _say_how_few(board, len(puzzles), role)
    figure.suptitle(
        f"Puzzles of the main suite that one anchor alone newly solves ({scale} scale). π and verdicts in %; "
        "1−v: base's value\nhead after the move. Pink: winning moves; arrow width: π of the base; "
        "underlined: a model's choice.",
        fontsize=7,
    )
    write_figure(figure, candidates, stem)
    plt.close(figure)


def _say_how_few(axis: Axes, count: int, role: str) -> None:
    found = ("no exclusive recovery", "only 1 exclusive recovery")
    text = found[count] if count < len(found) else f"only {count} exclusive recoveries"
    axis.text(
        0,
        0.6,
        f"The {_NAMES[role]} has\n{text}\nwhere the two part.",
        transform=axis.transAxes,
        fontsize=7,
        va="center",
    )


def _panel(board: Axes, table: Axes, rows: pd.DataFrame, role: str) -> None:
    first = rows.iloc[0]
    arrows = [
        Arrow(row["move"], _WINNING if row["winning"] else _OTHER, 0.8 + 3.0 * row[BASE])
        for _, row in rows.sort_values("winning", kind="stable").iterrows()
    ]
    draw_board(board, first["fen"], last_move=first["last_move"], arrows=arrows, piece_size=10)
    table.axis("off")
    solver = "White" if first["fen"].split()[1] == "w" else "Black"
    title = f"{first['puzzle_id']}, rated {first['rating']}, {solver} to move"
    table.text(0, 0.98, f"{_NAMES[role]} alone", color=TERM_COLOURS[_TERMS[role]], **_style(table, bold=True))
    table.text(0, 0.88, title, **_style(table))
    table.text(_STARTS[2], 0.79, "π", **_style(table, bold=True, align="right"))
    _line(table, 0.71, _HEADERS, bold=True)
    colours = {BASE: BASE_COLOUR, **{player: TERM_COLOURS[term] for player, term in _TERMS.items()}}
    chosen = {player: rows[player].idxmax() for player in PLAYERS}
    height = 0.71
    for index, row in rows.iterrows():
        height -= 0.095
        texts = [_san(row), *(f"{100 * row[player]:.1f}" for player in PLAYERS), f"{100 * row['value']:.0f}"]
        texts.append(MISSING if pd.isna(row["oracle"]) else f"{100 * row['oracle']:.0f}")
        _line(table, height, texts, colour=_WINNING if row["winning"] else _OTHER)
        for column, player in enumerate(PLAYERS, start=1):
            if chosen[player] == index:  # the player's own choice
                _underline(table, height, column, colours[player])
    if rows["oracle"].isna().all():
        table.text(1, height - 0.11, f"oracle: {NO_ORACLE}", **_style(table, align="right"))


def _san(row: pd.Series) -> str:
    return chess.Board(row["fen"]).san(chess.Move.from_uci(row["move"]))


def _style(axis: Axes, *, bold: bool = False, align: str = "left") -> dict[str, Any]:
    weight = "bold" if bold else "normal"
    return {"transform": axis.transAxes, "fontsize": 6, "ha": align, "va": "center", "weight": weight}


def _line(
    axis: Axes, height: float, texts: Sequence[str], *, colour: str = "black", bold: bool = False
) -> None:
    for column, (text, place) in enumerate(zip(texts, _STARTS, strict=True)):
        style = _style(axis, bold=bold, align="right" if column else "left")
        axis.text(place, height, text, color=colour, **style)


def _underline(axis: Axes, height: float, column: int, colour: tuple[float, float, float]) -> None:
    end = _STARTS[column]
    axis.plot([end - 0.12, end], [height - 0.042] * 2, color=colour, linewidth=1.2, transform=axis.transAxes)
