"""Download of one file over https: resumed where it broke off, never more on disk than its pinned size."""

from __future__ import annotations

import http.client
import logging
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from tqdm import tqdm

from searchless_rl import __version__
from searchless_rl.files import sha256_of
from searchless_rl.suites.new_file import open_new
from searchless_rl.suites.sources import RemoteFile, SourceError
from searchless_rl.suites.verify import looks_like_html
from searchless_rl.text import printable

logger = logging.getLogger(__name__)

#: Opens a request with a time-out in seconds; may raise what `urllib.request.urlopen` raises.
Opener = Callable[[urllib.request.Request, float], http.client.HTTPResponse]

#: HTTP statuses after which the same request may succeed later.
TRANSIENT_STATUS = {408, 425, 429, 500, 502, 503, 504}

#: A server that brings fewer bytes a second than this, once the time-out has passed, is given up.
MIN_BYTES_PER_S = 64

_CHUNK = 1 << 18
_PROGRESS_FROM = 8 << 20
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class _TryAgain(Exception):
    """The transfer broke off in a way another request may mend."""


class HttpsOnlyRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to https addresses and to nothing else."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The request to follow; raises `SourceError` for any other scheme than https."""
        if urlsplit(newurl).scheme != "https":
            raise SourceError(f"redirects to {printable(newurl)}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def open_https(request: urllib.request.Request, timeout_s: float) -> http.client.HTTPResponse:
    """Opener for real use: certificates checked, proxies from the environment, redirects to https only."""
    response: http.client.HTTPResponse = urllib.request.build_opener(HttpsOnlyRedirects()).open(
        request, timeout=timeout_s
    )
    return response


def read_chunks(response: http.client.HTTPResponse, timeout_s: float) -> Iterator[bytes]:
    """The body as it arrives, at least `MIN_BYTES_PER_S` bytes a second once `timeout_s` seconds have passed.

    Without that a server could hold a client for ever with a byte now and then.

    Raises:
        OSError, http.client.HTTPException: the transfer broke off, or is too slow.
    """
    begun, received = time.monotonic(), 0
    while chunk := response.read1(_CHUNK):
        received += len(chunk)
        yield chunk
        passed = time.monotonic() - begun
        if passed > timeout_s and received < MIN_BYTES_PER_S * passed:
            raise OSError(f"only {received:,} bytes in {passed:.0f} s")


def download(
    url: str,
    entry: RemoteFile,
    part: Path,
    *,
    opener: Opener = open_https,
    timeout_s: float = 30.0,
    attempts: int = 6,
    pause_s: float = 1.0,
) -> None:
    """Bring `part` to the entry's size, resuming from what it holds; the caller checks the hash.

    A file of unknown size is always fetched in one go.

    Bytes from several requests are hashed here first, and fetched anew in one go if they do not fit
    together: the file at the address may have changed in between, or `part` stem from something else.

    Args:
        url: an address `opener` accepts.
        entry: size (bytes) and hash.
        part: where to write; what it holds is kept when the transfer fails, for the next call to resume.
        opener: how to open the address.
        timeout_s: seconds without a byte after which a request is given up; from then on it must also bring
            `MIN_BYTES_PER_S`.
        attempts: requests at most.
        pause_s: seconds between requests.

    Raises:
        SourceError: the source cannot give the file, or not within `attempts` requests.
        OSError: `part` cannot be written.
    """
    pieced = False
    reason = ""
    for attempt in range(attempts):
        if attempt:
            logger.info("%s: %s; trying again", url, reason)
            time.sleep(pause_s)
        if entry.size is None:
            part.unlink(missing_ok=True)
        have = part.stat().st_size if part.is_file() and not part.is_symlink() else 0
        pieced = pieced or have > 0
        try:
            if have < entry.most:
                _transfer(url, entry, part, have, opener, timeout_s)
            if not pieced or sha256_of(part) == entry.sha256:
                return
            part.unlink()
            pieced = False
            reason = "the parts fetched do not fit together"
        except _TryAgain as error:
            reason = str(error)
    raise SourceError(f"{reason} (gave up after {attempts} requests)")


def _transfer(url: str, entry: RemoteFile, part: Path, have: int, opener: Opener, timeout_s: float) -> None:
    headers = {"User-Agent": f"searchless-rl/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        response = opener(urllib.request.Request(url, headers=headers), timeout_s)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416 and have:
                part.unlink()
                raise _TryAgain("the server cannot resume (HTTP 416)") from error
            if error.code in TRANSIENT_STATUS:
                raise _TryAgain(f"HTTP {error.code} {printable(error.reason)}") from error
            raise SourceError(f"HTTP {error.code} {printable(error.reason)}") from error
    except (OSError, http.client.HTTPException) as error:
        raise _TryAgain(network_reason(error, timeout_s)) from error
    with response:
        start = _start(response, entry, part, have)
        _receive(response, entry, part, start, timeout_s)


def _start(response: http.client.HTTPResponse, entry: RemoteFile, part: Path, have: int) -> int:
    """The offset of the first byte the response carries; refuses responses of another length than pinned."""
    if response.status == 206:
        match = _CONTENT_RANGE.match(response.headers.get("Content-Range", ""))
        if match is None or int(match[1]) != have:
            part.unlink(missing_ok=True)
            raise _TryAgain("the server resumed at another place than asked")
        start, total = have, match[2]
    else:  # a server that ignores Range sends the whole file with status 200
        start, total = 0, response.headers.get("Content-Length", "*")
    if total.isdigit() and not _fits(int(total), entry):
        part.unlink(missing_ok=True)
        if start == 0 and looks_like_html(response.read(512)):
            raise SourceError("answered with a web page (HTML), not with the file")
        raise SourceError(f"the file there has {int(total):,} bytes, expected {_wanted(entry)}")
    return start


def _fits(size: int, entry: RemoteFile) -> bool:
    """Whether a file of so many bytes can be the pinned one."""
    return size <= entry.most if entry.size is None else size == entry.size


def _wanted(entry: RemoteFile) -> str:
    return f"at most {entry.most:,}" if entry.size is None else f"{entry.size:,}"


def _receive(
    response: http.client.HTTPResponse, entry: RemoteFile, part: Path, start: int, timeout_s: float
) -> None:
    quiet = entry.most < _PROGRESS_FROM or not sys.stderr.isatty()
    have, length = start, response.headers.get("Content-Length", "*")
    whole = entry.size if entry.size is not None else int(length) if length.isdigit() else None
    with (
        open_new(part, append=start > 0) as handle,
        tqdm(
            total=whole, initial=start, desc=entry.file_name, unit="B", unit_scale=True, disable=quiet
        ) as bar,
    ):
        for chunk in _guarded(read_chunks(response, timeout_s), timeout_s):
            if have + len(chunk) > entry.most:
                part.unlink()
                raise SourceError(f"sends more than the expected {entry.most:,} bytes")
            handle.write(chunk)
            have += len(chunk)
            bar.update(len(chunk))
    if whole in (None, have):
        return
    with part.open("rb") as handle:
        if looks_like_html(handle.read(512)):
            part.unlink()
            raise SourceError("answered with a web page (HTML), not with the file")
    raise _TryAgain(f"the transfer ended after {have:,} of {whole:,} bytes")


def _guarded(chunks: Iterator[bytes], timeout_s: float) -> Iterator[bytes]:
    try:
        yield from chunks
    except (OSError, http.client.HTTPException) as error:
        raise _TryAgain(network_reason(error, timeout_s)) from error


def network_reason(error: Exception, timeout_s: float) -> str:
    """What went wrong below HTTP, in words."""
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    return f"network error: {printable(cause) or type(cause).__name__}"
