"""N games of chess stepped together: legal moves as indices, terminal rules, history.

The move generator is cozy-chess (compiled); everything the networks see is kept beside it in NumPy
arrays. The rules, the planes and the move indices are held to python-chess and to the real lc0 by the
tests in ``tests/board``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import cozy_chess as cozy
import numpy as np

from searchless_rl.board.moves import COZY_KNIGHT_PROMOTIONS, COZY_MOVES, index_uci, uci_index
from searchless_rl.board.planes import HISTORY, encode_planes
from searchless_rl.board.policy_map import PLAIN_INDEX, POLICY_SIZE, PROMOTION_INDEX
from searchless_rl.board.positions import (
    KING,
    Root,
    bitboards,
    insufficient_material,
    pseudo_legal_en_passant,
    read_root,
)


class Ending(IntEnum):
    """How a game stands. Claimable draws end it at once (paper appendix G: standard termination)."""

    ONGOING = 0
    CHECKMATE = 1  # the side to move is mated
    STALEMATE = 2
    MATERIAL = 3
    THREEFOLD = 4
    FIFTY_MOVES = 5


@dataclass(frozen=True)
class LegalMoves:
    """Legal moves of N positions, one after the other, ascending in each position.

    Attributes:
        index: int64 [M] policy indices.
        row: int64 [M] the position each belongs to, 0..N-1, ascending.
        start: int64 [N + 1] bounds: position i has index[start[i]:start[i+1]].
    """

    index: np.ndarray
    row: np.ndarray
    start: np.ndarray

    @classmethod
    def concatenate(cls, parts: Sequence[LegalMoves]) -> LegalMoves:
        """The positions of all parts, one part after the other."""
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.start) for part in parts)])
        index = np.concatenate([np.zeros(0, np.int64), *(part.index for part in parts)])
        return cls(index, np.repeat(np.arange(len(counts) - 1), counts[1:]), np.cumsum(counts))


class GameBatch:
    """Games that are stepped, encoded and restarted by row.

    Args:
        fens: the first position of each game, None for the standard start position.

    Raises:
        PositionError: a FEN that no game can start from.
    """

    def __init__(self, fens: Sequence[str | None]) -> None:
        count = len(fens)
        self._boards: list[cozy.Board] = [cozy.Board.startpos()] * count
        # Occurrences since the last capture or pawn move; the draw rule counts an en-passant right only
        # where the capture is legal (python-chess, FIDE), lc0's planes where an enemy pawn stands beside.
        self._seen_by_rule: list[dict[int, int]] = [{} for _ in range(count)]
        self._seen_by_lc0: list[dict[int, int]] = [{} for _ in range(count)]
        self._legal: list[np.ndarray | None] = [None] * count
        self._frames = np.zeros((count, HISTORY, 12), np.uint64)
        self._repeated = np.zeros((count, HISTORY), bool)
        self._castling = np.zeros((count, 4), bool)
        self._is_white = np.zeros(count, bool)
        self._clock = np.zeros(count, np.int32)
        self.fens: list[str | None] = list(fens)
        """First position of each game."""
        self.moves: list[list[int]] = [[] for _ in range(count)]
        """Policy indices played since the first position."""
        self.ending = np.zeros(count, np.int8)
        """int8 [N] `Ending` of each game."""
        self.restart(np.arange(count), fens)

    def __len__(self) -> int:
        return len(self._boards)

    @property
    def is_white(self) -> np.ndarray:
        """bool [N]: White is to move."""
        return self._is_white

    @property
    def plies(self) -> np.ndarray:
        """int64 [N] plies played since the first position."""
        return np.array([len(moves) for moves in self.moves], np.int64)

    @property
    def over(self) -> np.ndarray:
        """bool [N]: the game has ended by rule."""
        return self.ending != Ending.ONGOING

    def board_fen(self, row: int) -> str:
        """FEN of the present position (en-passant square after every double push)."""
        return str(self._boards[row].fen())

    def restart(self, rows: np.ndarray, fens: Sequence[str | None] | None = None) -> None:
        """Begin new games in `rows`, from `fens` or the standard start position."""
        for position, row in enumerate(rows.tolist()):
            fen = None if fens is None else fens[position]
            root = read_root(fen)
            self._boards[row] = root.board
            self.fens[row] = fen
            self.moves[row] = []
            self._seen_by_rule[row] = {}
            self._seen_by_lc0[row] = {}
            self._frames[row] = np.array(root.fill, np.uint64)
            self._repeated[row] = False
            self._arrive(row, root)
        self._judge(rows)

    def step(self, rows: np.ndarray, indices: np.ndarray) -> None:
        """Play one move in each of `rows`.

        Args:
            rows: int [n], distinct.
            indices: int [n] policy indices.

        Raises:
            ValueError: an illegal move (position and move named); no game has moved then.
        """
        boards = [self._play(row, index) for row, index in zip(rows.tolist(), indices.tolist(), strict=True)]
        self._frames[rows, 1:] = self._frames[rows, :-1]
        self._repeated[rows, 1:] = self._repeated[rows, :-1]
        for row, index, board in zip(rows.tolist(), indices.tolist(), boards, strict=True):
            self._boards[row] = board
            self.moves[row].append(_NUMBERS[index])
            self._arrive(row, None)
        self._judge(rows)

    def legal(self, rows: np.ndarray | None = None) -> LegalMoves:
        """Legal moves of `rows` (all rows by default); `LegalMoves.row` counts within `rows`."""
        chosen = range(len(self)) if rows is None else rows.tolist()
        lists = [self._legal_moves(row) for row in chosen]
        start = np.cumsum([0, *(len(moves) for moves in lists)], dtype=np.int64)
        index = np.concatenate(lists) if lists else np.zeros(0, np.int64)
        return LegalMoves(index, np.repeat(np.arange(len(lists)), np.diff(start)), start)

    def planes(self, rows: np.ndarray | None = None) -> np.ndarray:
        """float32 [n, 112, 8, 8] input planes of `rows` (all rows by default)."""
        chosen = slice(None) if rows is None else rows
        return encode_planes(
            self._frames[chosen],
            self._repeated[chosen],
            self._castling[chosen],
            self._clock[chosen],
            self._is_white[chosen],
        )

    def index(self, row: int, uci: str) -> int:
        """Policy index of a UCI move (castling as e1g1 or e1h1) in the present position of `row`."""
        king = int(self._frames[row, 0, KING if self._is_white[row] else KING + 6]).bit_length() - 1
        return uci_index(uci, bool(self._is_white[row]), king)

    def uci(self, row: int, index: int) -> str:
        """UCI of a policy index (castling as e1g1) in the present position of `row`."""
        is_white = bool(self._is_white[row])
        piece = self._boards[row].piece_on(COZY_MOVES[is_white][index].from_square)
        is_pawn, is_king = piece == cozy.Piece.Pawn, piece == cozy.Piece.King
        return index_uci(index, is_white, is_pawn=is_pawn, is_king=is_king)

    def select(self, rows: np.ndarray) -> GameBatch:
        """An independent copy of `rows` (a row may be named more than once)."""
        copy = GameBatch([])
        chosen = rows.tolist()
        copy._boards = [self._boards[row] for row in chosen]
        copy._seen_by_rule = [self._seen_by_rule[row].copy() for row in chosen]
        copy._seen_by_lc0 = [self._seen_by_lc0[row].copy() for row in chosen]
        copy._legal = [self._legal[row] for row in chosen]
        copy._frames = self._frames[rows]
        copy._repeated = self._repeated[rows]
        copy._castling = self._castling[rows]
        copy._is_white = self._is_white[rows]
        copy._clock = self._clock[rows]
        copy.fens = [self.fens[row] for row in chosen]
        copy.moves = [self.moves[row].copy() for row in chosen]
        copy.ending = self.ending[rows]
        return copy

    @classmethod
    def replay(cls, fens: Sequence[str | None], moves: Sequence[Sequence[int]]) -> GameBatch:
        """The games that `moves` (policy indices, one list per game) lead to from `fens`.

        `games.fens` and `games.moves` are the whole state of a batch: replaying them restores it.

        Raises:
            PositionError, ValueError: an impossible start or an illegal move.
        """
        games = cls(fens)
        longest = max((len(line) for line in moves), default=0)
        for ply in range(longest):
            rows = np.array([row for row, line in enumerate(moves) if len(line) > ply], np.int64)
            games.step(rows, np.array([moves[row][ply] for row in rows.tolist()], np.int64))
        return games

    def _play(self, row: int, index: int) -> cozy.Board:
        """The board after a move; boards are replaced and never changed, so that copies may share them."""
        board, is_white = self._boards[row].__copy__(), bool(self._is_white[row])
        move = COZY_MOVES[is_white][index]
        promotion = COZY_KNIGHT_PROMOTIONS[is_white].get(index)
        if promotion is not None and board.piece_on(promotion.from_square) == cozy.Piece.Pawn:
            move = promotion
        if not board.try_play(move):
            raise ValueError(f"illegal move {move} (policy index {index}) in {board.fen()}")
        return board

    def _arrive(self, row: int, root: Root | None) -> None:
        """Record the position just reached, the first of a game where `root` is given."""
        board = self._boards[row]
        clock = board.halfmove_clock
        self._clock[row] = clock
        self._is_white[row] = board.side_to_move() == cozy.Color.White
        self._frames[row, 0] = bitboards(board)
        white, black = board.castle_rights(cozy.Color.White), board.castle_rights(cozy.Color.Black)
        self._castling[row] = (white.has_short(), white.has_long(), black.has_short(), black.has_long())
        self._legal[row] = None
        if clock == 0:
            self._seen_by_rule[row].clear()
            self._seen_by_lc0[row].clear()
        key = board.hash_without_ep()
        pushed_file = pseudo_legal_en_passant(board)
        rule_key = key + 1 + pushed_file if pushed_file >= 0 and _can_capture(board, pushed_file) else key
        lc0_file = pushed_file if root is None else root.en_passant_file
        lc0_key = key + 1 + lc0_file
        seen = self._seen_by_rule[row]
        seen[rule_key] = occurrences = seen.get(rule_key, 0) + 1
        self.ending[row] = Ending.THREEFOLD if occurrences >= 3 else Ending.ONGOING
        seen = self._seen_by_lc0[row]
        self._repeated[row, 0] = lc0_key in seen
        seen[lc0_key] = 1

    def _judge(self, rows: np.ndarray) -> None:
        """Set `ending` of `rows`: no legal move, then material, threefold (already set), fifty moves."""
        ending = self.ending[rows]
        ending[(ending == Ending.ONGOING) & (self._clock[rows] >= 100)] = Ending.FIFTY_MOVES
        ending[insufficient_material(self._frames[rows, 0])] = Ending.MATERIAL
        for position, row in enumerate(rows.tolist()):
            board = self._boards[row]
            status = board.status()  # Drawn also covers cozy's own fifty-move test: ask for moves
            if status != cozy.GameStatus.Ongoing and not board.generate_piece_moves():
                mated = bool(board.checkers())
                ending[position] = Ending.CHECKMATE if mated else Ending.STALEMATE
        self.ending[rows] = ending

    def _legal_moves(self, row: int) -> np.ndarray:
        cached = self._legal[row]
        if cached is None:
            cached = self._legal[row] = _legal_indices(self._boards[row], bool(self._is_white[row]))
        return cached


def _can_capture(board: cozy.Board, file: int) -> bool:
    """A legal en-passant capture of the pawn just pushed on `file` exists."""
    is_white = board.side_to_move() == cozy.Color.White
    target = 8 * (5 if is_white else 2) + file
    return any(
        piece.piece == cozy.Piece.Pawn
        and int(piece.to) >> target & 1
        and piece.from_square.__index__() % 8 != file
        for piece in board.generate_piece_moves()
    )


_NUMBERS = list(range(POLICY_SIZE))
"""One integer object per policy index: games share them, which is most of a long game's memory."""

# Plain lists: indexing them from Python is several times faster than indexing arrays.
_PLAIN = PLAIN_INDEX.tolist()
_PROMOTION = PROMOTION_INDEX.tolist()


def _legal_indices(board: cozy.Board, is_white: bool) -> np.ndarray:
    """int64 [m] ascending policy indices of the legal moves."""
    flip = 0 if is_white else 56
    indices: list[int] = []
    for piece in board.generate_piece_moves():
        start = piece.from_square.__index__() ^ flip
        row = _PLAIN[start]
        targets = int(piece.to)
        if piece.piece == cozy.Piece.Pawn and start // 8 == 6:
            while targets:
                low = targets & -targets
                end = (low.bit_length() - 1) ^ flip
                indices.append(row[end])
                indices.extend(_PROMOTION[start % 8][end % 8])
                targets ^= low
        else:
            while targets:
                low = targets & -targets
                indices.append(row[(low.bit_length() - 1) ^ flip])
                targets ^= low
    indices.sort()
    return np.array(indices, np.int64)
