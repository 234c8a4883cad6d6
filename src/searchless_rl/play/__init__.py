"""A network at the board: `uci`, an engine for GUIs and match runners, and `terminal`, a game to look at."""
