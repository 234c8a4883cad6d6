"""The moves of the games that puzzles come from, got in bulk from the export endpoint of Lichess.

The endpoint takes up to 300 game ids a request and answers with one JSON object a line, in an order of its
own and without the games it does not know. It asks for one request at a time, and for a minute's pause after
an answer 429 (lichess-org/api, `POST /api/games/export/_ids`). Games are CC0, as is all that Lichess exports.
"""

from __future__ import annotations

import http.client
import json
import logging
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from tqdm import tqdm

from searchless_rl import __version__
from searchless_rl.files import sha256_of, write_atomically, write_json
from searchless_rl.suites.download import FetchError, Transport
from searchless_rl.suites.files import GAME_MOVES_COLUMNS
from searchless_rl.suites.game_moves import HistoryOutcome, read_history
from searchless_rl.suites.https_source import TRANSIENT_STATUS, network_reason, read_chunks
from searchless_rl.suites.journal import ResultLog
from searchless_rl.suites.puzzles import Puzzle, read_puzzles
from searchless_rl.text import printable

logger = logging.getLogger(__name__)

IDS_PER_REQUEST = 300
RATE_LIMIT_PAUSE_S = 60.0
LICHESS = "https://lichess.org"
FATES = ("reached", "missed", "illegal", "unknown", "no_game")
EXAMPLES_PER_FATE = 3

_CONTENT_TYPE = "application/x-ndjson"
MAX_LINE_BYTES = 1 << 20  # a game of 1,000 moves has 10 kB
_ENDPOINT = "/api/games/export/_ids"
_WANTED = {"moves": "true", "tags": "false", "clocks": "false", "evals": "false", "opening": "false"}
_GAME = re.compile(r"https://lichess\.org/(?P<id>[A-Za-z0-9]{8})(?![A-Za-z0-9])")


class _TryAgain(Exception):
    """A request failed in a way that another may mend."""


class _TooFast(_TryAgain):
    """HTTP 429; `retry_after_s` is the pause the server asks for, 0 if it names none."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__("HTTP 429 Too Many Requests")
        self.retry_after_s = retry_after_s


def game_id(game_url: str) -> str | None:
    """The game a puzzle's `GameUrl` names: eight letters or digits; None if it names none."""
    found = _GAME.match(game_url)
    return found["id"] if found else None


