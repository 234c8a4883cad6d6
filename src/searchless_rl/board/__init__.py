"""Positions in numbers: Lc0's 112 input planes, its 1858 moves, N games stepped in lockstep.

In reading order: `positions` (bitboards), `roots` (a FEN becomes the first position of a game), `policy_map`
(the 1858 moves), `moves` (UCI, the move generator's objects and policy indices), `planes` (bitboards become
network inputs), `games` (`GameBatch`: rules, history, many games at once), `encoding` (one position for one
network).

Shapes: N games or positions; planes float32 [N, 112, 8, 8], row 0 the mover's first rank; a position uint64
[N, 12] bitboards; policy indices int64, 0 to 1857, in the mover's frame. Rules and numbers are held to
python-chess, planes and indices to recordings of the real lc0 0.32.1 (tests/board).
"""

from searchless_rl.board.encoding import encode_game
from searchless_rl.board.games import Ending, GameBatch, LegalMoves
from searchless_rl.board.moves import move_index
from searchless_rl.board.policy_map import MOVES, POLICY_SIZE
from searchless_rl.board.roots import PositionError

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
