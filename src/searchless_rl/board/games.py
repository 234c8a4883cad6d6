"""N games of chess stepped together: legal moves as indices, terminal rules, history.

The move generator is cozy-chess (compiled); everything the networks see is kept beside it in NumPy arrays
and read back from its boards after each move. Making the moves a second time on bitboards in NumPy would
save 1 µs a position with 1,024 games: 1 ms of a training step of 400 to 600 ms at BT4's speed on a GPU (25 ms
a forward pass of 256 positions), 0.2 %. All of this module's work is 3 to 5 % of such a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import cozy_chess as cozy
import numpy as np

from searchless_rl.board.moves import (
    COZY_KNIGHT_PROMOTIONS,
    COZY_MOVES,
    index_uci,
    legal_indices,
    uci_index,
)
from searchless_rl.board.planes import HISTORY, Encoded
from searchless_rl.board.policy_map import POLICY_SIZE
from searchless_rl.board.positions import (
    PAWN,
    at_home,
    bitboards,
    castling_rights,
    insufficient_material,
    pseudo_legal_en_passant,
)
from searchless_rl.board.roots import history_fill, read_root

_GOES_ON = cozy.GameStatus.Ongoing


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

    What is kept of a single game (board, seen positions, moves) is replaced and never changed, so that
    copies share it: `select` makes no object per game.

    Args:
        fens: the first position of each game, None for the standard start position.

    Raises:
        PositionError: a FEN that no game can start from.
    """

    def __init__(self, fens: Sequence[str | None]) -> None:
        count = len(fens)
        self._boards: list[cozy.Board] = [cozy.Board.startpos()] * count
        # Positions since the last capture or pawn move; the draw rule counts an en-passant right only where
        # the capture is legal (python-chess, FIDE), lc0's planes where an enemy pawn stands beside.
        self._seen_by_rule: list[tuple[int, ...]] = [()] * count
        self._seen_by_lc0: list[tuple[int, ...]] = [()] * count
        self._legal: list[np.ndarray | None] = [None] * count
        self._frames = np.zeros((count, HISTORY, 12), np.uint64)
        self._repeated = np.zeros((count, HISTORY), bool)
        self._castling = np.zeros((count, 4), bool)
        self._is_white = np.zeros(count, bool)
        self._clock = np.zeros(count, np.int64)
        self.fens: list[str | None] = list(fens)
        """First position of each game."""
        self.moves: list[tuple[int, ...]] = [()] * count
        """Policy indices played since the first position."""
        self.ending = np.zeros(count, np.int8)
        """int8 [N] `Ending` of each game."""
        self.restart(np.arange(count), fens)

    def __len__(self) -> int:
        return len(self._boards)

    @property
    def is_white(self) -> np.ndarray:
        """White is to move: bool [N]."""
        return self._is_white

    @property
    def plies(self) -> np.ndarray:
        """Plies played since the first position: int64 [N]."""
        return np.array([len(moves) for moves in self.moves], np.int64)

    @property
    def over(self) -> np.ndarray:
        """The game has ended by rule: bool [N]."""
        over: np.ndarray = self.ending != Ending.ONGOING
        return over

    def board_fen(self, row: int) -> str:
        """FEN of the present position (en-passant square after every double push)."""
        fields = str(self._boards[row].fen()).split()
        fields[4] = str(self._clock[row])
        return " ".join(fields)

    def restart(self, rows: np.ndarray, fens: Sequence[str | None] | None = None) -> None:
        """Begin new games in `rows`, from `fens` or the standard start position.

        Raises:
            PositionError: a FEN that no game can start from; no game has begun anew then.
        """
        if not len(rows):
            return
        first = [None] * len(rows) if fens is None else fens
        roots = [read_root(fen) for fen in first]
        boards = [root.board for root in roots]
        for row, fen in zip(rows.tolist(), first, strict=True):
            self.fens[row], self.moves[row] = fen, ()
            self._seen_by_rule[row] = self._seen_by_lc0[row] = ()
        position = bitboards(boards)
        self._frames[rows] = history_fill(roots, position)[:, None]
        self._repeated[rows] = False
        self._castling[rows] = [castling_rights(board) for board in boards]
        self._is_white[rows] = [board.side_to_move() == cozy.Color.White for board in boards]
        self._clock[rows] = [root.clock for root in roots]
        self._arrive(rows, boards, position, [root.en_passant for root in roots])

    def step(self, rows: np.ndarray, indices: np.ndarray) -> None:
        """Play one move in each of `rows`.

        Args:
            rows: int [n], distinct.
            indices: int [n] policy indices.

        Raises:
            ValueError: an illegal move (move, its number, game and position named); no game has moved then.
        """
        if not len(rows):
            return
        chosen, played = rows.tolist(), indices.tolist()
        boards = [
            self._after(row, index, is_white)
            for row, index, is_white in zip(chosen, played, self._is_white[rows].tolist(), strict=True)
        ]
        is_final = [board.halfmove_clock == 0 for board in boards]  # a capture or a pawn move
        for row, index, nothing_returns in zip(chosen, played, is_final, strict=True):
            self.moves[row] += _ALONE[index]
            if nothing_returns:
                self._seen_by_rule[row] = self._seen_by_lc0[row] = ()
        position = bitboards(boards)
        self._frames[rows, 1:] = self._frames[rows, :-1]
        self._repeated[rows, 1:] = self._repeated[rows, :-1]
        self._castling[rows] &= at_home(position)
        self._is_white[rows] ^= True
        self._clock[rows] = np.where(is_final, 0, self._clock[rows] + 1)
        self._arrive(rows, boards, position)

    def play(self, lines: Sequence[Sequence[str]], rows: np.ndarray | None = None) -> None:
        """Play a line of UCI moves in each game, in lockstep; a game whose line has ended waits.

        Args:
            lines: UCI moves, castling as e1g1 or e1h1; as many lines as `rows`.
            rows: int [n], distinct; all rows by default.

        Raises:
            ValueError: a text that is not UCI, or an illegal move (move, its number, game and position
                named). Games then stand where they were before the ply of that move.
        """
        chosen = range(len(self)) if rows is None else rows.tolist()
        if len(lines) != len(chosen):
            raise ValueError(f"{len(lines)} lines for {len(chosen)} games")
        for ply in range(max(map(len, lines), default=0)):
            moving = [place for place, line in enumerate(lines) if len(line) > ply]
            going = [chosen[place] for place in moving]
            indices = [self.index(chosen[place], lines[place][ply]) for place in moving]
            self.step(np.array(going, np.int64), np.array(indices, np.int64))

    def legal(self, rows: np.ndarray | None = None) -> LegalMoves:
        """Legal moves of `rows` (all rows by default); `LegalMoves.row` counts within `rows`."""
        chosen = range(len(self)) if rows is None else rows.tolist()
        self._generate([row for row in dict.fromkeys(chosen) if self._legal[row] is None])
        lists = [moves for row in chosen if (moves := self._legal[row]) is not None]
        start = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        index = np.concatenate(lists) if lists else np.zeros(0, np.int64)
        return LegalMoves(index, np.repeat(np.arange(len(lists)), np.diff(start)), start)

    def planes(self, rows: np.ndarray | None = None) -> np.ndarray:
        """float32 [n, 112, 8, 8] input planes of `rows` (all rows by default)."""
        encoded = self._encoded()
        return encoded.planes(np.arange(len(self)) if rows is None else rows)

    def encoded(self, rows: np.ndarray) -> Encoded:
        """Copies of what the planes of `rows` are made of."""
        return self._encoded().select(rows)

    def _encoded(self) -> Encoded:
        return Encoded(self._frames, self._repeated, self._castling, self._clock, self._is_white)

    def index(self, row: int, uci: str) -> int:
        """Policy index of a UCI move (castling as e1g1 or e1h1) in the present position of `row`.

        Raises:
            ValueError: a text that is no move of the piece it names (move, game and position named); whether
                the move is legal is for `step` to say.
        """
        try:
            return uci_index(uci, bool(self._is_white[row]), self._frames[row, 0])
        except ValueError as error:
            raise ValueError(f"{error} ({self._place(row)})") from error

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
        copy._seen_by_rule = [self._seen_by_rule[row] for row in chosen]
        copy._seen_by_lc0 = [self._seen_by_lc0[row] for row in chosen]
        copy._legal = [self._legal[row] for row in chosen]
        copy._frames = self._frames[rows]
        copy._repeated = self._repeated[rows]
        copy._castling = self._castling[rows]
        copy._is_white = self._is_white[rows]
        copy._clock = self._clock[rows]
        copy.fens = [self.fens[row] for row in chosen]
        copy.moves = [self.moves[row] for row in chosen]
        copy.ending = self.ending[rows]
        return copy

    def place(self, rows: np.ndarray, games: GameBatch) -> None:
        """Put copies of n other games into `rows`, int [n], distinct; what was there is gone."""
        for row, source in zip(rows.tolist(), range(len(games)), strict=True):
            self._boards[row] = games._boards[source]
            self._seen_by_rule[row] = games._seen_by_rule[source]
            self._seen_by_lc0[row] = games._seen_by_lc0[source]
            self._legal[row] = games._legal[source]
            self.fens[row], self.moves[row] = games.fens[source], games.moves[source]
        self._frames[rows] = games._frames
        self._repeated[rows] = games._repeated
        self._castling[rows] = games._castling
        self._is_white[rows] = games._is_white
        self._clock[rows] = games._clock
        self.ending[rows] = games.ending

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

    def _place(self, row: int) -> str:
        """Where a fault is, for messages: the number of the move, the game in a batch of several, the FEN."""
        game = f" of game {row}" if len(self) > 1 else ""
        return f"move {len(self.moves[row]) + 1}{game}, in {self.board_fen(row)}"

    def _after(self, row: int, index: int, is_white: bool) -> cozy.Board:
        """The board after a move."""
        board = self._boards[row].__copy__()
        move = COZY_MOVES[is_white][index]
        promotion = COZY_KNIGHT_PROMOTIONS[is_white].get(index)
        if promotion is not None and board.piece_on(promotion.from_square) == cozy.Piece.Pawn:
            move = promotion
        if not board.try_play(move):
            raise ValueError(f"illegal move {self.uci(row, index)} ({self._place(row)})")
        return board

    def _arrive(
        self,
        rows: np.ndarray,
        boards: Sequence[cozy.Board],
        position: np.ndarray,
        root_en_passant: Sequence[int] | None = None,
    ) -> None:
        """Take the positions just reached: count them, and see how the games stand.

        Args:
            rows: int [n] games; everything else of theirs is up to date.
            boards: n boards of the move generator.
            position: uint64 [n, 12], theirs.
            root_en_passant: n en-passant squares as written in the FEN, or -1, of games that begin here.
        """
        self._frames[rows, 0] = position
        repeated, endings = [], []
        for place, (row, board) in enumerate(zip(rows.tolist(), boards, strict=True)):
            self._boards[row] = board
            self._legal[row] = None
            rule_key = lc0_key = board.hash_without_ep()
            pushed_file = pseudo_legal_en_passant(board)
            if pushed_file >= 0:
                lc0_key += 1 + pushed_file
                if _can_capture(board, pushed_file):
                    rule_key = lc0_key
            if root_en_passant is not None and root_en_passant[place] >= 0:
                lc0_key = board.hash_without_ep() + 1 + root_en_passant[place] % 8
            repeated.append(lc0_key in self._seen_by_lc0[row])
            is_third = self._seen_by_rule[row].count(rule_key) >= 2
            ending = Ending.THREEFOLD if is_third else Ending.ONGOING
            self._seen_by_rule[row] += (rule_key,)
            self._seen_by_lc0[row] += (lc0_key,)
            # Drawn also covers the generator's own fifty-move test: ask for moves.
            if board.status() != _GOES_ON and not board.generate_piece_moves():
                ending = Ending.CHECKMATE if board.checkers() else Ending.STALEMATE
            endings.append(ending)
        self._repeated[rows, 0] = repeated
        self.ending[rows] = self._judge(rows, np.array(endings, np.int8))

    def _judge(self, rows: np.ndarray, ending: np.ndarray) -> np.ndarray:
        """int8 [n] endings by precedence: no legal move (as given), material, threefold (as given), clock."""
        ending[(ending == Ending.ONGOING) & (self._clock[rows] >= 100)] = Ending.FIFTY_MOVES
        can_move = (ending != Ending.CHECKMATE) & (ending != Ending.STALEMATE)
        ending[can_move & insufficient_material(self._frames[rows, 0])] = Ending.MATERIAL
        return ending

    def _generate(self, rows: Sequence[int]) -> None:
        """Generate the legal moves of `rows`, in one array that they share."""
        is_white = self._is_white[rows]
        pawns = self._frames[rows, 0, np.where(is_white, PAWN, PAWN + 6)]
        pieces = [self._boards[row].generate_piece_moves() for row in rows]
        index, counts = legal_indices(pieces, is_white, pawns)
        ends = np.cumsum(counts).tolist()
        for row, begin, end in zip(rows, [0, *ends], ends, strict=False):
            self._legal[row] = index[begin:end]


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


_ALONE = [(index,) for index in range(POLICY_SIZE)]
"""Every policy index as a line of one move: games share the integers, most of a long game's memory."""
