"""A network at the board.

`networks` loads a file or the base of params.yaml; `uci` is an engine for GUIs and match runners; `terminal`
shows a game between two networks; `human` lets a human play against one.
"""
