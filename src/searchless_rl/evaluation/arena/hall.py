"""Games between searchless players, thousands at a time in one process (paper sections 3.2, 3.4, appendix F).

Games do not wait for each other: of all networks, the one with the most positions waiting is asked next,
about a full batch of them. A network sees its positions in one padded shape only, and a game's random numbers
have an address of their own, so that a game is the same whatever is played beside it.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from searchless_rl.board import Ending, GameBatch
from searchless_rl.evaluation.arena.players import Player, pick_moves
from searchless_rl.evaluation.arena.randomness import Stream, game_uniforms
from searchless_rl.evaluation.arena.schedule import Game
from searchless_rl.nets.evaluator import Evaluation, Evaluator

REASONS = {
    Ending.CHECKMATE: "checkmate",
    Ending.STALEMATE: "stalemate",
    Ending.MATERIAL: "insufficient material",
    Ending.THREEFOLD: "threefold repetition",
    Ending.FIFTY_MOVES: "fifty moves",
}
PLY_CAP = "ply cap"


@dataclass(frozen=True)
class Outcome:
    """A finished game, or one that broke off.

    Attributes:
        number: of the game in its schedule.
        result: "1-0", "0-1" or "1/2-1/2"; "*" where it broke off.
        reason: one of `REASONS`, `PLY_CAP`, or why it broke off.
        ties: argmax moves that another move tied.
        moves: UCI, after the opening.
    """

    number: int
    result: str
    reason: str
    ties: int
    moves: tuple[str, ...]

    @property
    def failed(self) -> bool:
        """The game broke off and counts for nobody."""
        return self.result == "*"


def play_games(
    games: Sequence[Game],
    players: Sequence[Player],
    load: Callable[[Path], Evaluator],
    *,
    seed: int,
    max_plies: int,
    in_flight: int,
    max_loaded: int | None = None,
) -> Iterator[Outcome]:
    """Play games to their end, in the order in which they end.

    Args:
        games: what is to be played.
        players: that the games refer to.
        load: the evaluator of a weights file; all must have one batch shape. One per distinct file is kept.
        seed: of the sampled moves.
        max_plies: a game this long, counted from the standard start position, is a draw.
        in_flight: games at a time, at least 1; bounds memory and changes no result.
        max_loaded: networks in memory at a time, at least 1 (default: all); changes no result.

    Raises:
        ValueError: an opening that leaves no ply to play below `max_plies`.
        MemoryError, torch.OutOfMemoryError: as they come. Any other failure of a network on a position ends
            that game alone, as an `Outcome` with `failed`.
    """
    for game in games:
        if game.opening.plies >= max_plies:
            raise ValueError(
                f"opening {game.opening.id}: ply {game.opening.plies}, not below max_plies = {max_plies}"
            )
    hall = _Hall(players, load, seed, max_plies, max_loaded)
    yield from hall.play(iter(games), min(in_flight, len(games)))


class _Hall:
    """The games in flight, one per row, and the positions that wait for each network."""

    def __init__(
        self,
        players: Sequence[Player],
        load: Callable[[Path], Evaluator],
        seed: int,
        max_plies: int,
        max_loaded: int | None,
    ) -> None:
        self._players = players
        self._load = load
        self._seed = seed
        self._max_plies = max_plies
        self._max_loaded = max_loaded
        self._loaded: OrderedDict[Path, Evaluator] = OrderedDict()  # the longest unused first
        self._waiting: dict[Path, deque[int]] = {player.weights: deque() for player in players}

    def play(self, games: Iterator[Game], rows: int) -> Iterator[Outcome]:
        """Play `games`, `rows` at a time."""
        self._games = GameBatch([None] * rows)
        self._seats: list[Game | None] = [None] * rows
        self._moves: list[list[str]] = [[] for _ in range(rows)]
        self._ties = np.zeros(rows, np.int64)
        self._uniform: list[np.ndarray | None] = [None] * rows
        self._seat(range(rows), list(islice(games, rows)))
        while True:
            weights = max(self._waiting, key=self._urgency)
            queue = self._waiting[weights]
            if not queue:
                return
            evaluator = self._evaluator(weights)
            chosen = np.array(
                [queue.popleft() for _ in range(min(evaluator.batch_size, len(queue)))], np.int64
            )
            ended = list(self._move(evaluator, chosen))
            yield from (outcome for outcome, _ in ended)
            following = list(islice(games, len(ended)))
            self._seat([row for _, row in ended][: len(following)], following)

    def _urgency(self, weights: Path) -> tuple[bool, int]:
        """A full batch for a network that is in memory goes before the longest queue of all."""
        count = len(self._waiting[weights])
        loaded = self._loaded.get(weights)
        return loaded is not None and count >= loaded.batch_size, count

    def _evaluator(self, weights: Path) -> Evaluator:
        if weights not in self._loaded:
            if self._max_loaded is not None and len(self._loaded) >= self._max_loaded:
                self._loaded.popitem(last=False)
            self._loaded[weights] = self._load(weights)
        self._loaded.move_to_end(weights)
        return self._loaded[weights]

    def _seat(self, rows: Sequence[int], games: Sequence[Game]) -> None:
        """Begin games in free rows."""
        self._games.restart(np.array(rows, np.int64), [game.opening.fen for game in games])
        for ply in range(max((len(game.opening.moves) for game in games), default=0)):
            moving = [place for place, game in enumerate(games) if len(game.opening.moves) > ply]
            moves = [self._games.index(rows[place], games[place].opening.moves[ply]) for place in moving]
            self._games.step(np.array([rows[place] for place in moving]), np.array(moves))
        for row, game in zip(rows, games, strict=True):
            self._seats[row] = game
            self._moves[row] = []
            self._ties[row] = 0
            self._uniform[row] = self._numbers(game)
            self._wait(row)

    def _numbers(self, game: Game) -> np.ndarray | None:
        """One number for every ply up to the cap, so that a ply's number has a fixed place."""
        if not (self._players[game.white].is_sampled or self._players[game.black].is_sampled):
            return None
        return game_uniforms(Stream.ARENA, self._seed, game.address, self._max_plies)

    def _wait(self, row: int) -> None:
        self._waiting[self._mover(row).weights].append(row)

    def _game(self, row: int) -> Game:
        game = self._seats[row]
        assert game is not None
        return game

    def _mover(self, row: int) -> Player:
        game = self._game(row)
        return self._players[game.white if self._games.is_white[row] else game.black]

    def _move(self, evaluator: Evaluator, rows: np.ndarray) -> Iterator[tuple[Outcome, int]]:
        """One move in each of `rows`; the games that end with it, and their rows."""
        planes = self._games.planes(rows)
        evaluation, faults = _evaluate(evaluator, planes)
        is_sound = np.array([fault is None for fault in faults], bool)
        for place in np.flatnonzero(~is_sound).tolist():
            row = int(rows[place])
            reason = f"{self._mover(row).name}: {faults[place]} in {self._games.board_fen(row)}"
            yield self._outcome(row, "*", reason), row
        rows, evaluation = rows[is_sound], Evaluation(evaluation.policy[is_sound], evaluation.wdl[is_sound])
        if not len(rows):
            return
        listed = rows.tolist()
        uniform = np.array([self._draw(row) for row in listed])
        temperatures = [self._mover(row).temperature for row in listed]
        choice = pick_moves(evaluation, self._games.legal(rows), temperatures, uniform)
        for row, index in zip(listed, choice.move.tolist(), strict=True):
            self._moves[row].append(self._games.uci(row, index))
        self._ties[rows] += choice.tied
        self._games.step(rows, choice.move)
        for row in listed:
            ended = self._ended(row)
            if ended is None:
                self._wait(row)
            else:
                yield self._outcome(row, *ended), row

    def _draw(self, row: int) -> float:
        uniform = self._uniform[row]
        return 0.0 if uniform is None else float(uniform[len(self._moves[row])])

    def _ended(self, row: int) -> tuple[str, str] | None:
        """Result and reason of a game that is over."""
        ending = Ending(int(self._games.ending[row]))
        if ending == Ending.CHECKMATE:
            return "0-1" if self._games.is_white[row] else "1-0", REASONS[ending]
        if ending != Ending.ONGOING:
            return "1/2-1/2", REASONS[ending]
        if self._game(row).opening.plies + len(self._moves[row]) >= self._max_plies:
            return "1/2-1/2", PLY_CAP
        return None

    def _outcome(self, row: int, result: str, reason: str) -> Outcome:
        return Outcome(self._game(row).number, result, reason, int(self._ties[row]), tuple(self._moves[row]))


def _evaluate(evaluator: Evaluator, planes: np.ndarray) -> tuple[Evaluation, list[str | None]]:
    """Outputs, and for every position what is wrong with them, if anything."""
    try:
        evaluation = evaluator(planes)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        if len(planes) == 1:
            return Evaluation(np.zeros((1, 1858), np.float32), np.zeros((1, 3), np.float32)), [
                f"{type(error).__name__}: {error}"
            ]
        # One by one, so that only the positions at fault pay, whatever stood beside them.
        parts = [_evaluate(evaluator, planes[place : place + 1]) for place in range(len(planes))]
        policy, wdl = zip(*(part[0] for part in parts), strict=True)
        return Evaluation(np.concatenate(policy), np.concatenate(wdl)), [part[1][0] for part in parts]
    is_finite = np.isfinite(evaluation.policy).all(1) & np.isfinite(evaluation.wdl).all(1)
    return evaluation, [None if fine else "outputs that are not finite" for fine in is_finite.tolist()]
