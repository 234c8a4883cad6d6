"""One game between two networks, shown move by move in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess

from searchless_rl.arena.match_runner import PLY_CAP, REASONS
from searchless_rl.arena.players import Temperature, think
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.board import Ending, GameBatch
from searchless_rl.lc0 import load_network
from searchless_rl.nets.evaluator import Evaluator

MAX_PLIES = 512


def run_play(
    weights: Path,
    opponent: Path | None = None,
    *,
    fen: str | None = None,
    seed: int | None = None,
    write: Callable[[str], Any] = print,
) -> None:
    """Play and show a game: every move with the mover's win, draw and loss probabilities, then the board.

    Args:
        weights: plays White.
        opponent: plays Black; default: `weights` too.
        fen: where the game starts; default: the standard start position.
        seed: moves are sampled from the raw policies, one game per seed; default: argmax moves.
        write: takes the text, piece by piece.

    Raises:
        ValueError: a network file or FEN that cannot be used.
        RuntimeError: a network's outputs are not finite.
    """
    game = GameBatch([fen])
    board = chess.Board() if fen is None else chess.Board(fen)
    white = Evaluator(load_network(weights), 1)
    black = white if opponent is None else Evaluator(load_network(opponent), 1)
    names = (weights.name, (opponent or weights).name)
    temperature: Temperature = 0.0 if seed is None else 1.0
    uniform = game_uniforms(Stream.SINGLE_GAME, seed or 0, "", MAX_PLIES)
    write(f"White: {names[0]}\nBlack: {names[1]}\n\n{board}\n")
    while not game.over[0] and board.ply() < MAX_PLIES:
        thought = think(white if board.turn else black, game, temperature, uniform[len(game.moves[0])])
        assert thought is not None  # the game is not over
        move = chess.Move.from_uci(thought.move)
        win, draw, loss = (100 * float(share) for share in thought.wdl)
        number = f"{board.fullmove_number}.{'' if board.turn else '..'}"
        write(f"{number} {board.san(move)}    win {win:.0f} %, draw {draw:.0f} %, loss {loss:.0f} %")
        game.play([[thought.move]])
        board.push(move)
        write(f"\n{board}\n")
    write(_verdict(game, board))


def _verdict(game: GameBatch, board: chess.Board) -> str:
    ending = Ending(int(game.ending[0]))
    if ending == Ending.CHECKMATE:
        return f"{'0-1' if board.turn else '1-0'} ({REASONS[ending]})"
    return f"1/2-1/2 ({REASONS.get(ending, PLY_CAP)})"
