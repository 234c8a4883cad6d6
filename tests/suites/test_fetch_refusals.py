"""Downloads over https that are refused or given up, against a server that misbehaves."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import shutil
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from https_server import BODY, ENTRY, HTML, Handler, Server, entry_for, left_beside

from searchless_rl.suites.download import FetchError, fetch
from searchless_rl.suites.new_file import open_new

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
