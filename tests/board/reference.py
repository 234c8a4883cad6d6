"""A slow encoder on python-chess, written from the description of the format: the independent truth."""

from __future__ import annotations

import chess
import numpy as np


def _flag(board: chess.Board, is_root: bool) -> int | None:
    """Lc0's en-passant flag: as written at the root, else where an enemy pawn attacks the square."""
    if board.ep_square is None:
        return None
    if is_root:
        return board.ep_square
    attackers = board.pawns & board.occupied_co[board.turn]
    return board.ep_square if chess.BB_PAWN_ATTACKS[not board.turn][board.ep_square] & attackers else None


def _signature(board: chess.Board, is_root: bool) -> tuple:
    placement = (board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings)
    castling = board.clean_castling_rights()
    return (*placement, board.occupied_co[chess.WHITE], board.turn, castling, _flag(board, is_root))


def _game(board: chess.Board) -> list[chess.Board]:
    replay, boards = board.root(), []
    boards.append(replay.copy(stack=False))
    for move in board.move_stack:
        replay.push(move)
        boards.append(replay.copy(stack=False))
    return boards


def _repetitions(boards: list[chess.Board]) -> list[int]:
    counts = [0]
    signatures = [_signature(board, i == 0) for i, board in enumerate(boards)]
    for i in range(1, len(boards)):
        count = 0
        if boards[i].halfmove_clock >= 4:
            for j in range(i - 4, -1, -2):
                if signatures[j] == signatures[i]:
                    count = 1 + counts[j]
                    break
                if boards[j].halfmove_clock < 2:
                    break
        counts.append(count)
    return counts


def _draw(planes: np.ndarray, board: chess.Board, turn: chess.Color) -> None:
    for square, piece in board.piece_map().items():
        row = chess.square_rank(square) if turn == chess.WHITE else 7 - chess.square_rank(square)
        plane = piece.piece_type - 1 + (0 if piece.color == turn else 6)
        planes[plane, row, chess.square_file(square)] = 1


def reference_planes(board: chess.Board) -> np.ndarray:
    """[112, 8, 8] planes of the last position of `board`, history from its move stack."""
    boards, turn = _game(board), board.turn
    repetitions = _repetitions(boards)
    planes = np.zeros((112, 8, 8), np.float32)
    for back in range(8):
        block = planes[13 * back : 13 * back + 13]
        if back < len(boards):
            _draw(block, boards[-1 - back], turn)
            block[12] = repetitions[-1 - back] >= 1
            continue
        root = boards[0].copy()
        if root.fen(en_passant="fen").split()[:4] == chess.STARTING_FEN.split()[:4]:
            continue
        if root.ep_square is not None:
            step = 8 if root.turn == chess.BLACK else -8
            pawn = root.remove_piece_at(root.ep_square + step)
            root.set_piece_at(root.ep_square - step, pawn)
        _draw(block, root, turn)
    rights = [
        board.has_queenside_castling_rights(turn),
        board.has_kingside_castling_rights(turn),
        board.has_queenside_castling_rights(not turn),
        board.has_kingside_castling_rights(not turn),
    ]
    for offset, right in enumerate(rights):
        planes[104 + offset] = right
    planes[108] = turn == chess.BLACK
    planes[109] = board.halfmove_clock
    planes[111] = 1
    return planes
