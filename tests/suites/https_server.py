"""A server that misbehaves in every way a download can go wrong, and a file to fetch from it."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import http.server
import os
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from searchless_rl.suites.download import Transport
from searchless_rl.suites.https_source import HttpsOnlyRedirects
from searchless_rl.suites.sources import HttpsSource, RemoteFile

BODY = gzip.compress(os.urandom(300_000))
HTML = b"<!DOCTYPE html>\n<html><title>404</title></html>"


def entry_for(body: bytes, *hosts: str) -> RemoteFile:
    return RemoteFile(
        name="net",
        file_name="net.pb.gz",
        size=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        licence="none",
        description="test file",
        sources=tuple(HttpsSource(f"https://{host}.test/net.pb.gz") for host in hosts or ("server",)),
    )


ENTRY = entry_for(BODY)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server: Server = self.server.owner  # type: ignore[attr-defined]
        server.ranges.append(self.headers.get("Range"))
        self.close_connection = True
        server.behave(self)

    def log_message(self, *arguments: object) -> None:
        pass

    def reply(self, status: int, body: bytes, length: int | None = -1, **headers: str) -> None:
        """Send a response; `length` -1 declares the body's own, None declares none."""
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(len(body) if length == -1 else length))
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def start(self) -> int:
        asked = self.headers.get("Range")
        return int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0

    def reply_range(self, body: bytes, cut: int | None = None) -> None:
        """A well-behaved answer, except that it may end after `cut` bytes."""
        start = self.start()
        part = body[start:]
        extra = {"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        self.reply(206 if start else 200, part[:cut], len(part), **extra)


@dataclass
class Server:
    """A server on 127.0.0.1 and the opener that takes every https address to it."""

    port: int = 0
    behave: Callable[[Handler], None] = lambda handler: handler.reply_range(BODY)
    ranges: list[str | None] = field(default_factory=list)

    def open(self, request: urllib.request.Request, timeout_s: float) -> http.client.HTTPResponse:
        host = request.host.split(".")[0]
        local = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/{host}", headers=dict(request.header_items())
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), HttpsOnlyRedirects())
        response: http.client.HTTPResponse = opener.open(local, timeout=timeout_s)
        return response

    @property
    def transport(self) -> Transport:
        return Transport(opener=self.open, timeout_s=0.5, attempts=4, pause_s=0.0)

    def script(self, *steps: Callable[[Handler], None]) -> None:
        """Answer the requests in turn, the last step for all that follow."""
        left = list(steps)
        self.behave = lambda handler: (left.pop(0) if len(left) > 1 else left[0])(handler)


@contextlib.contextmanager
def served() -> Iterator[Server]:
    """A server that runs for as long as the context."""
    owner = Server()
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.owner = owner  # type: ignore[attr-defined]
    owner.port = httpd.server_address[1]
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield owner
    httpd.shutdown()
    httpd.server_close()


def left_beside(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir()} - {".net.pb.gz.lock"}
