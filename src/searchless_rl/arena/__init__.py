"""Games between searchless players: the ladders of Tables 1 and 5 (paper sections 3.2, 3.4 and appendix F).

Read `players` (a network and how it picks its moves), `openings` (where games start), `book_formats`,
`book_draw` and `book` (openings drawn from a book, or made by the base), `schedule` and `pools` (who plays
whom), `match_runner` (the games themselves, thousands at a time), `randomness` (their random numbers),
`finished_games` (what a killed run keeps), `results` and `pgn` (what is written), `shape` (the policies that
were played, Table 5), and `stage`, which joins them.
"""
