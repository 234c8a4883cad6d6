"""Published name of `searchless_rl.statistics.intervals`."""

from searchless_rl.statistics.intervals import half_width, wilson

__all__ = ["half_width", "wilson"]
