"""Games between searchless players, thousands at a time in one process (paper sections 3.2, 3.4, appendix F).

Games do not wait for each other: of all networks, the one with the most positions waiting is asked next,
about a full batch of them. Games that have taken the same course so far ask a network once, and argmax moves
are remembered while games of their opening go on, since networks tuned from one base agree for many moves. A
network sees its positions in one padded shape only, and a game's random numbers have an address of their own,
so that a game is the same whatever is played beside it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import torch

from searchless_rl.arena.openings import Opening
from searchless_rl.arena.players import Player, pick_moves
from searchless_rl.arena.randomness import Stream, game_uniforms
from searchless_rl.arena.schedule import Game
from searchless_rl.board import Ending, GameBatch, LegalMoves
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
        max_loaded: networks in memory at a time, at least 1 (default: all; BT4 takes 0.75 GB each); those
            that do not fit are loaded again when it is their turn. Changes no result.

    Raises:
        ValueError: an opening that leaves no ply to play below `max_plies`, or a number below 1.
        MemoryError, torch.OutOfMemoryError: as they come. Any other failure of a network on a position ends
            that game alone, as an `Outcome` with `failed`.
    """
    for name, value in (("in_flight", in_flight), ("max_loaded", max_loaded)):
        if value is not None and value < 1:
            raise ValueError(f"{name}: {value} is not allowed; allowed: 1, 2, ...")
    for game in games:
        if game.opening.plies >= max_plies:
            raise ValueError(
                f"opening {game.opening.id}: ply {game.opening.plies}, not below max_plies = {max_plies}"
            )
    hall = _Hall(players, load, seed, max_plies, max_loaded)
    # Opening by opening, so that games of common course are in flight together.
    rank = {opening: number for number, opening in enumerate(dict.fromkeys(game.opening for game in games))}
    by_opening = sorted(games, key=lambda game: rank[game.opening])
    yield from hall.play(iter(by_opening), min(in_flight, len(games)))


class _Lines:
    """The lines played from an opening: their numbers, and the argmax moves known after them."""

    def __init__(self) -> None:
        self._following: dict[tuple[int, int], int] = {}
        self.known: dict[tuple[Path, int], tuple[int, bool]] = {}
        """(weights, line) -> policy index and whether it is tied."""

    def follow(self, line: int, index: int) -> int:
        """Number of the line that continues `line` (0 is the opening) with a move."""
        return self._following.setdefault((line, index), len(self._following) + 1)


