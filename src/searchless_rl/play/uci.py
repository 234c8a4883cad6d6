"""A network as a UCI engine: every `go` is answered from one forward pass, or by a search where asked.

Nothing heavy is imported before the handshake: torch and the network load in the background meanwhile.

A `position` that is rejected leaves no position: an info string says why, and until a position is accepted or
a new game begins, `go` answers `bestmove 0000` with the reason again, never a move of the position before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from searchless_rl import __version__
from searchless_rl.board import GameBatch
from searchless_rl.play.networks import load_evaluator
from searchless_rl.text import quoted

if TYPE_CHECKING:
    import numpy as np

    from searchless_rl.arena.players import ChosenMove, Temperature
    from searchless_rl.nets.evaluator import Evaluator

BASE = "<base>"
"""The value of WeightsFile that means the base network of params.yaml."""
MAX_SIMULATIONS = 1_000_000
_GO_WORDS = {"ponder", "wtime", "btime", "winc", "binc", "movestogo", "depth", "nodes", "mate", "movetime"}


def run_uci(weights: Path | None, stdin: Iterable[str], stdout: TextIO, *, seed: int = 0) -> None:
    """Serve the UCI protocol until `quit` or the end of `stdin`.

    Options: WeightsFile, Sims (simulations of a tree search a move; 0, the default, plays without search),
    Temperature (0 the argmax, a number or "adaptive" for sampled moves, of play without search), HistoryFill
    (fen_only, the only one there is), UCI_ShowWDL. A command that cannot be understood is answered by an info
    string and changes nothing, but for `position` (see the module).

    Where Sims is not 0, `go nodes N` searches N nodes instead: the root and N - 1 simulations. Limits of time
    are not read, and a search is not interrupted: `stop` is answered when it has ended.

    Args:
        weights: an Lc0 network file; None: the base of params.yaml, fetched if need be.
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
        engine = _Engine(weights, lambda path: pool.submit(load_evaluator, path), write, seed)
        try:
            for line in stdin:
                if not engine.handle(line):
                    return
        except BrokenPipeError:  # the GUI is gone
            return
        except RuntimeError as error:
            write(_info_string(error))
            raise


