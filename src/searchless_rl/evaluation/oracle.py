"""Stockfish as an outside judge of candidate moves (paper Figure 9, appendix H).

The paper lets it think for 1.5 seconds; here it searches a fixed number of nodes, which gives the same
verdict on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import chess
import chess.engine

from searchless_rl.evaluation.candidates import Oracle
from searchless_rl.suites.engine_search import analyse_positions
from searchless_rl.suites.uci_engine import EngineLines, EngineSettings


def stockfish_oracle(program: Path, nodes: int, journal: Path) -> Oracle:
    """A judge that searches the position after each move at a fixed number of nodes.

    Args:
        program: the engine.
        nodes: per move.
        journal: where answers are kept; a position is asked once.

    Returns:
        FEN and UCI moves -> expected score of each for the mover, 0 to 1, by Stockfish's own relation of
        evaluation and results (python-chess's model "sf"); NaN where the engine gave no usable answer.

    Raises:
        ValueError: the engine cannot be used (program named).
    """
    settings = EngineSettings(program, nodes, multipv=1)

    def judge(fen: str, moves: Sequence[str]) -> list[float]:
        boards = [_after(fen, move) for move in moves]
        asked = [board.fen() for board in boards if not board.is_game_over()]
        answers = analyse_positions(asked, settings, journal)
        if asked and not answers.version:
            raise ValueError(next(iter(answers.void.values())))
        found = dict(zip(asked, answers.rows, strict=True))
        return [_score(board, found.get(board.fen())) for board in boards]

    return judge


def _after(fen: str, move: str) -> chess.Board:
    board = chess.Board(fen)
    board.push_uci(move)
    return board


def _score(board: chess.Board, rows: tuple[EngineLines, ...] | None) -> float:
    """Expected score of the side that has just moved."""
    if board.is_game_over():
        return 1.0 if board.is_checkmate() else 0.5
    if not rows or not rows[-1]:
        return float("nan")
    line = rows[-1][0]
    score: chess.engine.Score = (
        chess.engine.Mate(line.mate) if line.mate is not None else chess.engine.Cp(line.cp or 0)
    )
    return 1.0 - score.wdl(model="sf", ply=board.ply()).expectation()
