"""The search as the source tells it, one simulation at a time, on python-chess and plain objects."""

from __future__ import annotations

import math

import chess
import numpy as np

from searchless_rl.board import encode_game, move_index


class Node:
    def __init__(self, value, children):
        self.value = value  # for the side to move
        self.children = children  # moves in descending order of the prior; empty: the game is over
        self.visits = 0
        self.total = value


class Child:
    def __init__(self, move, index, prior):
        self.move, self.index, self.prior = move, index, prior
        self.visits, self.total, self.node = 0, 0.0, None


def expand(board, root_fen, evaluate):
    """A new node: exact where the game is over, else one evaluation."""
    if board.is_checkmate():
        return Node(-1.0, [])
    is_drawn = board.is_stalemate() or board.is_insufficient_material() or board.halfmove_clock >= 100
    if is_drawn or board.is_repetition(3):
        return Node(0.0, [])
    planes = encode_game(root_fen, [move.uci() for move in board.move_stack])
    policy, wdl = evaluate(planes[None])
    moves = list(board.legal_moves)
    indices = [move_index(board, move) for move in moves]
    logits = [float(policy[0, index]) for index in indices]
    weights = [math.exp(logit - max(logits)) for logit in logits]
    order = sorted(range(len(moves)), key=lambda place: (-logits[place], indices[place]))
    total = sum(weights[place] for place in sorted(range(len(moves)), key=lambda place: indices[place]))
    children = [Child(moves[place], indices[place], weights[place] / total) for place in order]
    return Node(float(wdl[0, 0]) - float(wdl[0, 2]), children)


def best_child(node, c_puct, reduction):
    def score(child):
        q = child.total / child.visits if child.visits else node.total / (node.visits + 1) - reduction
        return q + c_puct * child.prior * math.sqrt(node.visits) / (1 + child.visits)

    scores = [score(child) for child in node.children]
    return node.children[int(np.argmax(scores))]


def simulate(root, board, root_fen, evaluate, c_puct, reduction):
    node, path = root, []
    while node is not None and node.children:
        child = best_child(node, c_puct, reduction)
        path.append((node, child))
        board.push(child.move)
        node = child.node
    if node is None:
        node = path[-1][1].node = expand(board, root_fen, evaluate)
    value = node.value
    for parent, child in reversed(path):
        value = -value
        for what in (parent, child):
            what.visits += 1
            what.total += value
        board.pop()


def search(root_fen, moves, evaluate, simulations, c_puct=1.5, reduction=0.25):
    """{policy index: visits} of the root, and the root."""
    board = chess.Board(root_fen or chess.STARTING_FEN)
    for move in moves:
        board.push_uci(move)
    root = expand(board, root_fen, evaluate)
    for _ in range(simulations if root.children else 0):
        simulate(root, board, root_fen, evaluate, c_puct, reduction)
    return {child.index: child.visits for child in root.children}, root
