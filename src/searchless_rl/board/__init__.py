"""Positions in numbers: Lc0's 112 input planes, its 1858 moves, N games stepped in lockstep."""

from searchless_rl.board.encoding import encode_game
from searchless_rl.board.games import Ending, GameBatch, LegalMoves
from searchless_rl.board.moves import move_index
from searchless_rl.board.policy_map import MOVES, POLICY_SIZE
from searchless_rl.board.positions import PositionError

__all__ = [
    "MOVES",
    "POLICY_SIZE",
    "Ending",
    "GameBatch",
    "LegalMoves",
    "PositionError",
    "encode_game",
    "move_index",
]
