"""Stopped and killed arenas, and the finished games they leave."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from small_arenas import arena, bytes_of

from searchless_rl.arena import stage as arena_stage
from searchless_rl.arena.players import Player


def test_a_stopped_run_continues_and_ends_the_same(players, openings, tmp_path, monkeypatch):
    """Also with a torn last line; no finished game is played again."""
    arena(players, openings, tmp_path / "whole" / "out")
    out = tmp_path / "stopped" / "out"
    append, played = arena_stage.FinishedGames.append, []

    def stop_after_nine(journal, outcome):
        if len(played) == 9:
            raise KeyboardInterrupt
        played.append(outcome.number)
        append(journal, outcome)

    monkeypatch.setattr(arena_stage.FinishedGames, "append", stop_after_nine)
    with pytest.raises(KeyboardInterrupt):
        arena(players, openings, out, in_flight=4)
    assert not out.exists()
    journal = out.parent / "out-scratch" / "games.jsonl"
    with journal.open("a") as stream:
        stream.write('{"game": 23, "resu')

    def keep(journal, outcome):
        assert outcome.number not in played
        append(journal, outcome)

    monkeypatch.setattr(arena_stage.FinishedGames, "append", keep)
    arena(players, openings, out)
    assert bytes_of(out) == bytes_of(tmp_path / "whole" / "out")


def test_a_run_stopped_while_results_are_written_plays_nothing_again(
    players, openings, tmp_path, monkeypatch
):
    arena(players[:2], openings, tmp_path / "whole" / "out")
    out = tmp_path / "stopped" / "out"

    def full_disk(frame, path):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(arena_stage, "write_parquet", full_disk)
        with pytest.raises(OSError, match="No space left"):
            arena(players[:2], openings, out)
    monkeypatch.setattr(arena_stage, "load_network", None)
    arena(players[:2], openings, out)
    assert bytes_of(out) == bytes_of(tmp_path / "whole" / "out")


@pytest.mark.slow
def test_a_killed_process_loses_no_finished_game(weights, openings, tmp_path):
    program = (
        "import sys; from pathlib import Path; import torch; torch.set_num_threads(1)\n"
        "from searchless_rl.arena.stage import ArenaSettings, run_arena\n"
        "from searchless_rl.arena.players import Player\n"
        "a, b, openings, out = map(Path, sys.argv[1:])\n"
        "run_arena([Player('a', a), Player('b', b, 1.0)], openings, out,\n"
        "          ArenaSettings(games=8, seed=1, batch_size=8, in_flight=2, max_plies=100),\n"
        "          scratch=out.parent / 'scratch')\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}

    def start(out):
        command = [sys.executable, "-c", program, *map(str, (*weights[:2], openings, out))]
        return subprocess.Popen(command, env=environment)

    assert start(tmp_path / "whole" / "out").wait() == 0
    out = tmp_path / "killed" / "out"
    journal = out.parent / "scratch" / "games.jsonl"
    process = start(out)
    while not (journal.exists() and journal.read_text().count("\n") >= 2):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not out.exists()
    before = journal.read_bytes()
    assert start(out).wait() == 0
    assert before.count(b"\n") >= 2
    assert bytes_of(out) == bytes_of(tmp_path / "whole" / "out")


def _interrupted(players, openings, out, monkeypatch, **changes):
    """Leave an unfinished run behind."""
    append = arena_stage.FinishedGames.append

    def stop(journal, outcome):
        append(journal, outcome)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(arena_stage.FinishedGames, "append", stop)
        with pytest.raises(KeyboardInterrupt):
            arena(players, openings, out, **changes)


def test_an_unfinished_run_with_other_inputs_is_refused(players, openings, tmp_path, monkeypatch):
    _interrupted(players[:2], openings, tmp_path / "out", monkeypatch)
    with pytest.raises(ValueError, match="seed: 5 then, 6 now"):
        arena(players[:2], openings, tmp_path / "out", seed=6)
    warmer = [players[0], Player("argmax-b", players[1].weights, 0.5)]
    with pytest.raises(ValueError, match=r"players\.argmax-b\.temperature: 0\.0 then, 0\.5 now"):
        arena(warmer, openings, tmp_path / "out")
    other = [players[0], Player("argmax-b", players[0].weights)]
    with pytest.raises(ValueError, match=r"players\.argmax-b\.weights_sha256"):
        arena(other, openings, tmp_path / "out")
    assert len(arena(players[:2], openings, tmp_path / "out", in_flight=1)) == 4


def test_other_code_starts_again(players, openings, tmp_path, monkeypatch):
    _interrupted(players[:2], openings, tmp_path / "out", monkeypatch)
    monkeypatch.setattr(arena_stage, "_code", lambda: "another")
    with pytest.warns(UserWarning, match="begun with other code"):
        assert len(arena(players[:2], openings, tmp_path / "out", seed=7)) == 4


@pytest.mark.parametrize(
    "line",
    [
        "rubbish",
        '{"game": [], "result": "1-0", "reason": "checkmate", "ties": 0, "moves": "e2e4"}',
        "[]",
        "null",
        "[" * 100_000,
        '{"crc32": "00000000"}',
        "\xff",
    ],
)
def test_a_damaged_line_is_named(players, openings, tmp_path, monkeypatch, line):
    _interrupted(players[:2], openings, tmp_path / "out", monkeypatch)
    kept = tmp_path / "out-scratch" / "games.jsonl"
    kept.write_bytes(kept.read_bytes() + line.encode("latin-1") + b"\n")
    with pytest.raises(ValueError, match=r"games\.jsonl: line 2: damaged \(.*delete .*out-scratch"):
        arena(players[:2], openings, tmp_path / "out")


def test_one_changed_letter_is_noticed(players, openings, tmp_path, monkeypatch):
    """Another result, another first move: still JSON, and still a game."""
    _interrupted(players[:2], openings, tmp_path / "out", monkeypatch)
    kept = tmp_path / "out-scratch" / "games.jsonl"
    whole = kept.read_text()
    values = json.loads(whole)
    for key, other in (("result", "*"), ("moves", "a2a3"), ("game", values["game"] + 1), ("ties", 99)):
        kept.write_text(json.dumps(values | {key: other}) + "\n")
        with pytest.raises(ValueError, match=r"line 1: damaged \(ValueError: the checksum"):
            arena(players[:2], openings, tmp_path / "out")
    kept.write_text(whole)
    assert len(arena(players[:2], openings, tmp_path / "out")) == 4


@pytest.mark.parametrize("text", ["{", "[]", '{"inputs": 1}', "[" * 100_000])
def test_damaged_inputs_are_named(players, openings, tmp_path, monkeypatch, text):
    _interrupted(players[:2], openings, tmp_path / "out", monkeypatch)
    (tmp_path / "out-scratch" / "inputs.json").write_text(text)
    with pytest.raises(ValueError, match=r"inputs\.json: not readable"):
        arena(players[:2], openings, tmp_path / "out")
