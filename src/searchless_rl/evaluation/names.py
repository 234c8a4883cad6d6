"""How the candidate moves of Figure 9 are called, for those who only read them: imports no network."""

from __future__ import annotations

from searchless_rl.results.names import BASE

EXAMPLES = 3
"""Puzzles of each anchor, as in the paper's figure."""
FORWARD, REVERSE = "forward", "reverse"
PLAYERS = (BASE, FORWARD, REVERSE)
"""Whose policies judge a candidate move."""
CANDIDATE_COLUMNS = (
    *("recovered_by", "puzzle_id", "rating", "turn", "fen", "last_move", "move", "marked", "winning"),
    *("rank", *PLAYERS, "value", "by_rule", "oracle"),
)
"""Columns of `candidates.judge_candidates`, which says what they hold."""
