"""Monte Carlo tree search on a network's prior and value (`paper/world_models.txt`, section 3).

In reading order: `config` (the few parameters), `forest` (many trees in arrays: selection and backup),
`expansion` (positions, priors and values of new nodes), `mcts` (`run_mcts_batched` and `run_mcts`).
"""

from searchless_rl.search.config import SearchConfig
from searchless_rl.search.mcts import SearchResult, Trees, run_mcts, run_mcts_batched

__all__ = ["SearchConfig", "SearchResult", "Trees", "run_mcts", "run_mcts_batched"]
