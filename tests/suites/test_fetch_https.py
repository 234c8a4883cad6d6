"""Downloads over https that arrive: at once, resumed, by several at a time."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from https_server import BODY, ENTRY, Handler, Server, left_beside

from searchless_rl.suites.download import FetchError, fetch
from searchless_rl.suites.sources import RemoteFile

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
