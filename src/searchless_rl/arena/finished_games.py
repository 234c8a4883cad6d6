"""Finished games of an unfinished arena, kept line by line so that a killed run plays none of them again."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from searchless_rl.arena.match_runner import Outcome
from searchless_rl.files import remove_partial_files, write_atomically
from searchless_rl.unfinished import MANIFEST, CannotContinue, begin, continues

GAMES = "games.jsonl"
_UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What reading damaged JSON may raise."""


class FinishedGames:
    """A scratch folder with the inputs of a run and one JSON line per finished game.

    Args:
        folder: held by this process alone (see `unfinished.exclusive`).
        inputs: everything that decides the games' results, as JSON values.
        code: fingerprint of the code that plays; games of other code are played again.

    Raises:
        CannotContinue: the folder holds unfinished games with other inputs (each difference named), or is
            damaged (file and line named).
    """

    def __init__(self, folder: Path, inputs: Mapping[str, Any], code: str) -> None:
        self._path, self._manifest = folder / GAMES, folder / MANIFEST
        remove_partial_files(folder)
        self._stream: IO[str] | None = None
        self.outcomes: dict[int, Outcome] = {}
        """Finished games by number."""
        if self._path.exists() and continues(folder, inputs, code):
            self.outcomes = self._read()
        else:
            self._path.unlink(missing_ok=True)
            begin(folder, inputs, code)
        self._rewrite()

    def _read(self) -> dict[int, Outcome]:
        """The games of all whole lines; a line that a kill cut off is the last and is dropped."""
        outcomes = {}
        for number, line in enumerate(self._path.read_bytes().split(b"\n")[:-1], start=1):
            try:
                outcome = _outcome(line)
                outcomes[outcome.number] = outcome
            except _UNREADABLE as error:
                reason = f"line {number}: damaged ({_reason(error)})"
                raise CannotContinue.from_file(self._path, reason) from error
        return outcomes

    def _rewrite(self) -> None:
        write_atomically(self._path, "".join(_line(outcome) for outcome in self.outcomes.values()))

    def append(self, outcome: Outcome) -> None:
        """Add a finished game; a kill of the process from now on does not lose it."""
        if self._stream is None:
            self._stream = self._path.open("a", encoding="utf-8")
        self.outcomes[outcome.number] = outcome
        self._stream.write(_line(outcome))
        self._stream.flush()

    def close(self) -> None:
        """Close the file; the games stay."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def remove(self) -> None:
        """Delete the files, once the results are written elsewhere."""
        self.close()
        self._path.unlink()
        self._manifest.unlink()


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:200]}"


def _line(outcome: Outcome) -> str:
    values = {
        "game": outcome.number,
        "result": outcome.result,
        "reason": outcome.reason,
        "ties": outcome.ties,
        "moves": " ".join(outcome.moves),
    }
    return json.dumps(values | {"crc32": _checksum(values)}) + "\n"


def _checksum(values: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(values).encode()):08x}"


def _outcome(line: bytes) -> Outcome:
    values = json.loads(line)
    if values.pop("crc32") != _checksum(values):
        raise ValueError("the checksum is that of another line")
    moves = tuple(values["moves"].split())
    return Outcome(values["game"], values["result"], values["reason"], values["ties"], moves)
