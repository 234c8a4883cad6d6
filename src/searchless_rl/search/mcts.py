"""The search: `run_mcts_batched` for many games in lockstep, `run_mcts` for one.

Each simulation walks down a tree by the largest Q + U, gives the new leaf its priors and its value by one
evaluation, and adds the value to everything on the way, the sign changing at every ply. Played is the move
with the most visits. There is no noise. A root is evaluated before its first simulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from searchless_rl.board import GameBatch
from searchless_rl.search.config import SearchConfig
from searchless_rl.search.expansion import Evaluate, Positions, final_values, priors
from searchless_rl.search.forest import NONE, Forest, Paths


@dataclass(frozen=True)
class SearchResult:
    """What a search found at N roots, the moves of each in descending order of their priors.

    Attributes:
        start: int64 [N + 1] bounds: root i has the moves start[i]:start[i + 1]; none if its game is over.
        move: int64 [M] policy indices.
        prior: float64 [M] P(s,a) of the network.
        visits: int64 [M] N(s,a).
        q: float64 [M] mean value of each move for the mover, -1 to 1; NaN where it was not visited.
        network_value: float64 [N] the network's own value of the root (exact if the game is over).
        value: float64 [N] the mean over the root's evaluation and all simulations.
    """

    start: np.ndarray
    move: np.ndarray
    prior: np.ndarray
    visits: np.ndarray
    q: np.ndarray
    network_value: np.ndarray
    value: np.ndarray

    def best(self) -> np.ndarray:
        """int64 [N] the most visited move of each root, -1 where its game is over.

        Among equals the one with the larger prior, then the lower index: with no simulation at all, the
        network's most likely move.
        """
        best = np.full(len(self.value), NONE)
        for row, (begin, end) in enumerate(zip(self.start, self.start[1:], strict=False)):
            if end > begin:
                best[row] = self.move[begin + self.visits[begin:end].argmax()]
        return best

    def line(self, row: int) -> slice:
        """Where the moves of a root are."""
        return slice(int(self.start[row]), int(self.start[row + 1]))


class Trees:
    """The trees of N games, kept from one search to the next.

    Args:
        count: N.
    """

    def __init__(self, count: int) -> None:
        self.forest, self.positions = Forest(), Positions()
        self.roots = np.full(count, NONE)
        """int64 [N] nodes, `NONE` where a tree has not begun."""

    def advance(self, rows: np.ndarray, moves: np.ndarray) -> None:
        """Make the node below a move the new root; everything beside it is dropped by the next search.

        Args:
            rows: int [n], distinct.
            moves: int [n] policy indices; a tree without that node begins anew.
        """
        forest = self.forest
        for row, move in zip(rows.tolist(), moves.tolist(), strict=True):
            root = self.roots[row]
            if root == NONE:
                continue
            edges = np.arange(forest.first[root], forest.first[root] + forest.count[root])
            found = edges[forest.move[edges] == move]
            self.roots[row] = forest.child[found[0]] if len(found) else NONE

    def restart(self, rows: np.ndarray) -> None:
        """Begin the trees of some games anew."""
        self.roots[rows] = NONE

    def best(self) -> np.ndarray:
        """int64 [N] the most visited move of each root, `NONE` where none was visited."""
        moves = np.full(len(self.roots), NONE)
        for row, root in enumerate(self.roots.tolist()):
            if root != NONE and self.forest.visits[root]:
                begin = self.forest.first[root]
                visits = self.forest.edge_visits[begin : begin + self.forest.count[root]]
                moves[row] = self.forest.move[begin + visits.argmax()]
        return moves

    def require_positions_of(self, games: GameBatch) -> None:
        """Compare the roots with the present positions of N games, by first position and moves.

        Raises:
            ValueError: a tree stands elsewhere than its game (its number is named).
        """
        begun = np.flatnonzero(self.roots != NONE)
        stands = self.positions.of(self.roots[begun])
        for place, row in enumerate(begun.tolist()):
            if (stands.fens[place], stands.moves[place]) != (games.fens[row], games.moves[row]):
                raise ValueError(
                    f"the tree of game {row} has its root in {stands.board_fen(place)}, the game stands in "
                    f"{games.board_fen(row)}: advance or restart the trees with their games"
                )

    def compact(self) -> None:
        """Drop every node that no root leads to."""
        old, positions = self.forest, self.positions
        kept = level = self.roots[self.roots != NONE]
        parents = np.full(len(kept), NONE)
        while len(level):
            edges = _ranges(old.first[level], old.count[level])
            edges = edges[old.child[edges] != NONE]
            level = old.child[edges]
            kept = np.concatenate([kept, level])
            parents = np.concatenate([parents, edges])
        forest, self.positions = Forest(), Positions()
        self.positions.add(positions.of(kept))
        new = forest.add_nodes(old.value[kept], old.is_final[kept])
        forest.visits[new], forest.total[new] = old.visits[kept], old.total[kept]
        edges = _ranges(old.first[kept], old.count[kept])
        forest.add_edges(new, old.count[kept], old.prior[edges], old.move[edges])
        added = np.arange(len(edges))
        forest.edge_visits[added], forest.edge_total[added] = old.edge_visits[edges], old.edge_total[edges]
        place = np.full(old.edges, NONE)
        place[edges] = added
        is_child = parents != NONE
        forest.child[place[parents[is_child]]] = new[is_child]
        self.forest = forest
        self.roots[self.roots != NONE] = new[: int((self.roots != NONE).sum())]


def _ranges(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """int64: first[i], first[i] + 1, ... count[i] numbers, one node after the other."""
    skipped = np.cumsum(count) - count
    numbers: np.ndarray = np.arange(int(count.sum())) + np.repeat(first - skipped, count)
    return numbers


def run_mcts_batched(
    games: GameBatch,
    evaluate: Evaluate,
    config: SearchConfig,
    *,
    simulations: int,
    trees: Trees | None = None,
) -> SearchResult:
    """Search the present positions of N games, in lockstep: one leaf of every tree is one batch.

    Args:
        games: N games; they are not changed. Repetitions and the fifty-move rule count from their beginnings.
        evaluate: the network, float32 [n, 112, 8, 8] planes -> `Evaluation`.
        config: parameters of the search.
        simulations: visits Σ_b N(root,b) that every root shall have, >= 0; a tree that was kept has some
            already. 0 only evaluates the roots.
        trees: trees of these games, to be kept (`Trees.advance`); by default new ones.

    Returns:
        What was found, and in `trees` the trees themselves.

    Raises:
        ValueError: simulations below 0, or trees of another number of games or of other positions.
        OutputError: the network's outputs are not finite (from `evaluate`). Whatever `evaluate` raises, the
            trees hold complete simulations only and can be searched on.
    """
    if simulations < 0:
        raise ValueError(f"{simulations} simulations: 0 or more are possible")
    kept = Trees(len(games)) if trees is None else trees
    if len(kept.roots) != len(games):
        raise ValueError(f"{len(kept.roots)} trees for {len(games)} games")
    kept.require_positions_of(games)
    if kept.positions.used:
        kept.compact()
    forest = kept.forest
    begun = np.flatnonzero(kept.roots == NONE)
    if len(begun):
        kept.roots[begun] = _create(kept, games.select(begun), evaluate)
    while True:
        missing = simulations - forest.visits[kept.roots]
        active = np.flatnonzero((missing > 0) & (forest.count[kept.roots] > 0))
        if not len(active):
            return _result(kept)
        _simulate(kept, kept.roots[active], np.minimum(missing[active], config.leaves), evaluate, config)


def _create(trees: Trees, games: GameBatch, evaluate: Evaluate) -> np.ndarray:
    """New nodes for positions: int64 [n]. Those of games that go on are evaluated and expanded."""
    is_final = games.over
    value = final_values(games)
    going = np.flatnonzero(~is_final)
    if len(going):
        legal = games.legal(going)
        evaluation = evaluate(games.planes(going))
        wdl = evaluation.wdl.astype(np.float64)
        value[going] = wdl[:, 0] - wdl[:, 2]
    nodes = trees.forest.add_nodes(value, is_final)
    trees.positions.add(games)
    if len(going):
        prior, move = priors(evaluation.policy, legal)
        trees.forest.add_edges(nodes[going], np.diff(legal.start), prior, move)
    return nodes


def _simulate(
    trees: Trees, roots: np.ndarray, leaves: np.ndarray, evaluate: Evaluate, config: SearchConfig
) -> None:
    """One round: up to leaves[i] simulations in each tree, their new leaves evaluated in one batch."""
    forest = trees.forest
    walks: list[Paths] = []
    is_parallel = int(leaves.max()) > 1
    for number in range(int(leaves.max())):
        paths = forest.walk(roots[leaves > number], config)
        walks.append(paths)
        if is_parallel:
            forest.expect(paths, config.virtual_loss)
    last = np.concatenate([paths.last for paths in walks])
    leaf = np.concatenate([paths.leaf for paths in walks])
    wanted = np.unique(last[leaf == NONE])
    try:
        if len(wanted):
            games = trees.positions.of(forest.origin[wanted])
            games.step(np.arange(len(wanted)), forest.move[wanted])
            forest.child[wanted] = _create(trees, games, evaluate)
    finally:
        if is_parallel:
            for paths in walks:
                forest.settle(paths, config.virtual_loss)
    for paths in walks:
        reached = np.where(paths.last == NONE, paths.leaf, forest.child[paths.last])
        forest.back_up(paths, forest.value[reached])


def _result(trees: Trees) -> SearchResult:
    forest, roots = trees.forest, trees.roots
    edges = _ranges(forest.first[roots], forest.count[roots])
    visits, total = forest.edge_visits[edges], forest.edge_total[edges]
    return SearchResult(
        start=np.concatenate([[0], np.cumsum(forest.count[roots])]),
        move=forest.move[edges],
        prior=forest.prior[edges],
        visits=visits,
        q=np.where(visits > 0, total / np.maximum(visits, 1), np.nan),
        network_value=forest.value[roots],
        value=forest.total[roots] / (forest.visits[roots] + 1),
    )


def run_mcts(
    game: GameBatch, evaluate: Evaluate, config: SearchConfig, *, simulations: int, trees: Trees | None = None
) -> SearchResult:
    """Search the position of one game: `run_mcts_batched` for a batch of one.

    With `config.leaves` > 1 several leaves of the one tree are evaluated together.

    Raises:
        ValueError: not one game, and what `run_mcts_batched` raises.
    """
    if len(game) != 1:
        raise ValueError(f"{len(game)} games; run_mcts_batched searches several")
    return run_mcts_batched(game, evaluate, config, simulations=simulations, trees=trees)
