"""Candidate moves of single positions, judged by three policies, the base's value head and an oracle.

They are what Figure 9 shows (paper appendix H): would the advantage 1 − v(s′) have told the network that the
move it ranked low was the winning one?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from searchless_rl.board import Ending, GameBatch
from searchless_rl.evaluation.policy import log_probabilities, ranks
from searchless_rl.evaluation.recovery import parting_positions
from searchless_rl.evaluation.tactics import first_positions
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.results.names import BASE
from searchless_rl.suites.files import SuiteItem

TOP = 2  # most likely moves of every player that become candidates
EXAMPLES = 3
FORWARD, REVERSE = "forward", "reverse"
PLAYERS = (BASE, FORWARD, REVERSE)
COLUMNS = (
    *("recovered_by", "puzzle_id", "rating", "turn", "fen", "last_move", "move", "marked", "winning"),
    *("rank", *PLAYERS, "value", "oracle"),
)

Oracle = Callable[[str, Sequence[str]], Sequence[float]]
"""FEN and UCI moves -> expected score of each move for the side to move, 0..1 (a loss 0, a win 1)."""


def choose_examples(frame: pd.DataFrame, forward: str, reverse: str, count: int = EXAMPLES) -> pd.DataFrame:
    """The clearest exclusive recoveries of both anchors, by the rule of `recovery.parting_positions`.

    Args:
        frame: of `recovery.side_by_side`.
        forward: the forward-KL model's name in it.
        reverse: the reverse-KL model's.
        count: of each at most.

    Returns:
        Columns recovered_by ("forward", "reverse"), puzzle_id, rating, turn.
    """
    parts = []
    for role, model, other in ((FORWARD, forward, reverse), (REVERSE, reverse, forward)):
        rows = parting_positions(frame, model, other, count)[["puzzle_id", "rating", "turn"]]
        parts.append(rows.assign(recovered_by=role))
    return pd.concat(parts, ignore_index=True)


def judge_candidates(
    examples: pd.DataFrame,
    items: Sequence[SuiteItem],
    players: Mapping[str, Evaluator],
    oracle: Oracle | None = None,
) -> pd.DataFrame:
    """Evaluate the candidate moves of every example: the first few of each player and the marked one.

    Args:
        examples: of `choose_examples`.
        items: the suite they come from.
        players: "base", "forward" and "reverse".
        oracle: a stronger judge, where there is one.

    Returns:
        One row per candidate, example by example, by falling π of the base: recovered_by, puzzle_id, rating,
        turn, fen (of the position), last_move (UCI, the opponent's), move (UCI), marked, winning (in W(s)),
        rank (the base's), base, forward, reverse (π), value (1 − v_base of the position after the move, with
        v = W + D/2; by the rules where the game is over) and oracle (NaN without one).

    Raises:
        ValueError: an example is not among `items` (the puzzle named).
    """
    if examples.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    by_id = {item.puzzle.id: item for item in items}
    missing = [name for name in examples["puzzle_id"] if name not in by_id]
    if missing:
        raise ValueError(f"puzzle {missing[0]} is not in the suite. Run the stage `recovery` again.")
    asked = [(by_id[name], turn) for name, turn in zip(examples["puzzle_id"], examples["turn"], strict=True)]
    games = first_positions([item for item, _ in asked])
    games.play([item.puzzle.moves[: 2 * turn + 1] for item, turn in asked])

    legal = games.legal()
    logits = {player: players[player](games.planes()).policy for player in PLAYERS}
    places = {player: ranks(logits[player], legal) for player in PLAYERS}
    marked = np.array([games.index(row, item.winning[turn][0]) for row, (item, turn) in enumerate(asked)])
    is_marked = legal.index == marked[legal.row]
    is_candidate = np.logical_or.reduce([is_marked, *(place <= TOP for place in places.values())])
    by_base = np.lexsort((places[BASE], legal.row))
    kept = by_base[is_candidate[by_base]]

    rows, moves = legal.row[kept], legal.index[kept]
    names = [games.uci(row, move) for row, move in zip(rows.tolist(), moves.tolist(), strict=True)]
    winning = [asked[row][0].winning[asked[row][1]] for row in rows.tolist()]
    frame = (
        examples.iloc[rows]
        .reset_index(drop=True)
        .assign(
            fen=[games.board_fen(row) for row in rows.tolist()],
            last_move=[asked[row][0].puzzle.moves[2 * asked[row][1]] for row in rows.tolist()],
            move=names,
            marked=is_marked[kept],
            winning=[name in group for name, group in zip(names, winning, strict=True)],
            rank=places[BASE][kept],
            **{player: np.exp(log_probabilities(logits[player], legal))[kept] for player in PLAYERS},
            value=_values_after(games, rows, moves, players[BASE]),
            oracle=np.nan,
        )
    )
    if oracle is not None:
        for row in range(len(asked)):
            mine = np.flatnonzero(rows == row)
            frame.loc[mine, "oracle"] = oracle(games.board_fen(row), frame.loc[mine, "move"].tolist())
    return frame[list(COLUMNS)]


def _values_after(games: GameBatch, rows: np.ndarray, moves: np.ndarray, base: Evaluator) -> np.ndarray:
    after = games.select(rows)
    after.step(np.arange(len(rows)), moves)
    wdl = base(after.planes()).wdl.astype(np.float64)
    value = 1.0 - (wdl[:, 0] + wdl[:, 1] / 2.0)
    value[after.over] = 0.5
    value[after.ending == Ending.CHECKMATE] = 1.0
    return value
