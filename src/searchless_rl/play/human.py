"""A game of a human against a network in a terminal.

Moves are written in SAN (Nf3, O-O, e8=Q) or UCI (g1f3, e1g1, e7e8q). `undo` takes back the human's last move
and the network's reply, `draw` claims a draw, `resign` and `quit` end the game, `help` lists the words.
Unlike the study's games this one goes on after a threefold repetition or fifty moves until the human claims
the draw (FIDE article 9); the fifth repetition and seventy-five moves end it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import chess

from searchless_rl.play.networks import load_evaluator
from searchless_rl.play.terminal import ShownGame, name_of
from searchless_rl.text import quoted

WORDS = "a move (Nf3 or g1f3), undo, draw (claim one), resign, quit, help"


def run_human(
    weights: Path | None,
    side: Literal["white", "black"],
    stdin: Iterable[str],
    *,
    fen: str | None = None,
    seed: int | None = None,
    simulations: int = 0,
    write: Callable[[str], Any] = print,
) -> None:
    """Play a game against a network.

    Args:
        weights: the network; None: the base of params.yaml.
        side: the human's.
        stdin: the human's lines; their end is `quit`.
        fen: where the game starts; default: the standard start position.
        seed: the network's moves are sampled from its raw policy, one number per ply; default: argmax moves.
        simulations: of the network's tree search a move (`seed` is not read then); default: no search.
        write: takes the text, piece by piece.

    Raises:
        ValueError: a FEN that cannot be used.
        RuntimeError: the network cannot be used, or its outputs are not finite.
    """
    game = ShownGame(fen, seed, simulations)
    human = side == "white"
    network, lines = load_evaluator(weights), iter(stdin)
    names = ("you", name_of(weights)) if human else (name_of(weights), "you")
    write(f"White: {names[0]}\nBlack: {names[1]}\nYour turn takes {WORDS}.\n\n{picture(game.board, human)}\n")
    while (outcome := game.board.outcome()) is None:
        if game.board.turn != human:
            write(game.let_move(network))
        elif (verdict := _turn(game, lines, write)) is not None:
            write(verdict)
            return
        write(f"\n{picture(game.board, human)}\n")
    write(f"{outcome.result()} ({outcome.termination.name.lower().replace('_', ' ')})")


def picture(board: chess.Board, is_white: bool) -> str:
    """The board with the names of ranks and files, seen by one side."""
    rows = [f"{8 - place} {row}" for place, row in enumerate(str(board).splitlines())]
    files = "a b c d e f g h"
    if not is_white:
        rows = [f"{row[:2]}{row[:1:-1]}" for row in reversed(rows)]
        files = files[::-1]
    return "\n".join([*rows, f"  {files}"])


def _turn(game: ShownGame, lines: Iterable[str], write: Callable[[str], Any]) -> str | None:
    """Read lines until the human has moved or taken back (None), or ended the game (its result)."""
    write("Your move:")
    for line in lines:
        word = line.strip()
        match word.lower():
            case "":
                continue
            case "quit":
                break
            case "resign":
                return f"{'0-1' if game.board.turn else '1-0'} (resignation)"
            case "help":
                write(f"Your turn takes {WORDS}.")
            case "draw":
                claim = _claim(game.board)
                if claim is not None:
                    return f"1/2-1/2 ({claim}, claimed)"
                write("No draw to claim: neither a threefold repetition nor fifty moves without progress.")
            case "undo":
                if len(game.board.move_stack) >= 2:
                    game.take_back(2)
                    return None
                write("Nothing to undo: you have not moved yet.")
            case _:
                move = read_move(game.board, word)
                if move is not None:
                    write(game.push(move))
                    return None
                write(f"{quoted(word)} is no legal move here, or more than one; your turn takes {WORDS}.")
    return "* (left)"


def read_move(board: chess.Board, text: str) -> chess.Move | None:
    """A legal move from SAN or UCI; None where the text is none, or fits several."""
    for parse in (board.parse_san, board.parse_uci):
        try:
            move = parse(text)
        except ValueError:
            continue
        if move:  # python-chess also reads the null move
            return move
    return None


def _claim(board: chess.Board) -> str | None:
    """What a draw can be claimed for in the present position."""
    if board.is_repetition(3):
        return "threefold repetition"
    return "fifty moves" if board.is_fifty_moves() else None
