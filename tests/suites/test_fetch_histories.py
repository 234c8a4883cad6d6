"""Games fetched in bulk: what is asked for, and what becomes of the answers."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from game_server import EXPECTED, GAMES, GameServer, row, write

from searchless_rl.suites.files import read_game_moves
from searchless_rl.suites.histories import fetch_histories, game_id
from searchless_rl.suites.puzzles import read_puzzles

# ------------------------------------------------------------------------------------- what goes right


def test_games_are_asked_for_once_and_cut_at_the_puzzle(
    game_server: GameServer, puzzles: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "h.csv"
    report = game_server.fetch(puzzles, out)
    assert out.read_text() == "PuzzleId,GameMoves\n" + "".join(
        f"{name},{moves}\n" for name, moves in EXPECTED.items()
    )
    assert read_game_moves(out) == EXPECTED
    assert json.loads(out.with_suffix(".json").read_text()) == report
    assert report["puzzles"] == {"reached": 4, "missed": 0, "illegal": 0, "unknown": 0, "no_game": 0}
    assert (report["games_asked_for"], report["games_unknown"], report["malformed_lines"]) == (3, 0, 0)
    assert report["examples"] == {}
    assert game_server.asked == [["gameAAA1", "gameAAA2", "gameAAA3"]]
    path, headers, _ = game_server.requests[0]
    assert urlsplit(path).path == "/api/games/export/_ids"
    assert {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()} == {
        **{"moves": "true", "tags": "false"},
        **{"clocks": "false", "evals": "false", "opening": "false"},
    }
    assert headers["Accept"] == "application/x-ndjson"
    assert headers["User-Agent"].startswith("searchless-rl/")
    assert game_server.pauses == []


def test_the_histories_reach_the_puzzles_when_read_back(
    game_server: GameServer, puzzles: Path, tmp_path: Path
) -> None:
    game_server.fetch(puzzles, tmp_path / "h.csv")
    read, report = read_puzzles(puzzles, game_moves=read_game_moves(tmp_path / "h.csv"))
    assert report.histories == {"reached": 4}
    assert {puzzle.id: " ".join(puzzle.history) for puzzle in read} == EXPECTED


def test_at_most_300_ids_a_request_and_one_request_at_a_time(game_server: GameServer, tmp_path: Path) -> None:
    names = [f"game{n:04}" for n in range(650)]
    game_server.games = dict.fromkeys(names, GAMES["gameAAA1"])
    rows = [row(f"{n:05}", "gameAAA1", f"https://lichess.org/{name}#1") for n, name in enumerate(names)]
    report = game_server.fetch(write(tmp_path / "p.csv", rows), tmp_path / "h.csv")
    assert [len(ids) for ids in game_server.asked] == [300, 300, 50]
    assert [name for ids in game_server.asked for name in ids] == names
    assert game_server.most_at_once == 1
    assert report["puzzles"]["reached"] == 650


# ------------------------------------------------------------------------------------- ids and addresses


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://lichess.org/787zsVup/black#48", "787zsVup"),
        ("https://lichess.org/787zsVup#Some(47)", "787zsVup"),
        ("https://lichess.org/787zsVup", "787zsVup"),
        ("https://lichess.org/787zsVupX#1", None),
        ("https://lichess.org/g/black#82", None),
        ("https://lichess.org/787z,Vup", None),
        ("", None),
    ],
)
def test_game_ids(url: str, expected: str | None) -> None:
    assert game_id(url) == expected


@pytest.mark.parametrize("base_url", ["lichess.org", "ftp://lichess.org", "https://", "https://lichess.org/"])
def test_addresses_are_checked(puzzles: Path, tmp_path: Path, base_url: str) -> None:
    with pytest.raises(ValueError, match="must be like https://lichess.org"):
        fetch_histories(puzzles, tmp_path / "h.csv", base_url=base_url)
