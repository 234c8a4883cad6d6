"""Games between searchless players, thousands at a time in one process (paper sections 3.2, 3.4, appendix F).

Games do not wait for each other: the next batches go to the networks for which most positions wait. Games
that have taken the same course so far have their position evaluated once, and argmax moves are remembered
while games of their opening go on, since networks tuned from one base agree for many moves. A network sees
its positions in one padded shape only, and a game's random numbers have an address of their own, so that a
game is the same whatever is played beside it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
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
_AT_ONCE = 256
"""Positions that are encoded and moved in together, though evaluated batch by batch: most of the time outside
forward passes is what NumPy takes for a call, whatever its size."""


@dataclass(frozen=True)
class Outcome:
    """A finished game, or one that broke off.

    Attributes:
        number: of the game in its schedule.
        result: "1-0", "0-1" or "1/2-1/2"; "*" where it broke off.
        reason: one of `REASONS`, `PLY_CAP`, or why it broke off.
        ties: number of argmax moves that another move tied.
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
        games: the schedule.
        players: the players that the games refer to.
        load: makes the evaluator of a weights file; all must have one batch shape. One per file is kept.
        seed: seed of the sampled moves.
        max_plies: a game this long, counted from the standard start position, is a draw.
        in_flight: games at a time, at least 1; bounds memory and changes no result.
        max_loaded: networks in memory at a time, at least 1 (default: all; BT4 takes 0.75 GB each); those
            that do not fit are loaded again when it is their turn. Changes no result.

    Yields:
        One outcome a game.

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
    runner = _Runner(players, load, seed, max_plies, max_loaded, min(in_flight, len(games)))
    # Opening by opening, so that games of common course are in flight together.
    rank = {opening: number for number, opening in enumerate(dict.fromkeys(game.opening for game in games))}
    yield from runner.play(iter(sorted(games, key=lambda game: rank[game.opening])))


class _MoveTree:
    """The courses that games of one opening have taken: a tree of moves with the opening as node 0."""

    def __init__(self) -> None:
        self._children: dict[tuple[int, int], int] = {}
        self.argmax: dict[tuple[Path, int], tuple[int, bool]] = {}
        """(weights, node) -> policy index of the argmax move there and whether it is tied, where known."""

    def child(self, node: int, index: int) -> int:
        """The node to which a move leads from `node`."""
        return self._children.setdefault((node, index), len(self._children) + 1)


@dataclass
class _BoardRow:
    """The game on one row of the batch.

    Attributes:
        game: as scheduled.
        tree: of its opening.
        node: of the tree, where the game stands.
        uniform: one random number for every ply up to the cap, so that a ply's number has a fixed place; None
            where both players play the argmax.
        moves: UCI, after the opening.
        ties: argmax moves so far that another move tied.
    """

    game: Game
    tree: _MoveTree
    uniform: np.ndarray | None
    node: int = 0
    moves: list[str] = field(default_factory=list)
    ties: int = 0

    @property
    def position(self) -> tuple[_MoveTree, int]:
        """Equal for games that have taken the same course from the same opening."""
        return self.tree, self.node

    def outcome(self, result: str, reason: str) -> Outcome:
        """The game as it ended."""
        return Outcome(self.game.number, result, reason, self.ties, tuple(self.moves))


_Ended = list[tuple[int, Outcome]]
"""Rows whose games have ended, and how."""
_Waiting = tuple[Path, list[list[int]]]
"""A network, and for each position of a batch the rows that stand there."""


