"""An opening book made by the base network itself, where no outside book is at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from searchless_rl.arena.openings import Opening, OpeningError, final_position, write_openings
from searchless_rl.arena.players import pick_moves
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.board import GameBatch
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator

FULL_MOVES = (6, 8)
WHITE_SCORE = (0.55, 0.75)
CHUNK = 256  # lines in flight; bounds memory, not results
TRIES = 200  # lines per opening wanted, before giving up


def make_book(
    weights: Path,
    out: Path,
    *,
    count: int,
    seed: int,
    batch_size: int,
    on_openings: Callable[[int], Any] = lambda openings: None,
) -> None:
    """Write a book of unbalanced openings, each with its moves, as `openings.write_openings` does.

    Lines of 6 to 8 full moves (uniform) are sampled from the network's raw policy; kept are those that are
    not over, reach a position no earlier line reached, and that the network's own value head scores
    (W + D/2) 0.55 to 0.75 for White. A rule of this project: the paper's openings (appendix F) are of a
    published book, unbalanced alike so that fewer games are drawn.

    Args:
        weights: file of the base network.
        out: the CSV file.
        count: number of openings; the first n of a larger book are the book of n.
        seed: seed of the lines.
        batch_size: positions per forward pass.
        on_openings: progress callback, called with the number of openings just found.

    Raises:
        OpeningError: too few of the lines are kept.
    """
    openings: list[Opening] = []
    seen: set[str] = set()
    tried = 0
    evaluator = Evaluator(load_network(weights), batch_size)
    for lines in _sampled_lines(evaluator, count, seed):
        before = len(openings)
        for score, moves in lines:
            opening = Opening(f"book:{len(openings) + 1}", None, moves)
            key = final_position(opening) if WHITE_SCORE[0] <= score <= WHITE_SCORE[1] else None
            if key is not None and key not in seen and len(openings) < count:
                seen.add(key)
                openings.append(opening)
        on_openings(len(openings) - before)
        tried += len(lines)
        if len(openings) == count:
            write_openings(out, openings)
            return
    raise OpeningError(
        f"{weights}: of {tried} lines only {len(openings)} lead to a new position that the network scores "
        f"{WHITE_SCORE[0]} to {WHITE_SCORE[1]} for White; {count} wanted"
    )


def _sampled_lines(
    evaluator: Evaluator, count: int, seed: int
) -> Iterator[list[tuple[float, tuple[str, ...]]]]:
    """Chunks of sampled lines: White's expected score after them (NaN where the game is over), UCI moves."""
    for begin in range(0, TRIES * count, CHUNK):
        yield _play_lines(evaluator, range(begin, begin + CHUNK), seed)


def _play_lines(evaluator: Evaluator, lines: range, seed: int) -> list[tuple[float, tuple[str, ...]]]:
    shortest, longest = FULL_MOVES
    # The last number of a line is for its length.
    uniform = np.array([game_uniforms(Stream.BOOK, seed, str(line), 2 * longest + 1) for line in lines])
    plies = 2 * (shortest + np.floor(uniform[:, -1] * (longest - shortest + 1)).astype(np.int64))
    games = GameBatch([None] * len(lines))
    moves: list[list[str]] = [[] for _ in lines]
    for ply in range(2 * longest):
        rows = np.flatnonzero((plies > ply) & ~games.over)
        legal = games.legal(rows)
        choice = pick_moves(evaluator(games.planes(rows)), legal, [1.0] * len(rows), uniform[rows, ply])
        for row, index in zip(rows.tolist(), choice.move.tolist(), strict=True):
            moves[row].append(games.uci(row, index))
        games.step(rows, choice.move)
    score = np.full(len(lines), np.nan)
    rows = np.flatnonzero(~games.over)
    wdl = evaluator(games.planes(rows)).wdl  # full moves: White is to move
    score[rows] = wdl[:, 0] + wdl[:, 1] / 2
    return [(float(value), tuple(line)) for value, line in zip(score, moves, strict=True)]