def fetch_histories(
    puzzles_csv: Path,
    out: Path,
    *,
    base_url: str = LICHESS,
    transport: Transport | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Get the games of all puzzles in a file and write the moves that lead to each puzzle.

    `out` becomes a CSV PuzzleId,GameMoves (UCI, from the standard start position to the puzzle's FEN), with
    the puzzles whose game reaches the FEN, in file order; a JSON file of the same name beside it says what
    became of the others. Games are kept in `out`.games.jsonl as they arrive, and not asked for again while
    that file is there. A game is unknown when two answers left it out.

    Args:
        puzzles_csv: a puzzle file with `GameUrl`. The ply is that of the FEN, as the number in the URL has
            changed its meaning over the years.
        out: the CSV to write.
        base_url: address of the server, http(s) and without a path.
        transport: how it is reached: time-out, failures in a row and the pause after one. After an answer 429
            the pause is what that asks for, and at least `RATE_LIMIT_PAUSE_S`, doubled each time.
        sleep: waits for some seconds.

    Returns:
        What the JSON file holds: puzzles by what became of them (reached, missed, illegal, unknown, no_game),
        the first ids of each, and the numbers of games and of lines that were no games.

    Raises:
        FetchError: the server refused, or failed too often; calling again goes on from there.
        PuzzleFileError, OSError, ValueError, RuntimeError: `base_url`, the file or the kept games cannot be
            used.
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("https", "http") or not parts.hostname or parts.path:
        raise ValueError(f"base_url {base_url!r} must be like {LICHESS}")
    puzzles = read_puzzles(puzzles_csv)[0]
    games_of = {puzzle.id: game_id(puzzle.game_url) for puzzle in puzzles}
    ids = list(dict.fromkeys(game for game in games_of.values() if game is not None))
    with ResultLog(out.with_name(out.name + ".games.jsonl")) as log:
        export = _Export(base_url, transport or Transport(), sleep, log)
        export.get(ids)
    fates: dict[str, list[str]] = {fate: [] for fate in FATES}
    lines = [",".join(GAME_MOVES_COLUMNS)]
    for puzzle in puzzles:
        fate, history = _fate(puzzle, games_of[puzzle.id], export.games)
        fates[fate].append(puzzle.id)
        if fate == "reached":
            lines.append(f"{puzzle.id},{' '.join(history)}")
    write_atomically(out, "\n".join(lines) + "\n")
    report = _report(puzzles_csv, ids, export, fates)
    write_json(out.with_suffix(".json"), report)
    return report


def _fate(puzzle: Puzzle, game: str | None, games: Mapping[str, str | None]) -> tuple[str, tuple[str, ...]]:
    """What became of a puzzle's game, one of `FATES`, and the moves to the puzzle where it is reached."""
    if game is None:
        return "no_game", ()
    moves = games[game]
    if moves is None:
        return "unknown", ()
    outcome, history = read_history(moves, puzzle.fen)
    if outcome is HistoryOutcome.ABSENT:  # a game of no moves
        return "missed", ()
    return outcome.value, history


def _report(
    puzzles_csv: Path, ids: Sequence[str], export: _Export, fates: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    return {
        "source": {"name": puzzles_csv.name, "sha256": sha256_of(puzzles_csv)},
        "games_asked_for": len(ids),
        "games_unknown": sum(export.games[game] is None for game in ids),
        "malformed_lines": export.malformed,
        "puzzles": {fate: len(names) for fate, names in fates.items()},
        "examples": {
            fate: list(names[:EXAMPLES_PER_FATE])
            for fate, names in fates.items()
            if names and fate != "reached"
        },
    }


class _Export:
    """Games asked for until each is known, or was left out of two answers.

    Attributes:
        games: SAN moves by game id, None for an unknown game.
        malformed: lines of answers that were no games asked for.
    """

    def __init__(
        self, base_url: str, transport: Transport, sleep: Callable[[float], None], log: ResultLog
    ) -> None:
        self._base_url = base_url
        self._transport = transport
        self._sleep = sleep
        self._log = log
        self.games: dict[str, str | None] = dict(log.parsed_with(_kept_game))
        self.malformed = 0

    def get(self, ids: Sequence[str]) -> None:
        with tqdm(total=len(ids), desc="games", unit="game", disable=None) as bar:
            bar.update(sum(game in self.games for game in ids))
            for _ in range(2):
                left = [game for game in ids if game not in self.games]
                for begin in range(0, len(left), IDS_PER_REQUEST):
                    known = len(self.games)
                    self._get_batch(left[begin : begin + IDS_PER_REQUEST])
                    bar.update(len(self.games) - known)
        for game in ids:
            if game not in self.games:
                self._keep(game, None)

    def _get_batch(self, batch: Sequence[str]) -> None:
        """Ask for the games of a batch that are missing, until an answer comes to its end."""
        failures = too_fast = 0
        while missing := [game for game in batch if game not in self.games]:
            known = len(self.games)
            asked = set(missing)
            try:
                for line in self._answer(missing):
                    self._take(line, asked)
                return
            except _TryAgain as error:
                failures = 1 if len(self.games) > known else failures + 1
                if failures >= self._transport.attempts:
                    raise FetchError(
                        f"{self._base_url}: {error} (gave up after {failures} requests in a row). "
                        "What has arrived is kept: run the command again to go on."
                    ) from error
                pause = self._transport.pause_s
                if isinstance(error, _TooFast):
                    pause = max(error.retry_after_s, RATE_LIMIT_PAUSE_S * 2**too_fast)
                    too_fast += 1
                logger.warning("%s: %s; waiting for %g s", self._base_url, error, pause)
                self._sleep(pause)

    def _answer(self, ids: Sequence[str]) -> Iterator[bytes]:
        """The lines of the answer to one request.

        Raises:
            _TryAgain: no answer, or one that broke off.
            FetchError: the server refuses, or answers with something else than games.
        """
        transport = self._transport
        request = urllib.request.Request(
            f"{self._base_url}{_ENDPOINT}?{urlencode(_WANTED)}",
            data=",".join(ids).encode(),
            headers={
                "User-Agent": f"searchless-rl/{__version__}",
                "Accept": _CONTENT_TYPE,
                "Content-Type": "text/plain",
            },
            method="POST",
        )
        try:
            response = transport.opener(request, transport.timeout_s)
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 429:
                    raise _TooFast(_seconds(error.headers.get("Retry-After"))) from error
                if error.code in TRANSIENT_STATUS:
                    raise _TryAgain(f"HTTP {error.code} {printable(error.reason)}") from error
                raise FetchError(f"{self._base_url}: HTTP {error.code} {printable(error.reason)}") from error
        except (OSError, http.client.HTTPException) as error:
            raise _TryAgain(network_reason(error, transport.timeout_s)) from error
        with response:
            kind = response.headers.get_content_type()
            if kind != _CONTENT_TYPE:
                raise FetchError(
                    f"{self._base_url}: answers with {printable(kind)}, not with {_CONTENT_TYPE}"
                )
            try:
                yield from _lines(response, transport.timeout_s)
            except (OSError, http.client.HTTPException) as error:
                raise _TryAgain(network_reason(error, transport.timeout_s)) from error

    def _take(self, line: bytes, asked: set[str]) -> None:
        try:
            game = json.loads(line)
            name, moves = game["id"], game["moves"]
        except (ValueError, TypeError, KeyError, RecursionError):
            name = moves = None
        if isinstance(name, str) and isinstance(moves, str) and name in asked and name not in self.games:
            self._keep(name, moves)
        else:
            self.malformed += 1

    def _keep(self, name: str, moves: str | None) -> None:
        self._log.append({"id": name, "moves": moves})
        self.games[name] = moves


def _kept_game(record: dict[str, Any]) -> tuple[str, str | None]:
    """Id and moves of a game as the log holds it. Raises `KeyError` or `TypeError` for another record."""
    name, moves = record["id"], record["moves"]
    if not isinstance(name, str) or not isinstance(moves, str | None):
        raise TypeError("id or moves")
    return name, moves


def _lines(response: http.client.HTTPResponse, timeout_s: float) -> Iterator[bytes]:
    """Lines that are not blank.

    Raises:
        IncompleteRead: the answer ends before its declared length.
        OSError: it is too slow, or a line has no end within `MAX_LINE_BYTES`.
    """
    declared, received, rest = response.headers.get("Content-Length"), 0, b""
    for chunk in read_chunks(response, timeout_s):
        received += len(chunk)
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_LINE_BYTES:
            raise OSError(f"a line of more than {MAX_LINE_BYTES:,} bytes")
        yield from (line for line in lines if line.strip())
    if declared is not None and received < int(declared):
        raise http.client.IncompleteRead(rest, int(declared) - received)
    if rest.strip():
        yield rest


def _seconds(retry_after: str | None) -> float:
    """Seconds of a Retry-After header; 0 where it is absent or a date."""
    return float(retry_after) if retry_after is not None and retry_after.isdecimal() else 0.0