class _Engine:
    def __init__(
        self,
        weights: Path | None,
        load: Callable[[Path | None], Future[Evaluator]],
        write: Callable[[str], None],
        seed: int,
    ) -> None:
        self._weights = weights
        self._load = load
        self._network = load(weights)
        self._write = write
        self._seed = seed
        self._temperature: Temperature = 0.0
        self._shows_wdl = False
        self._simulations = 0
        self._game = GameBatch([None])
        self._rejected: str | None = None  # why the last `position` gave none
        self._games = 0
        self._held: str | None = None  # the answer to `go infinite` or `go ponder`, until it is asked for
        self._options: dict[str, tuple[str, Callable[[str], None]]] = {
            "WeightsFile": (f"type string default {weights or BASE}", self._set_weights),
            "Sims": (f"type spin default 0 min 0 max {MAX_SIMULATIONS}", self._set_simulations),
            "Temperature": ("type string default 0", self._set_temperature),
            "HistoryFill": ("type combo default fen_only var fen_only", _check_history_fill),
            "UCI_ShowWDL": ("type check default false", self._set_shows_wdl),
        }
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
                raise ValueError(f"unknown command {quoted(words[0])}")
            command(words[1:])
        except ValueError as error:
            self._write(_info_string(error))
        return True

    def _identify(self, _words: list[str]) -> None:
        self._write(
            " ".join(["id name searchless-rl", __version__, self._weights.name if self._weights else "base"])
        )
        self._write("id author the searchless-rl authors")
        for name, (kind, _) in self._options.items():
            self._write(f"option name {name} {kind}")
        self._write("uciok")

    def _answer_ready(self, _words: list[str]) -> None:
        self._network.result()
        self._write("readyok")

    def _set_option(self, words: list[str]) -> None:
        if words[:1] != ["name"]:
            raise ValueError("setoption needs name OPTION value VALUE")
        place = words.index("value") if "value" in words else len(words)
        name, value = " ".join(words[1:place]), " ".join(words[place + 1 :])
        known = {each.lower(): take for each, (_, take) in self._options.items()}
        if name.lower() not in known:
            raise ValueError(f"unknown option {quoted(name)}; known: {', '.join(self._options)}")
        known[name.lower()](value)

    def _set_weights(self, value: str) -> None:
        if not value:
            raise ValueError(f"WeightsFile ''; allowed: the path of an Lc0 network file, or {BASE}")
        weights = None if value == BASE else Path(value).expanduser()
        if weights is not None and not weights.is_file():
            raise ValueError(f"WeightsFile {quoted(value)}: no such file; the network stays as it was")
        if weights != self._weights:
            self._weights, self._network = weights, self._load(weights)

    def _set_temperature(self, value: str) -> None:
        from searchless_rl.arena.players import check_temperature

        try:
            temperature: Temperature = "adaptive" if value.lower() == "adaptive" else float(value)
            check_temperature(temperature)
        except ValueError:
            allowed = "adaptive, or a number >= 0 (0 is the argmax)"
            raise ValueError(f"Temperature {quoted(value)}; allowed: {allowed}") from None
        self._temperature = temperature

    def _set_simulations(self, value: str) -> None:
        if not (value.isascii() and value.isdecimal() and len(value) < 10 and int(value) <= MAX_SIMULATIONS):
            raise ValueError(f"Sims {quoted(value)}; allowed: 0 to {MAX_SIMULATIONS}")
        self._simulations = int(value)

    def _set_shows_wdl(self, value: str) -> None:
        if value.lower() not in ("true", "false"):
            raise ValueError(f"UCI_ShowWDL {quoted(value)}; allowed: true, false")
        self._shows_wdl = value.lower() == "true"

    def _begin_game(self, _words: list[str]) -> None:
        self._games += 1
        self._game, self._rejected = GameBatch([None]), None

    def _set_position(self, words: list[str]) -> None:
        """The position, or none and an error that says why."""
        place = words.index("moves") if "moves" in words else len(words)
        try:
            if words[:1] == ["startpos"] and place <= 1:
                fen = None
            elif words[:1] == ["fen"]:
                fen = " ".join(words[1:place])
            else:
                raise ValueError("write position startpos [moves ...] or position fen FEN [moves ...]")
            game = GameBatch([fen])
            game.play([words[place + 1 :]])
        except ValueError as error:
            self._rejected = f"position rejected: {error}"
            raise ValueError(self._rejected) from error
        self._game, self._rejected = game, None

    def _go(self, words: list[str]) -> None:
        self._release()
        answer = self._answer(words)
        if "infinite" in words or "ponder" in words:
            self._held = answer
        else:
            self._write(answer)

    def _answer(self, words: list[str]) -> str:
        """The `bestmove` of a `go`; what there is to say about it is written at once."""
        if self._rejected is not None:
            self._write(_info_string(self._rejected))
            return "bestmove 0000"
        if self._simulations:
            return self._searched(words)
        chosen = self._think(words)
        if chosen is None:
            return "bestmove (none)"
        self._write(self._info(chosen))
        return f"bestmove {chosen.move}"

    def _think(self, words: list[str]) -> ChosenMove | None:
        from searchless_rl.arena.players import choose_move
        from searchless_rl.arena.randomness import Stream, game_uniforms

        plies = len(self._game.moves[0])
        uniform = 0.0
        if self._temperature != 0:
            uniform = float(game_uniforms(Stream.SINGLE_GAME, self._seed, str(self._games), plies + 1)[plies])
        network = self._network.result()
        return choose_move(network, self._game, self._temperature, uniform, among=_search_moves(words))

    def _searched(self, words: list[str]) -> str:
        """The `bestmove` of a search."""
        from searchless_rl.play.search import search_move

        simulations = _simulations(words, self._simulations)
        found = search_move(self._network.result(), self._game, simulations, _search_moves(words))
        if found is None:
            return "bestmove (none)"
        self._write(
            f"info depth {len(found.line)} nodes {found.simulations + 1} score cp {centipawns(found.value)}"
            f"{self._wdl(found.wdl)} pv {' '.join(found.line)}"
        )
        return f"bestmove {found.move}"

    def _info(self, chosen: ChosenMove) -> str:
        score = centipawns(float(chosen.wdl[0]) - float(chosen.wdl[2]))
        return f"info depth 1 nodes 1 score cp {score}{self._wdl(chosen.wdl)} pv {chosen.move}"

    def _wdl(self, wdl: np.ndarray) -> str:
        """The network's own probabilities of the position, where the GUI wants them."""
        if not self._shows_wdl:
            return ""
        win, loss = round(1000 * float(wdl[0])), round(1000 * float(wdl[2]))
        return f" wdl {win} {1000 - win - loss} {loss}"

    def _release(self, _words: object = None) -> None:
        """Give the answer that was held back."""
        if self._held is not None:
            self._write(self._held)
            self._held = None


def centipawns(q: float) -> int:
    """Score of q = W − L, −1 to 1, on lc0's centipawn scale."""
    return round(90 * math.tan(1.5637541897 * q))


def _info_string(fault: object) -> str:
    return "info string " + " ".join(str(fault).split())


def _check_history_fill(value: str) -> None:
    if value.lower() != "fen_only":
        raise ValueError(f"HistoryFill {quoted(value)} is not supported; allowed: fen_only")


def _simulations(words: list[str], default: int) -> int:
    """Simulations that a `go` asks for: a node each besides the root's, or as by default."""
    if "nodes" not in words:
        return default
    value = " ".join(words[words.index("nodes") + 1 :][:1])
    if not (value.isascii() and value.isdecimal() and len(value) < 20 and int(value) > 0):
        raise ValueError(f"go nodes {quoted(value)}; allowed: 1 to {MAX_SIMULATIONS + 1}")
    return min(int(value) - 1, MAX_SIMULATIONS)


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
