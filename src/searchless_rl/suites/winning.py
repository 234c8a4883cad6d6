"""Winning sets: the moves that count as right at each position the solver faces.

Lichess puzzles have one good move at every solver position, with one exception: any move that mates at once
is right. So the winning set is the marked move and every mate in one, and a puzzle is solved when a player's
choice lies in the winning set at *every* solver position, the marked line being played in between.
"""

from __future__ import annotations

import chess

from searchless_rl.suites.puzzles import Puzzle, solver_positions


def winning_set(board: chess.Board, marked: chess.Move) -> tuple[str, ...]:
    """UCI of the marked move, first, then of every other legal move that gives mate, sorted.

    Castling is written e1g1. `board` is unchanged on return; `marked` must be legal in it.
    """
    mates = []
    for move in list(board.legal_moves):
        board.push(move)
        # is_checkmate looks for replies only when the move gives check, which few do.
        if board.is_checkmate():
            mates.append(move.uci())
        board.pop()
    first = marked.uci()
    return (first, *sorted(uci for uci in mates if uci != first))


def winning_sets(puzzle: Puzzle) -> tuple[tuple[str, ...], ...]:
    """The winning set of each solver position of a valid puzzle, in order of play."""
    return tuple(winning_set(board, marked) for board, marked in solver_positions(puzzle))
