"""Games fetched in bulk from a server that refuses, breaks off, forgets, drips and babbles."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from game_server import GAMES, GameServer, Handler, Step, row, write

from searchless_rl.suites.download import FetchError
from searchless_rl.suites.files import read_game_moves
from searchless_rl.suites.histories import fetch_histories

# ------------------------------------------------------------------------------------- what goes wrong


def test_too_many_requests_are_waited_out_a_minute_doubling(
    game_server: GameServer, puzzles: Path, tmp_path: Path
) -> None:
    game_server.steps = [lambda handler, ids: handler.refuse(429)] * 3
    report = game_server.fetch(puzzles, tmp_path / "h.csv", attempts=4)
    assert report["puzzles"]["reached"] == 4
    assert game_server.pauses == [60.0, 120.0, 240.0]


@pytest.mark.parametrize(
    ("retry_after", "pause"),
    [("90", 90.0), ("5", 60.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 60.0), ("-1", 60.0), ("²", 60.0)],
)
def test_a_longer_retry_after_is_respected(
    game_server: GameServer, puzzles: Path, tmp_path: Path, retry_after: str, pause: float
) -> None:
    game_server.steps = [lambda handler, ids: handler.refuse(429, Retry_After=retry_after)]
    game_server.fetch(puzzles, tmp_path / "h.csv")
    assert game_server.pauses == [pause]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(lambda h, ids: h.reply(h.lines(ids)[:1], broken=True), id="chunks"),
        pytest.param(lambda h, ids: h.reply(h.lines(ids)[:1], length=10_000), id="declared length"),
        pytest.param(
            lambda h, ids: h.reply([h.lines(ids)[0], h.lines(ids)[1][:9]], broken=True), id="inside a line"
        ),
    ],
)
def test_an_answer_that_breaks_off_is_gone_on_with(
    game_server: GameServer, puzzles: Path, tmp_path: Path, broken: Step
) -> None:
    game_server.steps = [broken]
    report = game_server.fetch(puzzles, tmp_path / "h.csv")
    assert report["puzzles"]["reached"] == 4
    assert report["malformed_lines"] == 0
    assert game_server.asked == [["gameAAA1", "gameAAA2", "gameAAA3"], ["gameAAA2", "gameAAA3"]]
    assert game_server.pauses == [7.0]


def test_an_answer_without_any_end_mark_that_breaks_off_is_asked_again(
    game_server: GameServer, puzzles: Path, tmp_path: Path
) -> None:
    def step(handler: Handler, ids: list[str]) -> None:
        handler.reply([handler.lines(ids)[0], handler.lines(ids)[1][:-9]], chunked=False)

    game_server.steps = [step]
    report = game_server.fetch(puzzles, tmp_path / "h.csv")
    assert report["puzzles"]["reached"] == 4
    assert game_server.asked[1] == ["gameAAA2", "gameAAA3"]


def test_a_game_left_out_twice_is_unknown(game_server: GameServer, puzzles: Path, tmp_path: Path) -> None:
    del game_server.games["gameAAA2"]
    report = game_server.fetch(puzzles, tmp_path / "h.csv")
    assert game_server.asked == [["gameAAA1", "gameAAA2", "gameAAA3"], ["gameAAA2"]]
    assert report["puzzles"] == {"reached": 3, "missed": 0, "illegal": 0, "unknown": 1, "no_game": 0}
    assert report["games_unknown"] == 1
    assert report["examples"] == {"unknown": ["00002"]}
    assert read_game_moves(tmp_path / "h.csv").keys() == {"00001", "00003", "00004"}
    game_server.fetch(puzzles, tmp_path / "h.csv")
    assert len(game_server.asked) == 2


def test_games_left_out_once_are_asked_for_together(game_server: GameServer, tmp_path: Path) -> None:
    names = [f"game{n:04}" for n in range(700)]
    game_server.games = dict.fromkeys(names, GAMES["gameAAA1"])
    forgotten = [names[5], names[305], names[605]]
    game_server.steps = [
        lambda handler, ids: handler.reply(handler.lines([name for name in ids if name not in forgotten]))
    ] * 3
    rows = [row(f"{n:05}", "gameAAA1", f"https://lichess.org/{name}#1") for n, name in enumerate(names)]
    report = game_server.fetch(write(tmp_path / "p.csv", rows), tmp_path / "h.csv")
    assert game_server.asked[3:] == [forgotten]
    assert report["puzzles"]["reached"] == 700


@pytest.mark.parametrize(
    "line",
    [
        *(b"nonsense\n", b"[]\n", b"7\n", b"null\n", b"{}\n", b'{"id": "gameAAA1"}\n', b"\xff\xfe\n"),
        *(b'{"id": "gameAAA1", "moves": 7}\n', b'{"id": ["gameAAA1"], "moves": "e4"}\n'),
        b'{"id": "gameZZZ9", "moves": "e4 e5"}\n',
    ],
)
def test_lines_that_are_no_games_asked_for_are_counted(
    game_server: GameServer, puzzles: Path, tmp_path: Path, line: bytes
) -> None:
    game_server.steps = [lambda handler, ids: handler.reply([line, b"\n", *handler.lines(ids)])]
    report = game_server.fetch(puzzles, tmp_path / "h.csv")
    assert report["malformed_lines"] == 1
    assert report["puzzles"]["reached"] == 4


def test_all_of_it_at_once(game_server: GameServer, puzzles: Path, tmp_path: Path) -> None:
    del game_server.games["gameAAA3"]
    game_server.steps = [
        lambda handler, ids: handler.refuse(429),
        lambda handler, ids: handler.reply(handler.lines(ids)[1:2], broken=True),
        lambda handler, ids: handler.reply([*handler.lines(ids), b'{"id": "gameAAA3", "mov\n']),
    ]
    report = game_server.fetch(puzzles, tmp_path / "h.csv")
    assert report["puzzles"] == {"reached": 3, "missed": 0, "illegal": 0, "unknown": 1, "no_game": 0}
    assert report["malformed_lines"] == 1
    assert game_server.pauses == [60.0, 7.0]


def test_games_that_do_not_lead_to_the_puzzle_are_reported(
    game_server: GameServer, puzzles: Path, tmp_path: Path
) -> None:
    game_server.games |= {"gameAAA1": "e4 e5", "gameAAA2": "d4 d5 c5", "gameAAA3": ""}
    report = game_server.fetch(puzzles, tmp_path / "h.csv")
    assert report["puzzles"] == {"reached": 0, "missed": 3, "illegal": 1, "unknown": 0, "no_game": 0}
    assert report["examples"] == {"missed": ["00001", "00003", "00004"], "illegal": ["00002"]}
    assert (tmp_path / "h.csv").read_text() == "PuzzleId,GameMoves\n"


def test_puzzles_without_a_game_need_no_server(tmp_path: Path) -> None:
    rows = [row("00001", "gameAAA1").rsplit(",", 1)[0]]
    path = write(tmp_path / "p.csv", rows, "PuzzleId,FEN,Moves,Rating,Themes")
    report = fetch_histories(path, tmp_path / "h.csv", base_url="http://127.0.0.1:9")
    assert report["puzzles"]["no_game"] == 1


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda handler, ids: handler.refuse(404), "HTTP 404 Not Found"),
        (lambda handler, ids: handler.reply([b"<html>"], kind="text/html"), "answers with text/html"),
    ],
)
def test_a_refusal_ends_it_at_once(
    game_server: GameServer, puzzles: Path, tmp_path: Path, step: Step, message: str
) -> None:
    game_server.steps = [step]
    with pytest.raises(FetchError, match=message):
        game_server.fetch(puzzles, tmp_path / "h.csv")
    assert len(game_server.requests) == 1
    assert not (tmp_path / "h.csv").exists()


def test_failures_in_a_row_give_up_and_the_next_call_goes_on(
    game_server: GameServer, puzzles: Path, tmp_path: Path
) -> None:
    out = tmp_path / "h.csv"
    game_server.steps = [
        lambda handler, ids: handler.refuse(503),
        lambda handler, ids: handler.reply(handler.lines(ids)[:1], broken=True),  # some progress
        lambda handler, ids: handler.refuse(502),
        lambda handler, ids: handler.refuse(500),
    ]
    with pytest.raises(
        FetchError, match=r"HTTP 500 .*gave up after 3 requests in a row.*run the command again"
    ):
        game_server.fetch(puzzles, out)
    assert not out.exists()
    kept = out.with_name("h.csv.games.jsonl")
    with kept.open("ab") as stream:
        stream.write(b'{"id":"gameAAA2","moves":"d4 d')  # as a kill leaves it
    report = game_server.fetch(puzzles, out)
    assert game_server.asked[-1] == ["gameAAA2", "gameAAA3"]
    assert report["puzzles"]["reached"] == 4
    assert len(kept.read_text().splitlines()) == 3


def test_silence_ends_in_a_time_out(game_server: GameServer, puzzles: Path, tmp_path: Path) -> None:
    game_server.steps = [lambda handler, ids: time.sleep(1.0)] * 2
    with pytest.raises(FetchError, match=r"no answer within 0\.1 s"):
        game_server.fetch(puzzles, tmp_path / "h.csv", timeout_s=0.1, attempts=2)


# ------------------------------------------------------------------------------- kept games, endless answers


@pytest.mark.parametrize(
    "line",
    [
        '{"id":[],"moves":"e4"}',
        '{"id":{"a":1},"moves":"e4"}',
        '{"id":"gameAAA1","moves":[]}',
        '{"id":"gameAAA1"}',
        "[" * 100_000,
        '{"id":' * 50_000,
    ],
)
def test_a_kept_game_of_the_wrong_kind_names_file_and_line(
    game_server: GameServer, puzzles: Path, tmp_path: Path, line: str
) -> None:
    kept = tmp_path / "h.csv.games.jsonl"
    kept.write_text('{"id":"gameAAA2","moves":null}\n' + line + "\n")
    with pytest.raises(ValueError, match=rf"{kept}: line 2 is (not what|no JSON)") as caught:
        game_server.fetch(puzzles, tmp_path / "h.csv")
    assert len(str(caught.value)) < 600
    assert game_server.requests == []


def test_an_answer_of_deep_brackets_is_a_malformed_line(
    game_server: GameServer, puzzles: Path, tmp_path: Path
) -> None:
    def nested(handler: Handler, ids: list[str]) -> None:
        handler.reply([b"[" * 100_000 + b"\n", *handler.lines(ids)])

    game_server.steps = [nested]
    report = game_server.fetch(puzzles, tmp_path / "h.csv")
    assert report["malformed_lines"] == 1
    assert report["puzzles"]["reached"] == 4


def test_a_line_without_end_is_given_up(game_server: GameServer, puzzles: Path, tmp_path: Path) -> None:
    sent: list[int] = []

    def endless(handler: Handler, ids: list[str]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-ndjson")
        handler.end_headers()
        with contextlib.suppress(OSError):
            for number in range(10_000):  # 640 MB, were they taken
                handler.wfile.write(b"x" * 65_536)
                sent.append(number)

    game_server.steps = [endless, endless, endless]
    with pytest.raises(FetchError, match="a line of more than 1,048,576 bytes.*gave up after 3"):
        game_server.fetch(puzzles, tmp_path / "h.csv")
    assert len(sent) < 3000


def test_an_answer_that_drips_is_given_up(game_server: GameServer, puzzles: Path, tmp_path: Path) -> None:
    def drip(handler: Handler, ids: list[str]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-ndjson")
        handler.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(200):
                handler.wfile.write(b" ")
                time.sleep(0.05)

    game_server.steps = [drip, drip]
    begun = time.monotonic()
    with pytest.raises(FetchError, match=r"only \d+ bytes in .*gave up after 2"):
        game_server.fetch(puzzles, tmp_path / "h.csv", timeout_s=0.3, attempts=2)
    assert time.monotonic() - begun < 8


def test_words_of_the_server_are_escaped(game_server: GameServer, puzzles: Path, tmp_path: Path) -> None:
    def babble(handler: Handler, ids: list[str]) -> None:
        handler.wfile.write(b"HTTP/1.1 403 \x1b[31m" + b"no " * 5000 + b"\r\nContent-Length: 0\r\n\r\n")

    game_server.steps = [babble]
    with pytest.raises(FetchError, match="HTTP 403") as caught:
        game_server.fetch(puzzles, tmp_path / "h.csv")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 600
