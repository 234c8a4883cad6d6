"""Published name of `searchless_rl.statistics.ratings`."""

from searchless_rl.statistics.ratings import bayeselo

__all__ = ["bayeselo"]
