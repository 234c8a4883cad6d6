"""Games fetched in bulk, from a local server that shuffles, refuses, breaks off, forgets and babbles."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import chess
import pytest

from searchless_rl.suites.download import FetchError, Transport
from searchless_rl.suites.files import read_game_moves
from searchless_rl.suites.histories import fetch_histories, game_id
from searchless_rl.suites.puzzles import read_puzzles

LINES = {  # game id -> moves of the game up to the puzzle, the puzzle's own line, the rest of the game
    "gameAAA1": ("e4 e5 Nf3 Nc6", "Bb5 a6", "Ba4 Nf6"),
    "gameAAA2": ("d4 d5 c4 e6 Nc3 Nf6", "Bg5 Be7", ""),
    "gameAAA3": ("e4 c5 Nf3 d6 d4 cxd4", "Nxd4 Nf6", "Nc3"),
    "gameAAA4": ("e4 e6 d4 d5 e5 c5", "c3 Nc6", ""),
}
GAMES = {name: " ".join(part for part in parts if part) for name, parts in LINES.items()}


def to_uci(sans: str) -> tuple[str, str]:
    board, moves = chess.Board(), []
    for san in sans.split():
        moves.append(board.push_san(san).uci())
    return " ".join(moves), board.fen()


def row(puzzle_id: str, game: str, url: str | None = None) -> str:
    before, line, _ = LINES[game]
    history, fen = to_uci(before)
    moves = to_uci(f"{before} {line}")[0].removeprefix(history).strip()
    return f"{puzzle_id},{fen},{moves},1500,x,{url or f'https://lichess.org/{game}#99'}"


def write(path: Path, rows: list[str], header: str = "PuzzleId,FEN,Moves,Rating,Themes,GameUrl") -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        server: Server = self.server.owner  # type: ignore[attr-defined]
        server.running += 1
        server.most_at_once = max(server.most_at_once, server.running)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        server.requests.append((self.path, dict(self.headers), body.split(",")))
        self.close_connection = True
        try:
            server.next_step()(self, body.split(","))
        finally:
            server.running -= 1

    def log_message(self, *arguments: object) -> None:
        pass

    def refuse(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def lines(self, ids: list[str]) -> list[bytes]:
        games = self.server.owner.games  # type: ignore[attr-defined]
        return [
            json.dumps({"id": name, "rated": True, "moves": games[name]}).encode() + b"\n"
            for name in ids
            if name in games
        ]

    def reply(
        self,
        lines: list[bytes],
        *,
        length: int | None = None,
        chunked: bool = True,
        broken: bool = False,
        kind: str = "application/x-ndjson",
    ) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        elif chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in lines:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line) if chunked and length is None else line)
        if chunked and length is None and not broken:
            self.wfile.write(b"0\r\n\r\n")


Step = Callable[[Handler, list[str]], None]


def well(handler: Handler, ids: list[str]) -> None:
    """A good answer: the known games, the last one asked for first."""
    handler.reply(list(reversed(handler.lines(ids))))


@dataclass
class Server:
    port: int = 0
    games: dict[str, str] = field(default_factory=lambda: dict(GAMES))
    steps: list[Step] = field(default_factory=list)
    requests: list[tuple[str, dict[str, str], list[str]]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    running: int = 0
    most_at_once: int = 0

    def next_step(self) -> Step:
        return self.steps.pop(0) if self.steps else well

    def open(self, request: urllib.request.Request, timeout_s: float) -> http.client.HTTPResponse:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        response: http.client.HTTPResponse = opener.open(request, timeout=timeout_s)
        return response

    def fetch(self, puzzles: Path, out: Path, **changes: Any) -> dict[str, Any]:
        transport = Transport(opener=self.open, timeout_s=5.0, attempts=3, pause_s=7.0)
        return fetch_histories(
            puzzles,
            out,
            base_url=f"http://127.0.0.1:{self.port}",
            transport=replace(transport, **changes),
            sleep=self.pauses.append,
        )

    @property
    def asked(self) -> list[list[str]]:
        return [ids for _, _, ids in self.requests]


@pytest.fixture
def server() -> Iterator[Server]:
    owner = Server()
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.owner = owner  # type: ignore[attr-defined]
    owner.port = httpd.server_address[1]
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield owner
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def puzzles(tmp_path: Path) -> Path:
    """Four puzzles of three games, one of them with two."""
    return write(
        tmp_path / "p.csv",
        [
            row("00001", "gameAAA1"),
            row("00002", "gameAAA2", "https://lichess.org/gameAAA2/black#Some(6)"),
            row("00003", "gameAAA3"),
            row("00004", "gameAAA1"),
        ],
    )


EXPECTED = {
    "00001": to_uci(LINES["gameAAA1"][0])[0],
    "00002": to_uci(LINES["gameAAA2"][0])[0],
    "00003": to_uci(LINES["gameAAA3"][0])[0],
    "00004": to_uci(LINES["gameAAA1"][0])[0],
}


# ------------------------------------------------------------------------------------- what goes right


def test_games_are_asked_for_once_and_cut_at_the_puzzle(
    server: Server, puzzles: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "h.csv"
    report = server.fetch(puzzles, out)
    assert out.read_text() == "PuzzleId,GameMoves\n" + "".join(
        f"{name},{moves}\n" for name, moves in EXPECTED.items()
    )
    assert read_game_moves(out) == EXPECTED
    assert json.loads(out.with_suffix(".json").read_text()) == report
    assert report["puzzles"] == {"reached": 4, "missed": 0, "illegal": 0, "unknown": 0, "no_game": 0}
    assert (report["games_asked_for"], report["games_unknown"], report["malformed_lines"]) == (3, 0, 0)
    assert report["examples"] == {}
    assert server.asked == [["gameAAA1", "gameAAA2", "gameAAA3"]]
    path, headers, _ = server.requests[0]
    assert urlsplit(path).path == "/api/games/export/_ids"
    assert {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()} == {
        **{"moves": "true", "tags": "false"},
        **{"clocks": "false", "evals": "false", "opening": "false"},
    }
    assert headers["Accept"] == "application/x-ndjson"
    assert headers["User-Agent"].startswith("searchless-rl/")
    assert server.pauses == []


def test_the_histories_reach_the_puzzles_when_read_back(
    server: Server, puzzles: Path, tmp_path: Path
) -> None:
    server.fetch(puzzles, tmp_path / "h.csv")
    read, report = read_puzzles(puzzles, game_moves=read_game_moves(tmp_path / "h.csv"))
    assert report.histories == {"reached": 4}
    assert {puzzle.id: " ".join(puzzle.history) for puzzle in read} == EXPECTED


def test_at_most_300_ids_a_request_and_one_request_at_a_time(server: Server, tmp_path: Path) -> None:
    names = [f"game{n:04}" for n in range(650)]
    server.games = dict.fromkeys(names, GAMES["gameAAA1"])
    rows = [row(f"{n:05}", "gameAAA1", f"https://lichess.org/{name}#1") for n, name in enumerate(names)]
    report = server.fetch(write(tmp_path / "p.csv", rows), tmp_path / "h.csv")
    assert [len(ids) for ids in server.asked] == [300, 300, 50]
    assert [name for ids in server.asked for name in ids] == names
    assert server.most_at_once == 1
    assert report["puzzles"]["reached"] == 650


# ------------------------------------------------------------------------------------- what goes wrong


def test_too_many_requests_are_waited_out_a_minute_doubling(
    server: Server, puzzles: Path, tmp_path: Path
) -> None:
    server.steps = [lambda handler, ids: handler.refuse(429)] * 3
    report = server.fetch(puzzles, tmp_path / "h.csv", attempts=4)
    assert report["puzzles"]["reached"] == 4
    assert server.pauses == [60.0, 120.0, 240.0]


@pytest.mark.parametrize(
    ("retry_after", "pause"),
    [("90", 90.0), ("5", 60.0), ("Wed, 21 Oct 2026 07:28:00 GMT", 60.0), ("-1", 60.0), ("²", 60.0)],
)
def test_a_longer_retry_after_is_respected(
    server: Server, puzzles: Path, tmp_path: Path, retry_after: str, pause: float
) -> None:
    server.steps = [lambda handler, ids: handler.refuse(429, Retry_After=retry_after)]
    server.fetch(puzzles, tmp_path / "h.csv")
    assert server.pauses == [pause]


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
    server: Server, puzzles: Path, tmp_path: Path, broken: Step
) -> None:
    server.steps = [broken]
    report = server.fetch(puzzles, tmp_path / "h.csv")
    assert report["puzzles"]["reached"] == 4
    assert report["malformed_lines"] == 0
    assert server.asked == [["gameAAA1", "gameAAA2", "gameAAA3"], ["gameAAA2", "gameAAA3"]]
    assert server.pauses == [7.0]


def test_an_answer_without_any_end_mark_that_breaks_off_is_asked_again(
    server: Server, puzzles: Path, tmp_path: Path
) -> None:
    def step(handler: Handler, ids: list[str]) -> None:
        handler.reply([handler.lines(ids)[0], handler.lines(ids)[1][:-9]], chunked=False)

    server.steps = [step]
    report = server.fetch(puzzles, tmp_path / "h.csv")
    assert report["puzzles"]["reached"] == 4
    assert server.asked[1] == ["gameAAA2", "gameAAA3"]


def test_a_game_left_out_twice_is_unknown(server: Server, puzzles: Path, tmp_path: Path) -> None:
    del server.games["gameAAA2"]
    report = server.fetch(puzzles, tmp_path / "h.csv")
    assert server.asked == [["gameAAA1", "gameAAA2", "gameAAA3"], ["gameAAA2"]]
    assert report["puzzles"] == {"reached": 3, "missed": 0, "illegal": 0, "unknown": 1, "no_game": 0}
    assert report["games_unknown"] == 1
    assert report["examples"] == {"unknown": ["00002"]}
    assert read_game_moves(tmp_path / "h.csv").keys() == {"00001", "00003", "00004"}
    server.fetch(puzzles, tmp_path / "h.csv")
    assert len(server.asked) == 2


def test_games_left_out_once_are_asked_for_together(server: Server, tmp_path: Path) -> None:
    names = [f"game{n:04}" for n in range(700)]
    server.games = dict.fromkeys(names, GAMES["gameAAA1"])
    forgotten = [names[5], names[305], names[605]]
    server.steps = [
        lambda handler, ids: handler.reply(handler.lines([name for name in ids if name not in forgotten]))
    ] * 3
    rows = [row(f"{n:05}", "gameAAA1", f"https://lichess.org/{name}#1") for n, name in enumerate(names)]
    report = server.fetch(write(tmp_path / "p.csv", rows), tmp_path / "h.csv")
    assert server.asked[3:] == [forgotten]
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
    server: Server, puzzles: Path, tmp_path: Path, line: bytes
) -> None:
    server.steps = [lambda handler, ids: handler.reply([line, b"\n", *handler.lines(ids)])]
    report = server.fetch(puzzles, tmp_path / "h.csv")
    assert report["malformed_lines"] == 1
    assert report["puzzles"]["reached"] == 4


def test_all_of_it_at_once(server: Server, puzzles: Path, tmp_path: Path) -> None:
    del server.games["gameAAA3"]
    server.steps = [
        lambda handler, ids: handler.refuse(429),
        lambda handler, ids: handler.reply(handler.lines(ids)[1:2], broken=True),
        lambda handler, ids: handler.reply([*handler.lines(ids), b'{"id": "gameAAA3", "mov\n']),
    ]
    report = server.fetch(puzzles, tmp_path / "h.csv")
    assert report["puzzles"] == {"reached": 3, "missed": 0, "illegal": 0, "unknown": 1, "no_game": 0}
    assert report["malformed_lines"] == 1
    assert server.pauses == [60.0, 7.0]


def test_games_that_do_not_lead_to_the_puzzle_are_reported(
    server: Server, puzzles: Path, tmp_path: Path
) -> None:
    server.games |= {"gameAAA1": "e4 e5", "gameAAA2": "d4 d5 c5", "gameAAA3": ""}
    report = server.fetch(puzzles, tmp_path / "h.csv")
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
    server: Server, puzzles: Path, tmp_path: Path, step: Step, message: str
) -> None:
    server.steps = [step]
    with pytest.raises(FetchError, match=message):
        server.fetch(puzzles, tmp_path / "h.csv")
    assert len(server.requests) == 1
    assert not (tmp_path / "h.csv").exists()


def test_failures_in_a_row_give_up_and_the_next_call_goes_on(
    server: Server, puzzles: Path, tmp_path: Path
) -> None:
    out = tmp_path / "h.csv"
    server.steps = [
        lambda handler, ids: handler.refuse(503),
        lambda handler, ids: handler.reply(handler.lines(ids)[:1], broken=True),  # some progress
        lambda handler, ids: handler.refuse(502),
        lambda handler, ids: handler.refuse(500),
    ]
    with pytest.raises(
        FetchError, match=r"HTTP 500 .*gave up after 3 requests in a row.*run the command again"
    ):
        server.fetch(puzzles, out)
    assert not out.exists()
    kept = out.with_name("h.csv.games.jsonl")
    with kept.open("ab") as stream:
        stream.write(b'{"id":"gameAAA2","moves":"d4 d')  # as a kill leaves it
    report = server.fetch(puzzles, out)
    assert server.asked[-1] == ["gameAAA2", "gameAAA3"]
    assert report["puzzles"]["reached"] == 4
    assert len(kept.read_text().splitlines()) == 3


def test_silence_ends_in_a_time_out(server: Server, puzzles: Path, tmp_path: Path) -> None:
    server.steps = [lambda handler, ids: time.sleep(1.0)] * 2
    with pytest.raises(FetchError, match=r"no answer within 0\.1 s"):
        server.fetch(puzzles, tmp_path / "h.csv", timeout_s=0.1, attempts=2)


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
    server: Server, puzzles: Path, tmp_path: Path, line: str
) -> None:
    kept = tmp_path / "h.csv.games.jsonl"
    kept.write_text('{"id":"gameAAA2","moves":null}\n' + line + "\n")
    with pytest.raises(ValueError, match=rf"{kept}: line 2 is (not what|no JSON)") as caught:
        server.fetch(puzzles, tmp_path / "h.csv")
    assert len(str(caught.value)) < 600
    assert server.requests == []


def test_an_answer_of_deep_brackets_is_a_malformed_line(
    server: Server, puzzles: Path, tmp_path: Path
) -> None:
    def nested(handler: Handler, ids: list[str]) -> None:
        handler.reply([b"[" * 100_000 + b"\n", *handler.lines(ids)])

    server.steps = [nested]
    report = server.fetch(puzzles, tmp_path / "h.csv")
    assert report["malformed_lines"] == 1
    assert report["puzzles"]["reached"] == 4


def test_a_line_without_end_is_given_up(server: Server, puzzles: Path, tmp_path: Path) -> None:
    sent: list[int] = []

    def endless(handler: Handler, ids: list[str]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-ndjson")
        handler.end_headers()
        with contextlib.suppress(OSError):
            for number in range(10_000):  # 640 MB, were they taken
                handler.wfile.write(b"x" * 65_536)
                sent.append(number)

    server.steps = [endless, endless, endless]
    with pytest.raises(FetchError, match="a line of more than 1,048,576 bytes.*gave up after 3"):
        server.fetch(puzzles, tmp_path / "h.csv")
    assert len(sent) < 3000


def test_an_answer_that_drips_is_given_up(server: Server, puzzles: Path, tmp_path: Path) -> None:
    def drip(handler: Handler, ids: list[str]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-ndjson")
        handler.end_headers()
        with contextlib.suppress(OSError):
            for _ in range(200):
                handler.wfile.write(b" ")
                time.sleep(0.05)

    server.steps = [drip, drip]
    begun = time.monotonic()
    with pytest.raises(FetchError, match=r"only \d+ bytes in .*gave up after 2"):
        server.fetch(puzzles, tmp_path / "h.csv", timeout_s=0.3, attempts=2)
    assert time.monotonic() - begun < 8


def test_words_of_the_server_are_escaped(server: Server, puzzles: Path, tmp_path: Path) -> None:
    def babble(handler: Handler, ids: list[str]) -> None:
        handler.wfile.write(b"HTTP/1.1 403 \x1b[31m" + b"no " * 5000 + b"\r\nContent-Length: 0\r\n\r\n")

    server.steps = [babble]
    with pytest.raises(FetchError, match="HTTP 403") as caught:
        server.fetch(puzzles, tmp_path / "h.csv")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 600
