"""Figure 9: exclusive recoveries of each anchor, candidate moves with their verdicts (paper appendix H)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import chess
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from searchless_rl.cells import Term
from searchless_rl.evaluation.names import CANDIDATE_COLUMNS, EXAMPLES, FORWARD, PLAYERS, REVERSE
from searchless_rl.figures.board import Arrow, draw_board
from searchless_rl.figures.style import BASE_COLOUR, DOUBLE_WIDTH, TERM_COLOURS, use_style, write_figure
from searchless_rl.reports.formats import MISSING
from searchless_rl.results.names import BASE

_TERMS: dict[str, Term] = {FORWARD: "forward_kl", REVERSE: "reverse_kl"}
_NAMES = {FORWARD: "forward-KL prior", REVERSE: "reverse-KL anchor"}
_COLOURS = {BASE: BASE_COLOUR, **{player: TERM_COLOURS[term] for player, term in _TERMS.items()}}
_WINNING, _OTHER, _OTHER_ARROW = "#b8257a", "#4d4d4d", "#9a9a9a"

# Inches.
_HEADING, _ROW, _BOARD, _MARGIN = 0.62, 1.46, 1.08, 0.16
_TABLE = _MARGIN + _BOARD + 0.08  # left edge of the table in a half of the page
_LINE = 0.135


class _Column(NamedTuple):
    """Header and right end (the first one's left end), inches from the table's left edge."""

    header: str
    place: float


_COLUMNS = {
    "move": _Column("move", 0.0),
    "rank": _Column("rank", 0.74),
    BASE: _Column("base", 1.03),
    FORWARD: _Column("fwd", 1.29),
    REVERSE: _Column("rev", 1.55),
    "value": _Column("1−v", 1.86),
}
_ORACLE = {"oracle": _Column("SF", 2.1)}


def read_candidates(path: Path) -> pd.DataFrame:
    """What the stage `recovery` wrote of the candidates; no rows where it is missing."""
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=list(CANDIDATE_COLUMNS))


def draw_figure9(candidates: pd.DataFrame, stem: Path, scale: str) -> None:
    """Draw and write Figure 9 (PDF, PNG, CSV) from the frame of `evaluation.candidates.judge_candidates`.

    The oracle's column appears where an oracle was asked.
    """
    use_style()
    figure = plt.figure(figsize=(DOUBLE_WIDTH, _HEADING + EXAMPLES * _ROW))
    has_oracle = bool(candidates["oracle"].notna().any())
    figure.text(0.5, 0.995, _heading(scale, has_oracle), fontsize=7, ha="center", va="top")
    for half, role in enumerate((FORWARD, REVERSE)):
        mine = candidates[candidates["recovered_by"] == role]
        where = (half / 2 + _MARGIN / DOUBLE_WIDTH, 1 - (_HEADING - 0.08) / figure.get_figheight())
        figure.text(*where, f"The {_NAMES[role]} alone", color=_COLOURS[role], **_style(weight="bold"))
        puzzles = list(dict.fromkeys(mine["puzzle_id"]))[:EXAMPLES]
        for place, puzzle in enumerate(puzzles):
            rows = mine[mine["puzzle_id"] == puzzle]
            _draw_example(figure, half, place, rows, _COLUMNS | (_ORACLE if has_oracle else {}))
        if len(puzzles) < EXAMPLES:
            text = _how_few(len(puzzles), role)
            _area(figure, half, len(puzzles)).text(_MARGIN, _ROW / 2, text, fontsize=7, va="center")
    write_figure(figure, candidates, stem)
    plt.close(figure)


def _heading(scale: str, has_oracle: bool) -> str:
    oracle = ", SF: Stockfish's" if has_oracle else ""
    return (
        f"Puzzles of the main suite that one anchor alone newly solves ({scale} scale). Rank, arrow width: "
        "π of\nthe base. π and verdicts in %; 1−v: the base's value head after the move (mate, draw: by the "
        f"rules){oracle}.\nPink, bold: winning moves; underlined: a model's choice."
    )


def _how_few(count: int, role: str) -> str:
    found = ("no exclusive recovery", "only 1 exclusive recovery")
    text = found[count] if count < len(found) else f"only {count} exclusive recoveries"
    return f"The {_NAMES[role]} has {text} where the two part."


def _area(figure: Figure, half: int, place: int) -> Axes:
    """A half of a row, in inches from its lower left corner."""
    height = _HEADING + EXAMPLES * _ROW
    low = height - _HEADING - (place + 1) * _ROW
    width = DOUBLE_WIDTH / 2
    axes = figure.add_axes((half / 2, low / height, 0.5, _ROW / height), xlim=(0, width), ylim=(0, _ROW))
    axes.axis("off")
    return axes


def _draw_example(
    figure: Figure, half: int, place: int, rows: pd.DataFrame, columns: dict[str, _Column]
) -> None:
    area = _area(figure, half, place)
    first = rows.iloc[0]
    arrows = [
        Arrow(row["move"], _WINNING if row["winning"] else _OTHER_ARROW, 0.8 + 2.4 * row[BASE])
        for _, row in rows.sort_values("winning", kind="stable").iterrows()
    ]
    board = area.inset_axes((_MARGIN, 0.16, _BOARD, _BOARD), transform=area.transData)
    draw_board(board, first["fen"], last_move=first["last_move"], arrows=arrows, piece_size=8.5)
    solver = "White" if first["fen"].split()[1] == "w" else "Black"
    title = f"{first['puzzle_id']}, rated {first['rating']}, {solver} to move"
    area.text(_MARGIN, _ROW - 0.12, title, **_style())
    _draw_table(area, rows, columns)


def _draw_table(area: Axes, rows: pd.DataFrame, columns: dict[str, _Column]) -> None:
    """The candidates, a line each, level with the board's middle."""
    y = 0.16 + _BOARD / 2 + _LINE * (len(rows) + 1) / 2
    area.text(_TABLE + columns[FORWARD].place, y, "π", **_style("right", "bold"))
    y -= _LINE
    _write_line(area, y, columns, (column.header for column in columns.values()), weight="bold")
    choices = {player: rows[player].idxmax() for player in PLAYERS}
    for index, row in rows.iterrows():
        y -= _LINE
        look = {"colour": _WINNING, "weight": "bold"} if row["winning"] else {"colour": _OTHER}
        _write_line(area, y, columns, (_text(row, name) for name in columns), **look)
        for player, choice in choices.items():
            if choice == index:
                end = _TABLE + columns[player].place
                area.plot([end - 0.22, end], [y - 0.06] * 2, color=_COLOURS[player], linewidth=1.2)


def _text(row: pd.Series, column: str) -> str:
    """An entry of the table: the move with its number, its rank, a policy or a verdict in percent."""
    if column == "move":
        board = chess.Board(row["fen"])
        dots = "." if board.turn == chess.WHITE else "…"
        return f"{board.fullmove_number}{dots}{board.san(chess.Move.from_uci(row['move']))}"
    if column == "rank":
        return str(row["rank"])
    if column == "value" and row["by_rule"]:
        return "mate" if row["value"] == 1 else "draw"
    if pd.isna(row[column]):
        return MISSING
    return f"{100 * row[column]:.{1 if column in PLAYERS else 0}f}"


def _style(align: str = "left", weight: str = "normal") -> dict[str, Any]:
    return {"fontsize": 7, "ha": align, "va": "center", "weight": weight}


def _write_line(
    area: Axes,
    y: float,
    columns: dict[str, _Column],
    texts: Iterable[str],
    *,
    colour: str = "black",
    weight: str = "normal",
) -> None:
    for (name, column), text in zip(columns.items(), texts, strict=True):
        style = _style("left" if name == "move" else "right", weight)
        area.text(_TABLE + column.place, y, text, color=colour, **style)
