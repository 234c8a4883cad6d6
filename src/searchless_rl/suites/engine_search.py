"""Many positions asked of an engine, by several workers; every answer is kept, so that a killed run goes on.

The program is not trusted: one that crashes, falls silent or names an illegal move is started afresh and
asked again; if it fails again, that position goes without an answer and the rest is done.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, get_args

import chess

from searchless_rl.suites.journal import ResultLog
from searchless_rl.suites.uci_engine import (
    Bound,
    EngineError,
    EngineLine,
    EngineLines,
    EngineSettings,
    UciEngine,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Analyses:
    """Answers of an engine.

    Attributes:
        version: what the engine calls itself; "" if it never started.
        rows: per position, in the order asked: the lines of every question put (one per MultiPV tried), or
            None where the engine gave no usable answer.
        void: FEN -> reason, for the positions without an answer.
    """

    version: str
    rows: list[tuple[EngineLines, ...] | None]
    void: dict[str, str]


def analyse_positions(
    fens: Sequence[str],
    settings: EngineSettings,
    log_path: Path,
    *,
    workers: int = 1,
    enough: Callable[[EngineLines], bool] = lambda lines: True,
    advance: Callable[[int], Any] = lambda count: None,
) -> Analyses:
    """Ask an engine about positions; the answers do not depend on `workers`.

    Each position is asked with `settings.multipv` lines, then with twice as many, until `enough` of the lines
    just seen is true or every legal move was shown.

    Args:
        fens: positions; equal ones are asked once.
        settings: the engine and how it is asked.
        log_path: where every answer is appended at once; what it holds for the same engine version and
            settings is not asked again. A kill loses the questions in work.
        workers: engines at a time, >= 1.
        enough: whether these lines suffice.
        advance: progress callback, called with the number of positions just finished.

    Raises:
        ValueError: a FEN that is none (before anything is asked), or `workers` < 1.
        OSError, RuntimeError: the log cannot be used.
    """
    boards = {fen: chess.Board(fen) for fen in fens}
    if workers < 1:
        raise ValueError(f"workers = {workers} must be at least 1")
    with ResultLog(log_path) as log:
        try:
            version = _version(settings)
        except EngineError as error:
            return Analyses("", [None] * len(fens), dict.fromkeys(boards, str(error)))
        known = _KnownAnswers(settings, version, log)
        with _Workers(settings, workers) as pool:

            def ask(board: chess.Board) -> tuple[EngineLines, ...] | EngineError:
                with pool.idle() as worker:
                    try:
                        return known.row(worker, board, enough)
                    except EngineError as error:
                        return error

            answers = {}
            for fen, answer in zip(boards, pool.map(ask, boards.values()), strict=True):
                answers[fen] = answer
                advance(1)
    void = {fen: str(answer) for fen, answer in answers.items() if isinstance(answer, EngineError)}
    return Analyses(version, [_usable(answers[fen]) for fen in fens], void)


def _usable(answer: tuple[EngineLines, ...] | EngineError) -> tuple[EngineLines, ...] | None:
    return None if isinstance(answer, EngineError) else answer


def _version(settings: EngineSettings) -> str:
    worker = _Worker(settings)
    try:
        return worker.ask(lambda engine: engine.version)
    finally:
        worker.close()


class _Worker:
    """An engine that is started when it is first needed, and once more when it fails."""

    def __init__(self, settings: EngineSettings) -> None:
        self._settings = settings
        self._engine: UciEngine | None = None

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def ask(self, question: Callable[[UciEngine], T]) -> T:
        try:
            return self._ask_once(question)
        except EngineError:
            return self._ask_once(question)

    def _ask_once(self, question: Callable[[UciEngine], T]) -> T:
        try:
            if self._engine is None:
                self._engine = UciEngine(self._settings)
            return question(self._engine)
        except EngineError:
            self.close()
            raise


class _Workers:
    """Engines and as many threads; the block ends with waiting questions dropped and engines killed."""

    def __init__(self, settings: EngineSettings, count: int) -> None:
        self._threads = ThreadPoolExecutor(count)
        self._workers = [_Worker(settings) for _ in range(count)]
        self._idle: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._idle.put(worker)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()

    @contextlib.contextmanager
    def idle(self) -> Iterator[_Worker]:
        """An engine that no other thread uses meanwhile."""
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)

    def map(self, ask: Callable[[chess.Board], T], boards: Iterable[chess.Board]) -> Iterator[T]:
        """The answers in the order of the boards."""
        return self._threads.map(ask, boards)


class _KnownAnswers:
    """Answers looked up in the log, or got from a worker and entered there."""

    def __init__(self, settings: EngineSettings, version: str, log: ResultLog) -> None:
        self._settings = settings
        self._header = {"engine": version, "nodes": settings.nodes, "hash_mb": settings.hash_mb}
        self._log = log
        self._known: dict[tuple[str, int], EngineLines] = {}
        for header, key, lines in log.parsed_with(_kept_answer):
            if header == self._header:
                self._known[key] = lines

    def row(
        self, worker: _Worker, board: chess.Board, enough: Callable[[EngineLines], bool]
    ) -> tuple[EngineLines, ...]:
        legal = board.legal_moves.count()
        asked: list[EngineLines] = []
        multipv = self._settings.multipv
        while True:
            asked.append(self._lines(worker, board, min(multipv, legal)))
            if multipv >= legal or enough(asked[-1]):
                return tuple(asked)
            multipv *= 2

    def _lines(self, worker: _Worker, board: chess.Board, multipv: int) -> EngineLines:
        key = board.fen(), multipv
        if key not in self._known:
            lines = worker.ask(lambda engine: engine.analyse(board, multipv))
            fields = [[line.move, line.cp, line.mate, line.bound] for line in lines]
            self._log.append({**self._header, "fen": key[0], "multipv": multipv, "lines": fields})
            self._known[key] = lines
        return self._known[key]


def _kept_answer(record: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, int], EngineLines]:
    """Header, FEN and MultiPV, and lines of an answer as the log holds it.

    Raises:
        KeyError, TypeError, ValueError: the record is something else.
    """
    header = {name: record[name] for name in ("engine", "nodes", "hash_mb")}
    fen, multipv = record["fen"], record["multipv"]
    if not isinstance(fen, str) or not isinstance(multipv, int):
        raise TypeError("fen or multipv")
    return header, (fen, multipv), tuple(_kept_line(*fields) for fields in record["lines"])


def _kept_line(move: Any, cp: Any, mate: Any, bound: Any) -> EngineLine:
    scores = {type(cp), type(mate)}
    if not isinstance(move, str) or scores != {int, type(None)} or bound not in get_args(Bound):
        raise TypeError("move, score or bound of a line")
    return EngineLine(move, cp, mate, bound)
