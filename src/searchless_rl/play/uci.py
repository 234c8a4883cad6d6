"""A network as a UCI engine: every `go` is answered from one forward pass.

Nothing heavy is imported before the handshake: torch and the network load in the background meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from searchless_rl import __version__
from searchless_rl.board import GameBatch

if TYPE_CHECKING:
    from searchless_rl.arena.players import Temperature, Thought
    from searchless_rl.nets.evaluator import Evaluator

OPTIONS = (
    "option name Temperature type string default 0",
    "option name HistoryFill type combo default fen_only var fen_only",
    "option name UCI_ShowWDL type check default false",
)
_GO_WORDS = {"ponder", "wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime"}


def run_uci(weights: Path, stdin: Iterable[str], stdout: TextIO, *, seed: int = 0) -> None:
    """Serve the UCI protocol until `quit` or the end of `stdin`.

    Options: Temperature (0 the argmax, a number or "adaptive" for sampled moves), HistoryFill (fen_only, the
    only one there is), UCI_ShowWDL. A command that cannot be understood is answered by an info string.

    Args:
        weights: an Lc0 network file.
        stdin: lines of commands.
        stdout: flushed after every line.
        seed: of sampled moves; a game's number since the start and the ply are the rest of their address.

    Raises:
        RuntimeError: the network cannot be loaded or its outputs are not finite (an info string says so too).
    """

    def write(line: str) -> None:
        stdout.write(line + "\n")
        stdout.flush()

    with ThreadPoolExecutor(1) as pool:
        engine = _Engine(weights.name, pool.submit(_load, weights), write, seed)
        try:
            for line in stdin:
                if not engine.handle(line):
                    return
        except BrokenPipeError:  # the GUI is gone
            return
        except RuntimeError as error:
            write(f"info string {error}")
            raise


def _load(weights: Path) -> Evaluator:
    from searchless_rl.lc0 import load_network
    from searchless_rl.nets.evaluator import Evaluator

    return Evaluator(load_network(weights), batch_size=1)


class _Engine:
    def __init__(
        self, name: str, network: Future[Evaluator], write: Callable[[str], None], seed: int
    ) -> None:
        self._name = name
        self._network = network
        self._write = write
        self._seed = seed
        self._temperature: Temperature = 0.0
        self._shows_wdl = False
        self._game = GameBatch([None])
        self._games = 0
        self._held: str | None = None  # the answer to `go infinite` or `go ponder`, until it is asked for
        self._commands: dict[str, Callable[[list[str]], None]] = {
            "uci": self._identify,
            "isready": self._answer_ready,
            "setoption": self._set_option,
            "ucinewgame": self._begin_game,
            "position": self._set_position,
            "go": self._go,
            "stop": self._release,
            "ponderhit": self._release,
            "debug": lambda words: None,
            "register": lambda words: None,
        }

    def handle(self, line: str) -> bool:
        """Carry out one command; False after `quit`."""
        words = line.split()
        if not words:
            return True
        if words[0] == "quit":
            return False
        command = self._commands.get(words[0])
        try:
            if command is None:
                raise ValueError(f"unknown command {words[0]!r}")
            command(words[1:])
        except ValueError as error:
            self._write("info string " + " ".join(str(error).split()))
        return True

    def _identify(self, _words: list[str]) -> None:
        self._write(f"id name searchless-rl {__version__} {self._name}")
        self._write("id author the searchless-rl authors")
        for option in OPTIONS:
            self._write(option)
        self._write("uciok")

    def _evaluator(self) -> Evaluator:
        try:
            return self._network.result()
        except (ValueError, OSError) as error:
            raise RuntimeError(str(error)) from error

    def _answer_ready(self, _words: list[str]) -> None:
        self._evaluator()
        self._write("readyok")

    def _set_option(self, words: list[str]) -> None:
        name, _, value = " ".join(words).removeprefix("name ").partition(" value ")
        if name.lower() == "temperature":
            self._temperature = _read_temperature(value)
        elif name.lower() == "historyfill":
            if value != "fen_only":
                raise ValueError(f"HistoryFill {value!r} is not supported; allowed: fen_only")
        elif name.lower() == "uci_showwdl":
            self._shows_wdl = value.lower() == "true"
        else:
            raise ValueError(f"unknown option {name!r}")

    def _begin_game(self, _words: list[str]) -> None:
        self._games += 1
        self._game = GameBatch([None])

    def _set_position(self, words: list[str]) -> None:
        """The position, or the old one stays and an error says why."""
        place = words.index("moves") if "moves" in words else len(words)
        if words[:1] == ["startpos"]:
            fen = None
        elif words[:1] == ["fen"]:
            fen = " ".join(words[1:place])
        else:
            raise ValueError("position needs startpos or fen; the position has not changed")
        game = GameBatch([fen])
        try:
            game.play([words[place + 1 :]])
        except ValueError as error:
            raise ValueError(f"{error}; the position has not changed") from error
        self._game = game

    def _go(self, words: list[str]) -> None:
        self._release()
        thought = self._think(words)
        if thought is not None:
            self._write(self._info(thought))
        answer = "bestmove (none)" if thought is None else f"bestmove {thought.move}"
        if "infinite" in words or "ponder" in words:
            self._held = answer
        else:
            self._write(answer)

    def _think(self, words: list[str]) -> Thought | None:
        from searchless_rl.arena.players import think
        from searchless_rl.arena.randomness import Stream, game_uniforms

        plies = len(self._game.moves[0])
        uniform = 0.0
        if self._temperature != 0:
            uniform = float(game_uniforms(Stream.SINGLE_GAME, self._seed, str(self._games), plies + 1)[plies])
        return think(self._evaluator(), self._game, self._temperature, uniform, among=_search_moves(words))

    def _info(self, thought: Thought) -> str:
        win, _, loss = (float(value) for value in thought.wdl)
        wdl = ""
        if self._shows_wdl:
            per_mille = [round(1000 * win), round(1000 * loss)]
            wdl = f" wdl {per_mille[0]} {1000 - sum(per_mille)} {per_mille[1]}"
        return f"info depth 1 nodes 1 score cp {centipawns(win - loss)}{wdl} pv {thought.move}"

    def _release(self, _words: object = None) -> None:
        """Give the answer that was held back."""
        if self._held is not None:
            self._write(self._held)
            self._held = None


def centipawns(q: float) -> int:
    """Score of q = W − L, −1 to 1, on lc0's centipawn scale."""
    return round(90 * math.tan(1.5637541897 * q))


def _read_temperature(text: str) -> Temperature:
    from searchless_rl.arena.players import check_temperature

    temperature: Temperature = "adaptive" if text == "adaptive" else float(text)
    check_temperature(temperature)
    return temperature


def _search_moves(words: list[str]) -> list[str]:
    """The moves after `searchmoves`, up to the next word of the command."""
    if "searchmoves" not in words:
        return []
    moves = []
    for word in words[words.index("searchmoves") + 1 :]:
        if word in _GO_WORDS or word == "infinite":
            break
        moves.append(word)
    return moves
