"""One game between two networks, shown move by move in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import chess

from searchless_rl.arena.match_runner import PLY_CAP, REASONS
from searchless_rl.arena.players import ChosenMove, Temperature, choose_move
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.board import Ending, GameBatch
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.play.networks import load_evaluator
from searchless_rl.play.search import SearchedMove, search_move

MAX_PLIES = 512


class ShownGame:
    """A game on two boards: the network's, and python-chess's for the notation.

    Args:
        fen: where the game starts; None: the standard start position.
        seed: moves are sampled from the raw policies, one game per seed; None: argmax moves.
        simulations: of a tree search a move, whose most visited move is played; 0: no search.

    Raises:
        PositionError: no game can start from `fen`.
    """

    def __init__(self, fen: str | None, seed: int | None, simulations: int = 0) -> None:
        self.games = GameBatch([fen])
        self.board = chess.Board() if fen is None else chess.Board(fen)
        self._seed = seed
        self._simulations = simulations

    @property
    def ending(self) -> Ending:
        """How the game stands by the study's rule: claimable draws end it."""
        return Ending(int(self.games.ending[0]))

    def let_move(self, evaluator: Evaluator) -> str:
        """Have a network move; the line that shows the move and its win, draw and loss probabilities.

        Raises:
            RuntimeError: the network's outputs are not finite.
        """
        ply = len(self.board.move_stack)
        temperature: Temperature = 0.0 if self._seed is None else 1.0
        uniform = float(game_uniforms(Stream.SINGLE_GAME, self._seed or 0, "", ply + 1)[ply])
        chosen: ChosenMove | SearchedMove | None
        if self._simulations:
            chosen = search_move(evaluator, self.games, self._simulations)
        else:
            chosen = choose_move(evaluator, self.games, temperature, uniform)
        assert chosen is not None  # the game is not over
        win, draw, loss = (100 * float(share) for share in chosen.wdl)
        shares = f"win {win:.0f} %, draw {draw:.0f} %, loss {loss:.0f} %"
        return f"{self.push(chess.Move.from_uci(chosen.move))}    {shares}"

    def push(self, move: chess.Move) -> str:
        """Play a legal move; its number and SAN."""
        text = f"{self.board.fullmove_number}.{'' if self.board.turn else '..'} {self.board.san(move)}"
        self.games.play([[move.uci()]])
        self.board.push(move)
        return text

    def take_back(self, plies: int) -> None:
        """Take back the last `plies` plies, at least one."""
        self.games = GameBatch.replay(self.games.fens, [self.games.moves[0][:-plies]])
        for _ in range(plies):
            self.board.pop()


def run_play(
    weights: Path | None,
    opponent: Path | None = None,
    *,
    fen: str | None = None,
    seed: int | None = None,
    simulations: int = 0,
    write: Callable[[str], Any] = print,
) -> None:
    """Play and show a game: every move with the mover's win, draw and loss probabilities, then the board.

    Args:
        weights: plays White; None: the base of params.yaml.
        opponent: plays Black; default: `weights` too.
        fen: where the game starts; default: the standard start position.
        seed: moves are sampled from the raw policies, one game per seed; default: argmax moves.
        simulations: of both players' tree search a move (`seed` is not read then); default: no search.
        write: takes the text, piece by piece.

    Raises:
        ValueError: a FEN that cannot be used.
        RuntimeError: a network file cannot be used, or its outputs are not finite.
    """
    game = ShownGame(fen, seed, simulations)
    white = load_evaluator(weights)
    black = white if opponent is None else load_evaluator(opponent)
    names = [name_of(path) for path in (weights, opponent or weights)]
    write(f"White: {names[0]}\nBlack: {names[1]}\n\n{game.board}\n")
    while game.ending == Ending.ONGOING and game.board.ply() < MAX_PLIES:
        write(game.let_move(white if game.board.turn else black))
        write(f"\n{game.board}\n")
    write(_verdict(game))


def name_of(weights: Path | None) -> str:
    """A network's name on the screen."""
    return "base" if weights is None else weights.name


def _verdict(game: ShownGame) -> str:
    if game.ending == Ending.CHECKMATE:
        return f"{'0-1' if game.board.turn else '1-0'} ({REASONS[game.ending]})"
    return f"1/2-1/2 ({REASONS.get(game.ending, PLY_CAP)})"
