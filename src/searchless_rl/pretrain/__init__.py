"""Priors of this project's own: games labelled by a search, and students distilled from them.

In reading order: `settings` (pretrain/params.yaml), `records` (games with targets at their positions, in
shards), `visits` (games played by tree search, and its visit counts), `stage` (`searchless visits`).
"""
