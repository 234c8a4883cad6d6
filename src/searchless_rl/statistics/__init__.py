"""Statistics of counts and games, pure functions of numbers and frames: no network, no file, no torch.

Read `intervals` (Wilson), `location` (means, medians), `combination` (differences, ratios, seeds), `paired`
(McNemar, Holm), `bootstrap` (means over items), then `matches` (scores and likelihood of superiority),
`rating_model` (BayesElo's likelihood), `ratings` (pools of players) and `puzzle_rating`.
"""
