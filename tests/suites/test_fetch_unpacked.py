"""Files pinned by the hash of what they unpack to, their size unknown, as lczero.org names its networks."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from https_server import BODY, ENTRY, HTML, Server, left_beside

from searchless_rl.suites import sources, verify
from searchless_rl.suites.download import FetchError, fetch
from searchless_rl.suites.sources import OFFICIAL, RemoteFile

UNPACKED = replace(
    ENTRY, size=None, sha256=None, sha256_unpacked=hashlib.sha256(gzip.decompress(BODY)).hexdigest()
)


def test_a_file_is_fetched_whole_and_known_by_its_content(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "net.pb.gz"
    assert fetch(UNPACKED, target, server.transport).read_bytes() == BODY
    again = gzip.compress(gzip.decompress(BODY), 1)
    assert again != BODY
    target.write_bytes(again)  # packed otherwise, put there by hand: the same network
    fetch(UNPACKED, target, server.transport)
    assert server.ranges == [None]


def test_a_transfer_that_breaks_off_begins_anew(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "net.pb.gz"
    server.script(
        lambda handler: handler.reply_range(BODY, 100_000), lambda handler: handler.reply_range(BODY)
    )
    assert fetch(UNPACKED, target, server.transport).read_bytes() == BODY
    assert server.ranges == [None, None]
    assert left_beside(target) == {"net.pb.gz"}


def test_without_a_length_the_hash_decides(server: Server, tmp_path: Path) -> None:
    server.script(lambda handler: handler.reply(200, BODY, None))
    assert fetch(UNPACKED, tmp_path / "net.pb.gz", server.transport).read_bytes() == BODY
    server.script(lambda handler: handler.reply(200, BODY[:50_000], None))
    with pytest.raises(FetchError, match=r"unpacked content is not known \(no whole gzip file"):
        fetch(UNPACKED, tmp_path / "other.pb.gz", server.transport)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (gzip.compress(b"another network"), "the sha256 of its unpacked content is [0-9a-f]{64}, expected"),
        (b"no gzip file at all", "no whole gzip file"),
        (HTML, "it is a web page"),
    ],
)
def test_another_file_is_set_aside(server: Server, tmp_path: Path, body: bytes, words: str) -> None:
    server.script(lambda handler: handler.reply(200, body))
    with pytest.raises(FetchError, match=words) as error:
        fetch(UNPACKED, tmp_path / "net.pb.gz", server.transport)
    assert "size not known" in str(error.value)
    assert f"unpacked content is {UNPACKED.sha256_unpacked}" in str(error.value)
    assert not (tmp_path / "net.pb.gz").exists()


def test_sizes_are_capped_before_and_while_they_arrive(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_UNKNOWN", 100_000)
    server.script(lambda handler: handler.reply_range(BODY))
    with pytest.raises(FetchError, match="expected at most 100,000"):
        fetch(UNPACKED, tmp_path / "net.pb.gz", server.transport)
    server.script(lambda handler: handler.reply(200, BODY, None))
    with pytest.raises(FetchError, match="sends more than the expected 100,000 bytes"):
        fetch(UNPACKED, tmp_path / "net.pb.gz", server.transport)


def test_what_unpacks_without_end_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "MAX_UNKNOWN", 1_000_000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(3_000_000)))
    assert verify.sha256_unpacked(path) == "not known (more than 1,000,000 bytes)"


@pytest.mark.parametrize(
    "wrong",
    [
        {"sha256": None},
        {"sha256_unpacked": "0" * 64},
        {"size": None},
        {"size": 0},
        {"size": None, "sha256": None, "sha256_unpacked": "xyz"},
        {"sha256": None, "sha256_unpacked": "0" * 64},
    ],
)
def test_an_entry_has_one_hash_and_the_size_that_goes_with_it(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="net: needs"):
        replace(ENTRY, **wrong)


def test_the_official_networks_are_asked_for_by_their_hash() -> None:
    for entry in OFFICIAL:
        assert isinstance(entry, RemoteFile)
        assert str(entry.sources[0]).endswith(f"?sha={entry.sha256_unpacked}")
        assert entry.is_network