class _Runner:
    """The games in flight, one per row of a batch, and the positions that wait for each network."""

    def __init__(
        self,
        players: Sequence[Player],
        load: Callable[[Path], Evaluator],
        seed: int,
        max_plies: int,
        max_loaded: int | None,
        rows: int,
    ) -> None:
        self._players = players
        self._load = load
        self._seed = seed
        self._max_plies = max_plies
        self._max_loaded = max_loaded
        self._batch = GameBatch([None] * rows)
        self._rows: dict[int, _BoardRow] = {}
        self._loaded: OrderedDict[Path, Evaluator] = OrderedDict()  # the longest unused first
        # By weights, then by position: the rows that stand there, which one evaluation serves.
        self._waiting: dict[Path, dict[tuple[_MoveTree, int], list[int]]] = {
            player.weights: {} for player in players
        }
        self._known: list[tuple[int, int, bool]] = []  # row, argmax move, tied: no evaluation needed
        self._trees: WeakValueDictionary[Opening, _MoveTree] = WeakValueDictionary()  # while rows hold them

    def play(self, games: Iterator[Game]) -> Iterator[Outcome]:
        """Play `games`, as many at a time as there are rows."""
        free = list(range(len(self._batch)))
        while True:
            self._start(free, games)
            if self._known:
                ended = self._play_known()
            else:
                batches = self._take()
                if not batches:
                    return
                ended = self._play_evaluated(batches)
            yield from (outcome for _, outcome in ended)
            free = [row for row, _ in ended]
            for row in free:
                del self._rows[row]

    def _start(self, free: Sequence[int], games: Iterator[Game]) -> None:
        """Begin the next games on free rows."""
        following = list(islice(games, len(free)))
        rows = free[: len(following)]
        self._batch.restart(np.array(rows, np.int64), [game.opening.fen for game in following])
        self._batch.play([game.opening.moves for game in following], np.array(rows, np.int64))
        for row, game in zip(rows, following, strict=True):
            tree = self._trees.setdefault(game.opening, _MoveTree())
            self._rows[row] = _BoardRow(game, tree, self._uniform(game))
            self._enqueue(row)

    def _uniform(self, game: Game) -> np.ndarray | None:
        if not (self._players[game.white].is_sampled or self._players[game.black].is_sampled):
            return None
        return game_uniforms(Stream.ARENA, self._seed, game.address, self._max_plies)

    def _mover(self, row: int) -> Player:
        game = self._rows[row].game
        return self._players[game.white if self._batch.is_white[row] else game.black]

    def _enqueue(self, row: int) -> None:
        """Have a row's next move found."""
        mover, here = self._mover(row), self._rows[row]
        known = None if mover.is_sampled else here.tree.argmax.get((mover.weights, here.node))
        if known is None:
            self._waiting[mover.weights].setdefault(here.position, []).append(row)
        else:
            self._known.append((row, *known))

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

    def _play_known(self) -> _Ended:
        rows, moves, tied = (list(part) for part in zip(*self._known, strict=True))
        self._known.clear()
        return self._step(rows, moves, tied)

    def _take(self) -> list[_Waiting]:
        """The most urgent batch of waiting positions, and more as long as they are full and few enough."""
        taken: list[_Waiting] = []
        size = 0
        while (len(taken) + 1) * size <= _AT_ONCE:
            weights = max(self._waiting, key=self._urgency)
            queue = self._waiting[weights]
            if not queue or len(queue) < size:
                break
            size = self._evaluator(weights).batch_size
            taken.append((weights, [queue.pop(position) for position in list(islice(queue, size))]))
        return taken

    def _play_evaluated(self, batches: Sequence[_Waiting]) -> _Ended:
        """Evaluate waiting positions and move in all their rows; the games that end with it."""
        groups = [group for _, batch in batches for group in batch]
        heads = np.array([group[0] for group in groups])
        evaluation, faults = self._evaluate(batches, self._batch.planes(heads))
        ended: _Ended = []
        rows, places = [], []  # the rows to move in, and the place in `evaluation` of each
        for place, (group, fault) in enumerate(zip(groups, faults, strict=True)):
            if fault is None:
                rows += group
                places += [place] * len(group)
            else:
                ended += [(row, self._failure(row, fault)) for row in group]
        if not rows:
            return ended
        uniform = np.array([self._draw(row) for row in rows])
        temperatures = [self._mover(row).temperature for row in rows]
        policy, wdl = (part[places] for part in evaluation)
        legal = _repeat(self._batch.legal(heads), places)
        choice = pick_moves(Evaluation(policy, wdl), legal, temperatures, uniform)
        moves, tied = choice.move.tolist(), choice.tied.tolist()
        for row, temperature, move, is_tied in zip(rows, temperatures, moves, tied, strict=True):
            if temperature == 0:
                here = self._rows[row]
                here.tree.argmax[self._mover(row).weights, here.node] = (move, is_tied)
        return ended + self._step(rows, moves, tied)

    def _evaluate(
        self, batches: Sequence[_Waiting], planes: np.ndarray
    ) -> tuple[Evaluation, list[str | None]]:
        """`_evaluate` of every batch by its network, one after the other."""
        parts, begin = [], 0
        for weights, batch in batches:
            parts.append(_evaluate(self._evaluator(weights), planes[begin : begin + len(batch)]))
            begin += len(batch)
        policy, wdl = zip(*(evaluation for evaluation, _ in parts), strict=True)
        faults = [fault for _, faults in parts for fault in faults]
        return Evaluation(np.concatenate(policy), np.concatenate(wdl)), faults

    def _step(self, rows: list[int], moves: list[int], tied: list[bool]) -> _Ended:
        """One move in each of `rows`; the games that end with it."""
        for row, move, is_tied in zip(rows, moves, tied, strict=True):
            here = self._rows[row]
            here.moves.append(self._batch.uci(row, move))
            here.node = here.tree.child(here.node, move)
            here.ties += is_tied
        self._batch.step(np.array(rows), np.array(moves))
        ended: _Ended = []
        for row in rows:
            verdict = self._verdict(row)
            if verdict is None:
                self._enqueue(row)
            else:
                ended.append((row, self._rows[row].outcome(*verdict)))
        return ended

    def _failure(self, row: int, fault: str) -> Outcome:
        reason = f"{self._mover(row).name}: {fault} in {self._batch.board_fen(row)}"
        return self._rows[row].outcome("*", reason)

    def _draw(self, row: int) -> float:
        here = self._rows[row]
        return 0.0 if here.uniform is None else float(here.uniform[len(here.moves)])

    def _verdict(self, row: int) -> tuple[str, str] | None:
        """Result and reason of a game that is over."""
        ending, here = Ending(int(self._batch.ending[row])), self._rows[row]
        if ending == Ending.CHECKMATE:
            return "0-1" if self._batch.is_white[row] else "1-0", REASONS[ending]
        if ending != Ending.ONGOING:
            return "1/2-1/2", REASONS[ending]
        if here.game.opening.plies + len(here.moves) >= self._max_plies:
            return "1/2-1/2", PLY_CAP
        return None


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