_Place = tuple[_Lines, int]


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
        # By weights, then by place: the rows that stand there, all answered at once.
        self._waiting: dict[Path, dict[_Place, list[int]]] = {player.weights: {} for player in players}
        self._answered: list[tuple[int, int, bool]] = []  # row, move, tied: known without asking
        # Of an opening while rows hold them.
        self._lines: WeakValueDictionary[Opening, _Lines] = WeakValueDictionary()

    def play(self, games: Iterator[Game], rows: int) -> Iterator[Outcome]:
        """Play `games`, `rows` at a time."""
        self._games = GameBatch([None] * rows)
        self._seats: list[Game | None] = [None] * rows
        self._places: list[_Place | None] = [None] * rows
        self._moves: list[list[str]] = [[] for _ in range(rows)]
        self._ties = np.zeros(rows, np.int64)
        self._uniform: list[np.ndarray | None] = [None] * rows
        self._seat(range(rows), list(islice(games, rows)))
        while True:
            if self._answered:
                ended = self._step_answered()
            else:
                weights = max(self._waiting, key=self._urgency)
                if not self._waiting[weights]:
                    return
                ended = self._ask(weights)
            yield from (outcome for outcome, _ in ended)
            for _, row in ended:
                self._places[row] = None
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
        self._games.play([game.opening.moves for game in games], np.array(rows, np.int64))
        for row, game in zip(rows, games, strict=True):
            lines = self._lines.setdefault(game.opening, _Lines())
            self._seats[row] = game
            self._places[row] = (lines, 0)
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
        """Have a row's next move found."""
        mover, place = self._mover(row), self._place(row)
        known = None if mover.is_sampled else place[0].known.get((mover.weights, place[1]))
        if known is None:
            self._waiting[mover.weights].setdefault(place, []).append(row)
        else:
            self._answered.append((row, *known))

    def _place(self, row: int) -> _Place:
        place = self._places[row]
        assert place is not None
        return place

    def _game(self, row: int) -> Game:
        game = self._seats[row]
        assert game is not None
        return game

    def _mover(self, row: int) -> Player:
        game = self._game(row)
        return self._players[game.white if self._games.is_white[row] else game.black]

    def _ask(self, weights: Path) -> list[tuple[Outcome, int]]:
        """Let a network answer a batch; the games that end with it, and their rows."""
        evaluator, queue = self._evaluator(weights), self._waiting[weights]
        groups = [queue.pop(place) for place in list(islice(queue, evaluator.batch_size))]
        heads = np.array([group[0] for group in groups])
        evaluation, faults = _evaluate(evaluator, self._games.planes(heads))
        ended, rows, answers = [], [], []
        for answer, (group, fault) in enumerate(zip(groups, faults, strict=True)):
            if fault is None:
                rows += group
                answers += [answer] * len(group)
            else:
                ended += [(self._failure(row, fault), row) for row in group]
        if not rows:
            return ended
        uniform = np.array([self._draw(row) for row in rows])
        temperatures = [self._mover(row).temperature for row in rows]
        policy, wdl = (part[answers] for part in evaluation)
        legal = _repeat(self._games.legal(heads), answers)
        choice = pick_moves(Evaluation(policy, wdl), legal, temperatures, uniform)
        moves, tied = choice.move.tolist(), choice.tied.tolist()
        for row, temperature, move, is_tied in zip(rows, temperatures, moves, tied, strict=True):
            if temperature == 0:
                lines, line = self._place(row)
                lines.known[weights, line] = (move, is_tied)
        return ended + self._step(rows, moves, tied)

    def _step_answered(self) -> list[tuple[Outcome, int]]:
        rows, moves, tied = (list(part) for part in zip(*self._answered, strict=True))
        self._answered.clear()
        return self._step(rows, moves, tied)

    def _step(self, rows: list[int], moves: list[int], tied: list[bool]) -> list[tuple[Outcome, int]]:
        """One move in each of `rows`; the games that end with it, and their rows."""
        for row, move in zip(rows, moves, strict=True):
            self._moves[row].append(self._games.uci(row, move))
            lines, line = self._place(row)
            self._places[row] = (lines, lines.follow(line, move))
        self._ties[rows] += tied
        self._games.step(np.array(rows), np.array(moves))
        ended = []
        for row in rows:
            verdict = self._verdict(row)
            if verdict is None:
                self._wait(row)
            else:
                ended.append((self._outcome(row, *verdict), row))
        return ended

    def _failure(self, row: int, fault: str) -> Outcome:
        reason = f"{self._mover(row).name}: {fault} in {self._games.board_fen(row)}"
        return self._outcome(row, "*", reason)

    def _draw(self, row: int) -> float:
        uniform = self._uniform[row]
        return 0.0 if uniform is None else float(uniform[len(self._moves[row])])

    def _verdict(self, row: int) -> tuple[str, str] | None:
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


def _repeat(legal: LegalMoves, positions: list[int]) -> LegalMoves:
    """The moves of the listed positions, which may be listed several times or not at all."""
    if positions == list(range(len(legal.start) - 1)):
        return legal
    moves = [legal.index[legal.start[position] : legal.start[position + 1]] for position in positions]
    counts = [len(each) for each in moves]
    return LegalMoves(
        np.concatenate(moves), np.repeat(np.arange(len(moves)), counts), np.cumsum([0, *counts])
    )


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
