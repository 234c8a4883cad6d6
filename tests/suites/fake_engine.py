"""A UCI engine that plays nothing and misbehaves on demand.

Tests copy it, beside a JSON file of the same name: "fens" gives what happens at a position, "start" how it
starts, "mates" a move -> mate length per position or per "FEN in N lines". Beside it, it counts its starts
and logs its commands.
"""

import json
import sys
import time
from pathlib import Path

import chess

HERE = Path(__file__)
SCRIPT = json.loads(HERE.with_suffix(".json").read_text())


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def started_before():
    with HERE.with_suffix(".starts").open("a") as stream:
        stream.write("x")
    return HERE.with_suffix(".starts").stat().st_size > 1


def once(fen):
    """True the first time it is called for a position."""
    mark = HERE.with_name(fen.replace("/", "_").replace(" ", "-") + ".once")
    fresh = not mark.exists()
    mark.touch()
    return fresh


def info(index, move, score):
    return f"info depth 9 seldepth 9 multipv {index} score {score} nodes 99 time 1 pv {move}"


def answer(board, multipv):
    mates = SCRIPT.get("mates", {})
    mates = mates.get(f"{board.fen()} in {multipv} lines", mates.get(board.fen(), {}))
    # Mates of the side to move first, the shortest before all; then what is no mate, then being mated.
    value = {uci: (1000 if mate > 0 else -1000) - mate for uci, mate in mates.items()}
    moves = sorted((move.uci() for move in board.legal_moves), key=lambda uci: (-value.get(uci, 0), uci))
    lines = [
        info(index, uci, f"mate {mates[uci]}" if uci in mates else f"cp {-index}")
        for index, uci in enumerate(moves[:multipv], start=1)
    ]
    return lines, moves[0]


def search(board, multipv):
    what = SCRIPT.get("fens", {}).get(board.fen(), "")
    if what.endswith(" once"):
        what = what.removesuffix(" once") if once(board.fen()) else ""
    lines, best = answer(board, multipv)
    if what == "crash":
        say(lines[0])
        sys.exit(3)
    if what == "hang":
        say(lines[0])
        time.sleep(600)
    if what == "flood":
        while True:
            say("info depth 1 nodes 1")
    if what == "no line ends":
        while True:
            sys.stdout.write("x" * 65536)
    if what == "illegal line":
        lines[-1] = info(len(lines), "a1a1", "cp 0")
    if what == "illegal best":
        best = "e1e9"
    if what == "no move":
        best = "(none)"
    if what == "repeated line":
        lines[-1] = info(len(lines), lines[0].split()[-1], "cp 0")
    if what == "too few lines":
        lines.pop()
    if what == "torn block":  # a deeper block of which only the beginning comes
        lines.append(info(1, lines[-1].split()[-1], "cp 7777"))
    if what == "talk":
        lines = ["info depth 1", "?", "", *lines, "info string score cp 5 pv a1a1", "info score cp 5 nodes 1"]
    if what == "earlier block":
        lines = [line.replace("score", "score cp 5000 upperbound nodes 1 was") for line in lines] + lines
    for line in lines:
        say(line)
    say(f"bestmove {best}")


def main():
    again = started_before()
    log = HERE.with_suffix(".log").open("a")
    start = SCRIPT.get("start", "")
    if start == "crash" or (start == "crash later" and again):
        sys.exit(4)
    if start == "mute":
        time.sleep(600)
    board, multipv = chess.Board(), 1
    for line in sys.stdin:
        words = line.split()
        log.write(line)
        log.flush()
        if words == ["uci"]:
            say("id name Fake 1.0")
            say("id author nobody")
            say("option name Threads type spin default 1 min 1 max 1024")
            say("option name Hash type spin default 16 min 1 max 1024")
            if start != "one line":
                say("option name MultiPV type spin default 1 min 1 max 500")
            say("uciok")
        elif words == ["isready"]:
            say("readyok")
        elif words[:3] == ["setoption", "name", "MultiPV"]:
            multipv = int(words[4])
        elif words[:2] == ["position", "fen"]:
            board = chess.Board(" ".join(words[2:]))
        elif words[:1] == ["go"]:
            search(board, multipv)


main()
