"""A server of games that shuffles, refuses, breaks off, forgets and babbles, and puzzles of its games."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import chess

from searchless_rl.suites.download import Transport
from searchless_rl.suites.histories import fetch_histories

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
        server: GameServer = self.server.owner  # type: ignore[attr-defined]
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
class GameServer:
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


@contextlib.contextmanager
def served() -> Iterator[GameServer]:
    """A server that runs for as long as the context."""
    owner = GameServer()
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.owner = owner  # type: ignore[attr-defined]
    owner.port = httpd.server_address[1]
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield owner
    httpd.shutdown()
    httpd.server_close()


EXPECTED = {
    "00001": to_uci(LINES["gameAAA1"][0])[0],
    "00002": to_uci(LINES["gameAAA2"][0])[0],
    "00003": to_uci(LINES["gameAAA3"][0])[0],
    "00004": to_uci(LINES["gameAAA1"][0])[0],
}
