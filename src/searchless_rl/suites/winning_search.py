"""The table of winning sets: every mate of a puzzle file searched by an engine, once, for all who have none.

A mate score of an engine is a proof: every defence was searched and mated. A missing one proves nothing, as
the search is limited: such a move is left out of the sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm

from searchless_rl.files import sha256_of, write_json
from searchless_rl.suites.engine_search import Analyses, analyse_positions
from searchless_rl.suites.puzzles import Puzzle, mate_depth, read_puzzles, solver_positions
from searchless_rl.suites.uci_engine import EngineLines, EngineSettings
from searchless_rl.suites.winning import WinningRow, winning_sets, write_winning_table


class _Position(NamedTuple):
    """A solver position of a mate puzzle: at most `remaining` solver moves from the mate."""

    fen: str
    remaining: int
    by_rule: tuple[str, ...]  # the marked move, then the mates in one


def make_winning_sets(source: Path, out: Path, *, engine: Path, nodes: int, workers: int) -> dict[str, Any]:
    """Search the winning sets of every puzzle of `source` that ends in mate and write them to `out`.

    The optimal moves of a position with N solver moves to the mate are the marked one and every one with a
    mate in at most N: by the rules where N = 1, else by the engine. MultiPV is raised until a line without
    a mate is seen, so the moves with a mate of any length are known too. Beside `out`, a JSON file of the
    same name says how it was made. Same source, engine version and nodes give the same bytes, whatever
    the number of workers.

    The engine runs at low priority. Answers are kept in `out`.part.jsonl, from which a run that was killed
    goes on; it is removed when no position is without an answer. Puzzles with such a position are left out.

    Args:
        source: a puzzle file.
        out: the CSV to write, columns `winning.TABLE_COLUMNS`.
        engine: a UCI engine program.
        nodes: searched per question.
        workers: engines at a time.

    Returns:
        What the JSON file holds.

    Raises:
        RuntimeError: the engine gave no answer at all.
        PuzzleFileError, OSError, ValueError: `source` or the kept answers cannot be used.
    """
    source, out = source.expanduser(), out.expanduser()
    puzzles = [puzzle for puzzle in read_puzzles(source)[0] if mate_depth(puzzle) is not None]
    positions = {puzzle.id: _positions(puzzle) for puzzle in puzzles}
    fens = sorted({position.fen for group in positions.values() for position in group})
    settings = EngineSettings(engine, nodes)
    log = out.with_name(out.name + ".part.jsonl")
    found = _search(fens, settings, log, workers)
    if len(found.void) == len(fens) > 0:
        raise RuntimeError(f"no position of {source} could be searched: {next(iter(found.void.values()))}")
    mates = {
        fen: None if answers is None else _mates(answers)
        for fen, answers in zip(fens, found.rows, strict=True)
    }
    rows = {id_: row for id_, group in positions.items() if (row := _row(group, mates)) is not None}
    write_winning_table(out, rows)
    report = {
        "source": {"name": source.name, "sha256": sha256_of(source)},
        "table_sha256": sha256_of(out),
        "engine": found.version,
        "nodes": nodes,
        "hash_mb": settings.hash_mb,
        "first_multipv": settings.multipv,
        "puzzles": len(rows),
        "puzzles_left_out": sorted(positions.keys() - rows.keys()),
        "positions": len(fens),
        "positions_without_answer": len(found.void),
        "by_moves_to_mate": _summary(positions, rows, mates),
    }
    write_json(out.with_suffix(".json"), report)
    if not found.void:
        log.unlink()
    return report


def _search(fens: Sequence[str], settings: EngineSettings, log: Path, workers: int) -> Analyses:
    """The engine's answers, with enough lines to see all mates."""
    with tqdm(total=len(fens), desc="positions", disable=None) as bar:
        return analyse_positions(
            fens,
            settings,
            log,
            workers=workers,
            enough=lambda lines: any(line.mates_in is None for line in lines),
            advance=bar.update,
        )


def _positions(puzzle: Puzzle) -> list[_Position]:
    by_rule = winning_sets(puzzle)
    return [
        _Position(board.fen(), puzzle.solver_move_count - turn, by_rule[turn])
        for turn, (board, _) in enumerate(solver_positions(puzzle))
    ]


def _mates(answers: Sequence[EngineLines]) -> dict[str, int]:
    """Move -> the least number of moves it was shown to mate in, over all questions put about a position.

    More lines at the same nodes mean a shallower search, so a later answer may miss what an earlier one saw.
    """
    mates: dict[str, int] = {}
    for line in (line for lines in answers for line in lines):
        if line.mates_in is not None:
            mates[line.move] = min(line.mates_in, mates.get(line.move, line.mates_in))
    return mates


def _row(group: Sequence[_Position], mates: Mapping[str, dict[str, int] | None]) -> WinningRow | None:
    """The sets of a puzzle; None if the engine gave no answer for one of its positions."""
    optimal, any_mate = [], []
    for position in group:
        found = mates[position.fen]
        if found is None:
            return None
        # By the rules the mates in one are known exactly; the engine adds the longer ones.
        short = {move for move, length in found.items() if 1 < length <= position.remaining}
        optimal.append(_marked_first(position.by_rule, short))
        any_mate.append(_marked_first(position.by_rule, found))
    return WinningRow(tuple(optimal), tuple(any_mate))


def _marked_first(by_rule: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    marked = by_rule[0]
    return (marked, *sorted({*by_rule, *more} - {marked}))


def _summary(
    positions: Mapping[str, Sequence[_Position]],
    rows: Mapping[str, WinningRow],
    mates: Mapping[str, dict[str, int] | None],
) -> dict[str, dict[str, int]]:
    """Counts by the solver moves that remain.

    They are positions, and those of them where

    * several moves are optimal, or a longer mate exists besides;
    * the engine found a mate shorter than the puzzle's, or no mate of the puzzle's length by the marked move.
    """
    counts: dict[int, Counter[str]] = {}
    for puzzle_id, row in rows.items():
        for position, optimal, any_mate in zip(positions[puzzle_id], *row, strict=True):
            found = mates[position.fen] or {}
            lengths = [length for move, length in found.items() if move in optimal]
            count = counts.setdefault(position.remaining, Counter())
            count["positions"] += 1
            count["several_optimal"] += len(optimal) > 1
            count["longer_mates"] += len(any_mate) > len(optimal)
            count["shorter_mate"] += any(length < position.remaining for length in lengths)
            count["marked_unconfirmed"] += found.get(optimal[0], position.remaining + 1) > position.remaining
    return {str(remaining): dict(counts[remaining]) for remaining in sorted(counts)}
