"""One ply of many games with lczerolens' encoder and python-chess' rules: the baseline of selfplay.py.

    python benchmarks/lczerolens_baseline.py GAMES.json THREADS

It runs in an environment of its own (`selfplay.py --make-baseline`) and is started by `selfplay.py`:
GAMES.json holds the UCI moves of some games, each line of standard input names a ply, and each line of
standard output is what that ply took.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import time
import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import chess
import torch


def board_class() -> type[Any]:
    """``LczeroBoard``, imported without its package: that would bring a converter of ONNX networks along."""
    specification = importlib.util.find_spec("lczerolens")
    if specification is None:
        raise SystemExit("lczerolens is not installed here; run selfplay.py with --make-baseline")
    package = types.ModuleType("lczerolens")
    package.__path__ = list(specification.submodule_search_locations or [])
    sys.modules["lczerolens"] = package
    board: type[Any] = importlib.import_module("lczerolens.board").LczeroBoard
    return board


def play_ply(boards: Sequence[Any], logits: torch.Tensor) -> dict[str, float]:
    """Encode every board, sample a move from the softmax over its legal moves, play it, test for the end.

    Args:
        boards: of lczerolens' board class, none of them over; finished ones begin again.
        logits: float32 [N, 1858].

    Returns:
        Seconds: encode; play; end, the test with claims of draws, which asks also whether some next move
        could claim one; end_now, the test for what stands on the board. And legal_moves, a count.
    """
    begun = time.perf_counter()
    torch.stack([board.to_input_tensor() for board in boards])
    encoded = time.perf_counter()
    count = 0
    for board, row in zip(boards, logits, strict=True):
        moves = list(board.legal_moves)
        index = torch.tensor([board.encode_move(move, board.turn) for move in moves])
        choice = torch.multinomial(torch.softmax(row[index], 0), 1)
        board.push(moves[int(choice)])
        count += len(moves)
    played = time.perf_counter()
    for board in boards:
        _ = board.outcome() or board.is_repetition(3) or board.is_fifty_moves()
    stands = time.perf_counter()
    for board in boards:
        if board.outcome(claim_draw=True):
            board.reset()
    judged = time.perf_counter()
    return {
        "encode": encoded - begun,
        "play": played - encoded,
        "end_now": stands - played,
        "end": judged - stands,
        "legal_moves": count,
    }


def replay(board: type[Any], moves: Iterable[str]) -> Any:
    """The board after UCI moves from the standard position, its history kept."""
    game = board()
    for uci in moves:
        game.push(chess.Move.from_uci(uci))
    return game


def main() -> None:
    """Answer plies until standard input ends."""
    games = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    torch.set_num_threads(int(sys.argv[2]))
    board = board_class()
    logits = torch.randn(len(games), 1858, generator=torch.Generator().manual_seed(0))
    at: dict[int, list[Any]] = {}
    for line in sys.stdin:
        ply = int(line)
        if ply not in at:
            at[ply] = [replay(board, moves[:ply]) for moves in games]
        answer = play_ply([game.copy() for game in at[ply]], logits)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
