"""Many search trees in arrays: nodes, the edges to their children, selection and backup.

A node is a position, an edge a legal move of it. The edges of a node are neighbours, in the order of their
priors, so that whatever is equal goes to the larger prior (and, among equal priors, to the lower policy
index). All trees share the arrays, and every step is taken for all trees that take it at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from searchless_rl.search.config import SearchConfig

NONE = -1
"""No node: an edge whose child has not been visited, a tree without a root."""
_GROWTH = 1.5


@dataclass(frozen=True)
class Paths:
    """One walk down each of n trees, from the root to a leaf.

    Attributes:
        edges: for each ply, int64 edges walked, one for each tree still walking.
        owners: for each ply, int64 which of the n trees they belong to.
        leaf: int64 [n] the node reached, `NONE` where the last edge leads to a new one.
        last: int64 [n] the last edge, `NONE` where the root itself is the leaf.
    """

    edges: list[np.ndarray]
    owners: list[np.ndarray]
    leaf: np.ndarray
    last: np.ndarray


class Forest:
    """Nodes and edges of all trees.

    Attributes:
        first, count: int64 [nodes] a node's first edge and how many it has; 0 until it is expanded.
        visits: int64 [nodes] Σ_b N(s,b).
        value: float64 [nodes] the node's own evaluation, win minus loss for its side to move.
        total: float64 [nodes] `value` plus what its edges brought, so that total / (visits + 1) is the mean.
        is_final: bool [nodes] the game ends here; `value` is then exact.
        prior, edge_visits, edge_total, child, move, origin: of the edges: P(s,a), N(s,a), W(s,a) for the
            mover, the node below, the policy index and the node above.
    """

    def __init__(self) -> None:
        self.nodes = self.edges = 0
        self.first = np.zeros(0, np.int64)
        self.count = np.zeros(0, np.int64)
        self.visits = np.zeros(0, np.int64)
        self.value = np.zeros(0, np.float64)
        self.total = np.zeros(0, np.float64)
        self.is_final = np.zeros(0, bool)
        self.prior = np.zeros(0, np.float64)
        self.edge_visits = np.zeros(0, np.int64)
        self.edge_total = np.zeros(0, np.float64)
        self.child = np.zeros(0, np.int64)
        self.move = np.zeros(0, np.int64)
        self.origin = np.zeros(0, np.int64)

    _NODE_ARRAYS = ("first", "count", "visits", "value", "total", "is_final")
    _EDGE_ARRAYS = ("prior", "edge_visits", "edge_total", "child", "move", "origin")

    def add_nodes(self, value: np.ndarray, is_final: np.ndarray) -> np.ndarray:
        """New nodes without edges; int64 [n] their numbers."""
        new = self._room("nodes", self._NODE_ARRAYS, len(value))
        self.first[new] = self.count[new] = self.visits[new] = 0
        self.value[new] = self.total[new] = value
        self.is_final[new] = is_final
        return new

    def add_edges(self, nodes: np.ndarray, counts: np.ndarray, prior: np.ndarray, move: np.ndarray) -> None:
        """Expand nodes: their edges, node after node, each node's in descending order of the prior.

        Args:
            nodes: int64 [n], without edges so far.
            counts: int64 [n] edges of each.
            prior: float64 [m].
            move: int64 [m] policy indices.
        """
        new = self._room("edges", self._EDGE_ARRAYS, len(prior))
        self.prior[new], self.move[new] = prior, move
        self.edge_visits[new], self.edge_total[new], self.child[new] = 0, 0.0, NONE
        self.origin[new] = np.repeat(nodes, counts)
        begin = new[0] if len(new) else 0
        self.first[nodes] = begin + np.cumsum(counts) - counts
        self.count[nodes] = counts

    def _room(self, what: str, arrays: tuple[str, ...], more: int) -> np.ndarray:
        used: int = getattr(self, what)
        if used + more > len(getattr(self, arrays[0])):
            size = int((used + more) * _GROWTH) + 1
            for name in arrays:
                old = getattr(self, name)
                grown = np.empty(size, old.dtype)
                grown[:used] = old[:used]
                setattr(self, name, grown)
        setattr(self, what, used + more)
        return np.arange(used, used + more)

    def walk(self, roots: np.ndarray, config: SearchConfig) -> Paths:
        """Follow the best edges from each root to a leaf.

        Args:
            roots: int64 [n] nodes.
            config: of the search.
        """
        leaf, last = roots.copy(), np.full(len(roots), NONE)
        edges: list[np.ndarray] = []
        owners: list[np.ndarray] = []
        walking = np.flatnonzero(self.count[leaf] > 0)
        while len(walking):
            chosen = self.best_edges(leaf[walking], config)
            edges.append(chosen)
            owners.append(walking)
            last[walking], leaf[walking] = chosen, self.child[chosen]
            goes_on = leaf[walking] != NONE
            goes_on[goes_on] = self.count[leaf[walking[goes_on]]] > 0
            walking = walking[goes_on]
        return Paths(edges, owners, leaf, last)

    def best_edges(self, nodes: np.ndarray, config: SearchConfig) -> np.ndarray:
        """int64 [n]: the edge of each node that maximises Q + U; the larger prior wins ties.

        U(s,a) = c_puct · P(s,a) · √Σ_b N(s,b) / (1 + N(s,a)), as the source gives it.
        """
        counts = self.count[nodes]
        column = np.arange(int(counts.max()))
        edge = self.first[nodes][:, None] + column
        missing = column >= counts[:, None]
        edge[missing] = 0
        visits = self.edge_visits[edge]
        parent = self.visits[nodes]
        unvisited = self.total[nodes] / (parent + 1) - config.unvisited_reduction
        mean = np.where(visits > 0, self.edge_total[edge] / np.maximum(visits, 1), unvisited[:, None])
        bonus = config.c_puct * self.prior[edge] * np.sqrt(parent)[:, None] / (1 + visits)
        score = mean + bonus
        score[missing] = -np.inf
        best: np.ndarray = edge[np.arange(len(nodes)), score.argmax(1)]
        return best

    def back_up(self, paths: Paths, value: np.ndarray) -> None:
        """Count the walks, and add their leaves' values, seen by the mover of every node on the way.

        Args:
            paths: walks in distinct trees.
            value: float64 [n] of each leaf, for its own side to move.
        """
        plies = np.zeros(len(value), np.int64)
        for owners in paths.owners:
            plies[owners] += 1
        for depth, (edges, owners) in enumerate(zip(paths.edges, paths.owners, strict=True)):
            is_opponents = (plies[owners] - depth) % 2 == 1  # the sign flips at every ply, chess alternates
            self._add(edges, 1, np.where(is_opponents, -value[owners], value[owners]))

    def expect(self, paths: Paths, loss: float) -> None:
        """Count walks whose values are not known yet as visited and lost by `loss`."""
        for edges in paths.edges:
            self._add(edges, 1, np.full(len(edges), -loss))

    def settle(self, paths: Paths, loss: float) -> None:
        """Take back what `expect` added."""
        for edges in paths.edges:
            self._add(edges, -1, np.full(len(edges), loss))

    def _add(self, edges: np.ndarray, visits: int, total: np.ndarray) -> None:
        nodes = self.origin[edges]
        self.edge_visits[edges] += visits
        self.edge_total[edges] += total
        self.visits[nodes] += visits
        self.total[nodes] += total
