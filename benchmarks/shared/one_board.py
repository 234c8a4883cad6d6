"""What a script on python-chess does for one position: the planes and the move, from a board."""

from __future__ import annotations

import chess
import numpy as np
import torch
from torch import nn

from searchless_rl.board import move_index


def planes_of(board: chess.Board) -> np.ndarray:
    """float32 [112, 8, 8] planes of a board and its move stack, set square by square."""
    planes = np.zeros((112, 8, 8), np.float32)
    us, past = board.turn, board.copy()
    for back in range(8):
        for square, piece in past.piece_map().items():
            rank = chess.square_rank(square) if us else 7 - chess.square_rank(square)
            plane = 13 * back + piece.piece_type - 1 + (0 if piece.color == us else 6)
            planes[plane, rank, chess.square_file(square)] = 1
        if past.is_repetition(2):
            planes[13 * back + 12] = 1
        if past.move_stack:
            past.pop()
        elif past.board_fen() == chess.STARTING_BOARD_FEN:
            break  # lc0 leaves empty what came before the standard start
        elif past.ep_square is not None:  # and fills in before a FEN the position before its pawn was pushed
            step = 8 if past.turn == chess.BLACK else -8
            past.set_piece_at(past.ep_square - step, past.remove_piece_at(past.ep_square + step))
            past.ep_square = None
    for place, (color, has_rights) in enumerate(
        (color, has_rights)
        for color in (us, not us)
        for has_rights in (board.has_queenside_castling_rights, board.has_kingside_castling_rights)
    ):
        planes[104 + place] = has_rights(color)
    planes[108] = not us
    planes[109] = board.halfmove_clock
    planes[111] = 1
    return planes


@torch.inference_mode()
def best_move(network: nn.Module, board: chess.Board) -> chess.Move:
    """The legal move that the network finds most likely, from one forward pass."""
    device = next(network.parameters()).device
    logits = network(torch.from_numpy(planes_of(board))[None].to(device)).policy[0].cpu()
    legal = list(board.legal_moves)
    return legal[int(logits[[move_index(board, move) for move in legal]].argmax())]
