"""The engine client, against a fake engine that misbehaves on demand and against the real Stockfish."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import chess
import pytest
from engine_programs import FakeEngine

from searchless_rl.suites.engine_search import analyse_positions
from searchless_rl.suites.journal import ResultLog
from searchless_rl.suites.uci_engine import EngineError, EngineLine, EngineSettings, UciEngine

FENS = [
    "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
    "4k3/8/8/8/8/8/3PP3/4K3 w - - 0 1",
    "4k3/8/8/8/8/8/2PPP3/4K3 b - - 0 1",
    "4k3/8/8/8/8/8/1PPPP3/4K3 w - - 0 1",
]
BAD = FENS[1]


@pytest.fixture
def settings(fake: FakeEngine) -> EngineSettings:
    return EngineSettings(fake.program, nodes=99, multipv=3)


def expected(fen: str, count: int) -> tuple[EngineLine, ...]:
    """What the fake engine says of a position: the legal moves by name."""
    moves = sorted(move.uci() for move in chess.Board(fen).legal_moves)
    return tuple(EngineLine(uci, -index, None) for index, uci in enumerate(moves[:count], start=1))


def good_rows(fens: list[str]) -> list[tuple[tuple[EngineLine, ...], ...] | None]:
    return [None if fen == BAD else (expected(fen, 3),) for fen in fens]


def impatient(settings: EngineSettings, what: str) -> EngineSettings:
    """A short time limit where the fault is one of time, but long enough for an answer on a busy machine."""
    return replace(settings, time_limit_s=3.0) if what.startswith(("hang", "flood")) else settings


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


# ------------------------------------------------------------------------------------- what goes right


def test_lines_of_every_position_in_the_order_asked(settings: EngineSettings, tmp_path: Path) -> None:
    found = analyse_positions([FENS[2], FENS[0], FENS[2]], settings, tmp_path / "j")
    assert found.version == "Fake 1.0"
    assert found.void == {}
    assert found.rows == [(expected(fen, 3),) for fen in (FENS[2], FENS[0], FENS[2])]


def test_every_question_is_a_new_game_on_one_thread_at_fixed_nodes(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    analyse_positions(FENS[:2], replace(settings, hash_mb=32), tmp_path / "j")
    once_asked = [
        *("uci", "setoption name Threads value 1", "setoption name Hash value 32", "isready"),
        *(
            "ucinewgame",
            "setoption name MultiPV value 3",
            "isready",
            f"position fen {FENS[0]}",
            "go nodes 99",
        ),
        *(
            "ucinewgame",
            "setoption name MultiPV value 3",
            "isready",
            f"position fen {FENS[1]}",
            "go nodes 99",
        ),
    ]
    assert fake.commands == once_asked[:4] + once_asked  # the first start only tells the version


def test_multipv_doubles_until_it_is_enough_or_all_moves_are_shown(
    settings: EngineSettings, tmp_path: Path
) -> None:
    legal = chess.Board(FENS[3]).legal_moves.count()
    asked: list[int] = []

    def enough(lines: tuple[EngineLine, ...]) -> bool:
        asked.append(len(lines))
        return len(lines) >= 5

    found = analyse_positions([FENS[3]], settings, tmp_path / "j", enough=enough)
    assert asked == [3, 6]
    assert found.rows == [(expected(FENS[3], 3), expected(FENS[3], 6))]
    found = analyse_positions([FENS[3]], settings, tmp_path / "k", enough=lambda lines: False)
    assert [len(lines) for lines in found.rows[0] or ()] == [3, 6, legal]
    assert 6 < legal < 12


def test_a_finished_game_has_no_lines(settings: EngineSettings, tmp_path: Path) -> None:
    mated = "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"
    assert analyse_positions([mated], settings, tmp_path / "j").rows == [((),)]


def test_mate_scores_and_bounds() -> None:
    assert EngineLine("e2e4", None, 3).mates_in == 3
    assert EngineLine("e2e4", None, 3, "lower").mates_in == 3  # at least as good: a mate in 3 or fewer
    assert EngineLine("e2e4", None, 3, "upper").mates_in is None
    assert EngineLine("e2e4", None, -3).mates_in is None
    assert EngineLine("e2e4", 9999, None).mates_in is None


@pytest.mark.parametrize("multipv", [1, 3])
def test_lines_that_tell_of_no_move_are_passed_over(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path, multipv: int
) -> None:
    fake.follow(fens={FENS[0]: "talk"})
    found = analyse_positions([FENS[0]], replace(settings, multipv=multipv), tmp_path / "j")
    assert found.rows == [(expected(FENS[0], multipv),)]


@pytest.mark.parametrize("what", ["torn block", "earlier block"])
def test_the_last_complete_block_counts(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path, what: str
) -> None:
    fake.follow(fens={FENS[0]: what})
    assert analyse_positions([FENS[0]], settings, tmp_path / "j").rows == [(expected(FENS[0], 3),)]


# ------------------------------------------------------------------------------------- what goes wrong


FAULTS = {
    "crash": "ended by itself",
    "hang": "no answer within",
    "flood": "no answer within",
    "no line ends": "without line ends",
    "illegal line": "illegal move 'a1a1'",
    "illegal best": "illegal move 'e1e9'",
    "no move": "illegal move '(none)'",
    "repeated line": "not 3 distinct ones",
    "too few lines": "not 3 distinct ones",
}


@pytest.mark.parametrize(("what", "reason"), FAULTS.items())
def test_a_fault_costs_one_restart_and_then_this_row_alone(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path, what: str, reason: str
) -> None:
    fake.follow(fens={BAD: what})
    found = analyse_positions(FENS, impatient(settings, what), tmp_path / "j")
    assert found.rows == good_rows(FENS)
    assert list(found.void) == [BAD]
    assert reason in found.void[BAD]
    assert str(fake.program) in found.void[BAD]
    assert fake.starts == 4  # for the version, for the work, the restart, and for the rows after it


@pytest.mark.parametrize("what", ["crash once", "hang once", "illegal line once"])
def test_a_fault_that_passes_costs_nothing_but_a_restart(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path, what: str
) -> None:
    fake.follow(fens={BAD: what})
    found = analyse_positions(FENS, impatient(settings, what), tmp_path / "j")
    assert found.rows == [(expected(fen, 3),) for fen in FENS]
    assert found.void == {}
    assert fake.starts == 3


def test_an_engine_that_vanishes_voids_the_rest(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    fake.follow(start="crash later")
    found = analyse_positions(FENS, settings, tmp_path / "j", workers=2)
    assert found.version == "Fake 1.0"
    assert found.rows == [None] * len(FENS)
    assert set(found.void) == set(FENS)


@pytest.mark.parametrize(
    ("start", "limit_s", "reason"),
    [("crash", 120.0, "ended by itself"), ("mute", 1.0, "no answer within 1 s")],
)
def test_an_engine_that_does_not_start_voids_all(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path, start: str, limit_s: float, reason: str
) -> None:
    fake.follow(start=start)
    found = analyse_positions(FENS, replace(settings, start_limit_s=limit_s), tmp_path / "j")
    assert (found.version, found.rows) == ("", [None] * 4)
    assert reason in found.void[FENS[0]]


def test_an_absent_engine_voids_all_and_is_named(tmp_path: Path) -> None:
    settings = EngineSettings(tmp_path / "no-such-engine", nodes=9)
    found = analyse_positions(FENS, settings, tmp_path / "j")
    assert found.rows == [None] * 4
    assert "no-such-engine: no such engine program. Install it" in found.void[FENS[0]]


def test_an_engine_that_cannot_be_run_voids_all(
    settings: EngineSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_processes(*arguments: object, **options: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", no_more_processes)
    found = analyse_positions(FENS, settings, tmp_path / "j")
    assert found.rows == [None] * 4
    assert "cannot be started" in found.void[FENS[0]]


def test_an_engine_may_be_named_as_on_the_path(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(fake.program.parent), prepend=os.pathsep)
    found = analyse_positions(FENS[:1], replace(settings, program=Path(fake.program.name)), tmp_path / "j")
    assert found.void == {}


def test_an_engine_without_multipv_shows_one_line(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    fake.follow(start="one line")
    found = analyse_positions(FENS[:1], replace(settings, multipv=1), tmp_path / "j")
    assert found.rows == [(expected(FENS[0], 1),)]
    found = analyse_positions(FENS[:1], settings, tmp_path / "k")
    assert "shows at most 1 lines, 3 are needed" in found.void[FENS[0]]


def test_no_process_is_left_behind(settings: EngineSettings, fake: FakeEngine) -> None:
    fake.follow(fens={BAD: "hang"})
    engine = UciEngine(replace(settings, time_limit_s=0.5))
    group = engine._process.pid
    with pytest.raises(EngineError, match=r"no answer within 0\.5 s"):
        engine.analyse(chess.Board(BAD), 3)
    assert alive(group)
    engine.close()
    engine.close()
    assert not alive(group)


def test_arguments_are_checked_before_anything_runs(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="nonsense"):
        analyse_positions([FENS[0], "nonsense"], settings, tmp_path / "j")
    with pytest.raises(ValueError, match="workers = 0"):
        analyse_positions(FENS, settings, tmp_path / "j", workers=0)
    for name in ("nodes", "multipv", "hash_mb", "time_limit_s", "start_limit_s"):
        with pytest.raises(ValueError, match=f"{name} = 0 must be positive"):
            replace(settings, **{name: 0})
    assert fake.starts == 0


# ------------------------------------------------------------------------------------- workers and resuming


def test_answers_do_not_depend_on_the_number_of_workers(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    fake.follow(fens={BAD: "crash", FENS[0]: "hang once"})
    fens = [*FENS, *(f"4k3/8/8/8/8/8/8/{place}R{6 - place}K w - - 0 1" for place in range(1, 6))]
    found = [
        analyse_positions(fens, replace(settings, time_limit_s=3.0), tmp_path / str(n), workers=n)
        for n in (1, 3)
    ]
    assert found[0] == found[1]
    assert [fen for fen in fens if fen in found[0].void] == [BAD]


def test_progress_counts_every_position_once(settings: EngineSettings, tmp_path: Path) -> None:
    done: list[int] = []
    analyse_positions([*FENS, FENS[0]], settings, tmp_path / "j", workers=2, advance=done.append)
    assert sum(done) == len(FENS)


def test_what_was_answered_is_not_asked_again(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    first = analyse_positions(FENS[:2], settings, tmp_path / "j")
    asked = len(fake.commands)
    found = analyse_positions(FENS, settings, tmp_path / "j", workers=2)
    assert found.rows[:2] == first.rows
    new = fake.commands[asked:]
    assert [fen for fen in FENS if f"position fen {fen}" in new] == FENS[2:]
    asked = len(fake.commands)
    assert analyse_positions(FENS, settings, tmp_path / "j") == found
    assert not any(command.startswith("go") for command in fake.commands[asked:])


@pytest.mark.parametrize("change", [{"nodes": 98}, {"multipv": 2}, {"hash_mb": 1}])
def test_other_settings_are_another_question(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path, change: dict[str, int]
) -> None:
    analyse_positions(FENS[:1], settings, tmp_path / "j")
    analyse_positions(FENS[:1], replace(settings, **change), tmp_path / "j")
    assert sum(command.startswith("go") for command in fake.commands) == 2


def test_a_torn_last_line_is_dropped_and_costs_that_row_alone(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    path = tmp_path / "j"
    whole = analyse_positions(FENS, settings, path)
    content = path.read_bytes()
    path.write_bytes(content[:-5])
    asked = len(fake.commands)
    assert analyse_positions(FENS, settings, path) == whole
    assert sum(command.startswith("go") for command in fake.commands[asked:]) == 1
    assert path.read_bytes() == content


def test_a_void_row_is_asked_again_by_the_next_run(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    fake.follow(fens={BAD: "crash"})
    assert analyse_positions(FENS, settings, tmp_path / "j").rows == good_rows(FENS)
    fake.follow()
    assert analyse_positions(FENS, settings, tmp_path / "j").rows == [(expected(fen, 3),) for fen in FENS]


# ------------------------------------------------------------------------------------- the journal


def test_journal_round_trip_and_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "j.jsonl"
    with ResultLog(path) as journal:
        assert journal.records == []
        journal.append({"a": 1, "b": "é\n"})
        journal.append({"a": 2})
    with path.open("ab") as stream:
        stream.write(b'{"a": 3}')  # whole, but without its end: it may have been cut anywhere
    with ResultLog(path) as journal:
        assert journal.records == [{"a": 1, "b": "é\n"}, {"a": 2}]
        journal.append({"a": 4})
    assert [json.loads(line)["a"] for line in path.read_bytes().splitlines()] == [1, 2, 4]


@pytest.mark.parametrize("line", ["nonsense", "[1]", "7", "[" * 100_000])
def test_a_journal_of_something_else_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text(f'{{"a": 1}}\n{line}\n{{"a": 2}}\n')
    with pytest.raises(ValueError, match=r"j\.jsonl: line 2 is no JSON object"):
        ResultLog(path)
    path.write_text('{"a": 1}\n')
    with (
        ResultLog(path) as log,
        pytest.raises(ValueError, match=r"j\.jsonl: line 1 is not .*KeyError\('b'\)"),
    ):
        log.parsed_with(lambda record: record["b"])


@pytest.mark.parametrize(
    "changes",
    [
        {"fen": []},
        {"multipv": {}},
        {"lines": None},
        {"lines": [["e2e4", 1, None]]},
        {"lines": [[["e2e4"], 1, None, "exact"]]},
        {"lines": [["e2e4", 1, None, []]]},
        {"lines": [["e2e4", None, None, "exact"]]},
        {"engine": None},
    ],
)
def test_a_kept_answer_of_the_wrong_kind_names_file_and_line(
    settings: EngineSettings, tmp_path: Path, changes: dict[str, object]
) -> None:
    path = tmp_path / "j.jsonl"
    analyse_positions(FENS[:1], settings, path)
    record = json.loads(path.read_text()) | changes
    path.write_text(
        json.dumps({name: value for name, value in record.items() if name != "engine" or value}) + "\n"
    )
    with pytest.raises(ValueError, match=r"j\.jsonl: line 1 is not what is kept here"):
        analyse_positions(FENS[:1], settings, path)


def test_a_journal_is_open_once(tmp_path: Path) -> None:
    with ResultLog(tmp_path / "j"), pytest.raises(RuntimeError, match="another process is at this work"):
        ResultLog(tmp_path / "j")
    ResultLog(tmp_path / "j").__exit__(None, None, None)


# ------------------------------------------------------------------------------------- the real Stockfish


MATE_IN_TWO = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"  # P. Morphy: 1.Ra6


def test_stockfish_finds_a_mate_and_repeats_itself(stockfish: Path, tmp_path: Path) -> None:
    settings = EngineSettings(stockfish, nodes=20_000)
    fens = [MATE_IN_TWO, chess.STARTING_FEN, FENS[0]]
    found = analyse_positions(fens, settings, tmp_path / "a")
    assert found.version.startswith("Stockfish")
    assert found.void == {}
    (mate,) = found.rows[0] or ()
    assert (mate[0].move, mate[0].mates_in) == ("a1a6", 2)
    assert all(len(lines) == 4 for row in found.rows for lines in row or ())
    assert all(
        one.cp >= two.cp
        for row in found.rows[1:]
        for lines in row or ()
        for one, two in pairwise(lines)
        if one.cp is not None and two.cp is not None
    )
    again = analyse_positions(list(reversed(fens)), settings, tmp_path / "b", workers=2)
    assert again.rows == list(reversed(found.rows))


def test_stockfish_answers_do_not_outlast_the_watchdog(stockfish: Path, tmp_path: Path) -> None:
    settings = EngineSettings(stockfish, nodes=10**12, time_limit_s=0.5)
    started = time.monotonic()
    found = analyse_positions([chess.STARTING_FEN], settings, tmp_path / "j")
    assert found.rows == [None]
    assert "no answer within 0.5 s" in found.void[chess.STARTING_FEN]
    assert time.monotonic() - started < 8


def test_a_program_in_the_home_folder_is_found(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(fake.program.parent))
    at_home = replace(settings, program=Path("~") / fake.program.name)
    assert analyse_positions(FENS[:1], at_home, tmp_path / "j").version == "Fake 1.0"


def test_very_long_words_of_an_engine_are_cut(
    settings: EngineSettings, fake: FakeEngine, tmp_path: Path
) -> None:
    fake.program.write_text(
        fake.program.read_text().replace('"bestmove', '"bestmove ' + "x" * 20_000 + '" + "')
    )
    found = analyse_positions(FENS[:1], settings, tmp_path / "j")
    assert found.rows == [None]
    assert "names the illegal move" in found.void[FENS[0]]
    assert len(found.void[FENS[0]]) < 600
