"""Candidate moves of single positions, judged by three policies, the base's value head and an oracle.

They are what Figure 9 shows (paper appendix H): would the advantage 1 − v(s′) have told the network that the
move it ranked low was the winning one?
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from searchless_rl.board import Ending, GameBatch
from searchless_rl.evaluation.names import CANDIDATE_COLUMNS, EXAMPLES, FORWARD, PLAYERS, REVERSE
from searchless_rl.evaluation.policy import log_probabilities, ranks
from searchless_rl.evaluation.recovery import parting_positions
from searchless_rl.evaluation.tactics import first_positions
from searchless_rl.nets.evaluator import Evaluator
from searchless_rl.results.names import BASE
from searchless_rl.suites.files import SuiteItem

TOP = 2  # most likely moves of every player that become candidates

Oracle = Callable[[str, Sequence[str]], Sequence[float]]
"""FEN and UCI moves -> expected score of each move for the side to move, 0..1 (a loss 0, a win 1)."""


def choose_examples(frame: pd.DataFrame, forward: str, reverse: str, count: int = EXAMPLES) -> pd.DataFrame:
    """The clearest exclusive recoveries of both anchors, by the rule of `recovery.parting_positions`.

    The paper shows three of each without a rule (appendix H).

    Args:
        frame: as `recovery.side_by_side` gives it.
        forward: the forward-KL model's name in it.
        reverse: the reverse-KL model's.
        count: the most examples of each.

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
        examples: as `choose_examples` gives them.
        items: the suite they come from.
        players: "base", "forward" and "reverse".
        oracle: a stronger judge, where there is one.

    Returns:
        One row per candidate, example by example, by falling π of the base: recovered_by, puzzle_id, rating,
        turn, fen (of the position), last_move (UCI, the opponent's), move (UCI), marked, winning (in W(s)),
        rank (the base's), base, forward, reverse (π), value (1 − v_base(s′) of Equation 4, the position after
        the move, with v = W + D/2; where the move ends the game the rules' 1 or 0.5 instead), by_rule (the
        move ends the game) and oracle (NaN without one).

    Raises:
        ValueError: an example is not among `items` (the puzzle named).
    """
    if examples.empty:
        return pd.DataFrame(columns=list(CANDIDATE_COLUMNS))
    positions = _decisive_positions(examples, items)
    games = first_positions([item for item, _ in positions])
    games.play([item.puzzle.moves[: 2 * turn + 1] for item, turn in positions])
    frame, index = _candidates(games, examples, positions, players)
    rows = frame.pop("row").to_numpy()
    values, over = _values_after(games, rows, index, players[BASE])
    frame = frame.assign(value=values, by_rule=over, oracle=np.nan)
    if oracle is not None:
        for row in range(len(positions)):
            mine = np.flatnonzero(rows == row)
            frame.loc[mine, "oracle"] = oracle(games.board_fen(row), frame.loc[mine, "move"].tolist())
    return frame[list(CANDIDATE_COLUMNS)]


def _decisive_positions(examples: pd.DataFrame, items: Sequence[SuiteItem]) -> list[tuple[SuiteItem, int]]:
    """The puzzle of every example and the solver's turn in it."""
    by_id = {item.puzzle.id: item for item in items}
    missing = [name for name in examples["puzzle_id"] if name not in by_id]
    if missing:
        raise ValueError(f"puzzle {missing[0]} is not in the suite. Run the stage `recovery` again.")
    return [(by_id[name], turn) for name, turn in zip(examples["puzzle_id"], examples["turn"], strict=True)]


def _candidates(
    games: GameBatch,
    examples: pd.DataFrame,
    positions: Sequence[tuple[SuiteItem, int]],
    players: Mapping[str, Evaluator],
) -> tuple[pd.DataFrame, np.ndarray]:
    """Every candidate with its policies (and `row`, its example), and its policy index, int64."""
    legal = games.legal()
    logits = {player: players[player](games.planes()).policy for player in PLAYERS}
    places = {player: ranks(logits[player], legal) for player in PLAYERS}
    marked = np.array([games.index(row, item.winning[turn][0]) for row, (item, turn) in enumerate(positions)])
    is_marked = legal.index == marked[legal.row]
    is_candidate = np.logical_or.reduce([is_marked, *(place <= TOP for place in places.values())])
    by_base = np.lexsort((places[BASE], legal.row))
    kept = by_base[is_candidate[by_base]]

    rows, index = legal.row[kept], legal.index[kept]
    names = [games.uci(row, move) for row, move in zip(rows.tolist(), index.tolist(), strict=True)]
    winning = [item.winning[turn] for item, turn in (positions[row] for row in rows.tolist())]
    last_moves = [item.puzzle.moves[2 * turn] for item, turn in positions]
    frame = (
        examples.iloc[rows]
        .reset_index(drop=True)
        .assign(
            row=rows,
            fen=[games.board_fen(row) for row in rows.tolist()],
            last_move=[last_moves[row] for row in rows.tolist()],
            move=names,
            marked=is_marked[kept],
            winning=[name in group for name, group in zip(names, winning, strict=True)],
            rank=places[BASE][kept],
            **{player: np.exp(log_probabilities(logits[player], legal))[kept] for player in PLAYERS},
        )
    )
    return frame, index


def _values_after(
    games: GameBatch, rows: np.ndarray, index: np.ndarray, base: Evaluator
) -> tuple[np.ndarray, np.ndarray]:
    """1 − v of the position after each move, float64, and whether the game is over there, bool."""
    after = games.select(rows)
    after.step(np.arange(len(rows)), index)
    wdl = base(after.planes()).wdl.astype(np.float64)
    value = 1.0 - (wdl[:, 0] + wdl[:, 1] / 2.0)
    value[after.over] = 0.5
    value[after.ending == Ending.CHECKMATE] = 1.0
    return value, after.over.copy()
