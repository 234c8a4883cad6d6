"""A UCI engine program as an oracle: multi-line analysis at fixed nodes, the same on every run.

One thread, a fixed hash size and a new game for every question make the answer a function of position and
settings, not of what was asked before, of the number of workers or of the machine's load. The program is
not trusted: one that crashes, falls silent or names an illegal move is an error.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import chess

from searchless_rl.text import quoted

Bound = Literal["exact", "lower", "upper"]

#: Engines run at low priority; at fixed nodes that costs time and changes no result.
NICE = ("nice", "-n", "10")

_INDEX = re.compile(r" multipv (\d+)")
_SCORE = re.compile(r" score (?:cp (?P<cp>-?\d+)|mate (?P<mate>-?\d+))(?: (?P<bound>lower|upper)bound)?")
_FIRST_MOVE = re.compile(r" pv (\S+)")
_OPTION = re.compile(r"option name (?P<name>.+?) type \S+(?:.* max (?P<max>\d+))?")
_BOUNDS: dict[str | None, Bound] = {None: "exact", "lower": "lower", "upper": "upper"}
_MAX_LINE = 1 << 20


class EngineError(RuntimeError):
    """An engine program that cannot be used, or gave no usable answer; the message names program and FEN."""


@dataclass(frozen=True, slots=True)
class EngineLine:
    """One analysed move, UCI, scored from the side to move.

    Exactly one score is set: `cp` in hundredths of a pawn, or `mate` in moves, positive where the side to
    move mates (never 0). `bound` says whether the score is exact, or the true one at least or at most that.
    """

    move: str
    cp: int | None
    mate: int | None
    bound: Bound = "exact"

    @property
    def mates_in(self) -> int | None:
        """The number of moves within which the side to move is shown to mate, >= 1; None if it is not."""
        proven = self.mate is not None and self.mate > 0 and self.bound != "upper"
        return self.mate if proven else None


EngineLines = tuple[EngineLine, ...]


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """An engine program and how it is asked.

    Attributes:
        program: the executable, a path or a name to be found on PATH.
        nodes: nodes searched per question, >= 1.
        multipv: lines asked for first, >= 1.
        hash_mb: hash table, MiB.
        time_limit_s: seconds without an answer after which the program counts as hung. It limits no search
            that goes well, so it should be many times what one takes.
        start_limit_s: the same for the start, when a program may load a network.
    """

    program: Path
    nodes: int
    multipv: int = 4
    hash_mb: int = 64
    time_limit_s: float = 120.0
    start_limit_s: float = 120.0

    def __post_init__(self) -> None:
        for name in ("nodes", "multipv", "hash_mb", "time_limit_s", "start_limit_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"engine setting {name} = {getattr(self, name)} must be positive")


class UciEngine:
    """One running engine process; it is killed, with all it started, by `close`.

    Attributes:
        version: what the program calls itself ("Stockfish 15.1").

    Raises:
        EngineError: the program is absent or does not speak UCI.
    """

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._buffer = b""
        self._limit_s = settings.start_limit_s
        program = shutil.which(settings.program.expanduser())
        if program is None:
            raise EngineError(f"{settings.program}: no such engine program. Install it or name its path.")
        try:
            self._process = subprocess.Popen(
                [*NICE, program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(f"{settings.program}: cannot be started ({error})") from error
        try:
            self.version, options = self._introduction()
            self._max_lines = options.get("MultiPV") or 1
            for name, value in (("Threads", 1), ("Hash", settings.hash_mb)):
                if name in options:
                    self._send(f"setoption name {name} value {value}")
            self._wait_until_ready()
            self._limit_s = settings.time_limit_s
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the process; safe to call twice."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def analyse(self, board: chess.Board, multipv: int) -> EngineLines:
        """The best moves of a position, best first: min(`multipv`, legal moves) lines.

        Raises:
            EngineError: no answer in time, no process any more, too few lines or an illegal or repeated move.
        """
        count = min(multipv, board.legal_moves.count())
        if count == 0:
            return ()
        if count > self._max_lines:
            raise self._failure(f"shows at most {self._max_lines} lines, {count} are needed")
        self._send("ucinewgame")
        self._send(f"setoption name MultiPV value {count}")
        self._wait_until_ready()
        self._send(f"position fen {board.fen()}")
        self._send(f"go nodes {self._settings.nodes}")
        lines, best = self._search(count)
        legal = {move.uci() for move in board.legal_moves}
        strange = [move for move in (best, *(line.move for line in lines)) if move not in legal]
        if strange:
            raise self._failure(f"names the illegal move {quoted(strange[0])} in {board.fen()}")
        if len(lines) != count or len({line.move for line in lines}) != count:
            raise self._failure(f"shows {len(lines)} lines, not {count} distinct ones, of {board.fen()}")
        return lines

    def _search(self, count: int) -> tuple[EngineLines, str]:
        """The last complete block of lines 1..count, and the move after "bestmove"."""
        block: list[EngineLine] = []
        complete: EngineLines = ()
        for text in self._lines():
            if text.startswith("bestmove "):
                return complete, text.split()[1]
            line = _line(text)
            if line is None:
                continue
            index = _INDEX.search(text)
            if index is None or index[1] == "1":
                block = []
            block.append(line)
            if len(block) == count:
                complete = tuple(block)
        raise AssertionError("unreachable: _lines ends by raising")

    def _introduction(self) -> tuple[str, dict[str, int | None]]:
        self._send("uci")
        version, options = "", dict[str, int | None]()
        for text in self._lines():
            if text.startswith("id name "):
                version = text.removeprefix("id name ").strip()
            elif found := _OPTION.match(text):
                options[found["name"]] = int(found["max"]) if found["max"] else None
            elif text == "uciok":
                break
        return version, options

    def _wait_until_ready(self) -> None:
        self._send("isready")
        for text in self._lines():
            if text == "readyok":
                break

    def _send(self, command: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(command.encode() + b"\n")
        except OSError as error:
            raise self._failure(f"does not listen to {command!r} any more") from error

    def _lines(self) -> Iterator[str]:
        """Lines of output without their ends; ends only by raising, at the latest at the time limit."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + self._limit_s
        while True:
            while (end := self._buffer.find(b"\n")) >= 0:
                text, self._buffer = self._buffer[:end], self._buffer[end + 1 :]
                yield text.decode("utf-8", "replace").strip()
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise self._failure(f"gave no answer within {self._limit_s:g} s")
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise self._failure("ended by itself")
            self._buffer += chunk
            if len(self._buffer) > _MAX_LINE:
                raise self._failure("writes without line ends")

    def _failure(self, what: str) -> EngineError:
        return EngineError(f"engine {self._settings.program} {what}")


def _line(text: str) -> EngineLine | None:
    """The analysed move an "info" line tells of; None where it tells of something else."""
    score, move = _SCORE.search(text), _FIRST_MOVE.search(text)
    if not text.startswith("info ") or text.startswith("info string ") or score is None or move is None:
        return None
    cp, mate = (None if number is None else int(number) for number in (score["cp"], score["mate"]))
    return EngineLine(move[1], cp, mate, _BOUNDS[score["bound"]])
