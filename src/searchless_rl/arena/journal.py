"""Finished games of an unfinished arena, kept line by line so that a killed run plays none of them again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from searchless_rl.arena.match_runner import Outcome
from searchless_rl.files import remove_partial_files, write_atomically
from searchless_rl.unfinished import MANIFEST, begin, continues

GAMES = "games.jsonl"


class Journal:
    """A scratch folder with the inputs of a run and one JSON line per finished game.

    Args:
        folder: held by this process alone (see `unfinished.exclusive`).
        inputs: everything that decides the games' results, as JSON values.
        code: fingerprint of the code that plays; games of other code are played again.

    Raises:
        CannotContinue: the folder holds unfinished games with other inputs (each difference named).
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
        lines = self._path.read_bytes().split(b"\n")[:-1]
        try:
            outcomes = [_outcome(json.loads(line)) for line in lines]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            folder = self._path.parent
            raise ValueError(f"{self._path}: damaged ({error}); delete {folder} to start again") from error
        return {outcome.number: outcome for outcome in outcomes}

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


def _line(outcome: Outcome) -> str:
    values = {
        "game": outcome.number,
        "result": outcome.result,
        "reason": outcome.reason,
        "ties": outcome.ties,
        "moves": " ".join(outcome.moves),
    }
    return json.dumps(values) + "\n"


def _outcome(values: dict[str, Any]) -> Outcome:
    moves = tuple(values["moves"].split())
    return Outcome(values["game"], values["result"], values["reason"], values["ties"], moves)
