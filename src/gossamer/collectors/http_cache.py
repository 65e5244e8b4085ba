"""An HTTP cache for development (`--cache DIR`). Each response is fetched once and then replayed.

Each response is a file whose name is a hash of the request. If a file is incomplete, the response is fetched
again. Only permanent responses are stored. Failures, block pages, and responses with the status 304, 408,
425, 429 or 5xx are not stored. Several processes may share the folder, because files are written under
another name and then renamed. A stored response is used only for requests with the same configured
credentials. Cookies that sites set are compared only by name, because their values may change with each
response. Responses for a logged-in account (`session=` of a site) are not stored. If a page redirects to
itself, for example to set a cookie, both responses are stored.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec
import xxhash

from gossamer import url as urls
from gossamer.errors import ConfigError
from gossamer.model.browser_profile import Guise
from gossamer.model.interfaces import Collector, Given
from gossamer.model.page import Failure, Headers, Page
from gossamer.model.request import Request
from gossamer.url.redirects import redirect_target

_MAGIC = b"gossamer-cache-1"
_MAX_BYTES = 64 << 20
_PASSING = (304, 408, 425, 429)
_SECRET = re.compile(r"auth|cookie|key|token|secret|session|signature", re.IGNORECASE)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Entry(msgspec.Struct, array_like=True):
    key: bytes
    url: str
    status: int
    headers: Headers
    body: bytes
    fetched_at: float
    wire: int
    version: str
    address: str | None


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(_Entry).decode


class CacheCollector:
    """Returns stored responses from the folder, and fetches missing responses with the collector `inner`.
    `given`: a function that returns the headers that the user configured for a request. If `given` is None,
    all headers of a request count as configured by the user. `worth`: a function that returns whether a
    response may be stored. `apart`: a label for the cache entries, such as the name of a rung. Requests with
    different labels never share cache entries. Raises ConfigError if the folder cannot be used."""

    name = "cache"

    def __init__(
        self,
        inner: Collector,
        folder: str,
        given: Given | None = None,
        worth: Callable[[Page], bool] = lambda _: True,
        apart: str = "",
    ) -> None:
        self._inner, self._given, self._worth, self._apart = inner, given, worth, apart
        self._bounced: dict[bytes, None] = {}
        self._counter = itertools.count()
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
            self._root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(13, "it is not writable")
        except OSError as error:
            raise ConfigError(f"the cache folder {folder} cannot be used: {error.strerror}") from error

    async def collect(
        self, request: Request, headers: dict[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Returns the stored response. The page's `fetched_at` is the time when the response was fetched. If
        there is no stored response, fetches the response, and stores it if it is permanent."""
        if guise is not None and guise.member:
            return await self._inner.collect(request, headers, guise)
        began = time.perf_counter()
        key = request_digest(
            request, headers, headers if self._given is None else self._given(request), guise, self._apart
        )
        if key in self._bounced:  # the last response redirected to the URL of the request itself
            del self._bounced[key]
            key = hashlib.blake2b(key, digest_size=24).digest()
        entry = self._read(key)
        if entry is not None:
            self._note(key, request.url, entry.status, entry.headers)
            return Page(
                request.url,
                entry.status,
                entry.headers,
                entry.body,
                entry.fetched_at,
                time.perf_counter() - began,
                entry.wire,
                self.name,
                entry.version,
                entry.address,
                0,
                settled=self._apart == "browser",  # only good pages of a browser are stored
            )
        result = await self._inner.collect(request, headers, guise)
        if (
            isinstance(result, Page)
            and result.status < 500
            and result.status not in _PASSING
            and not result.late
            and self._worth(result)
        ):
            self._write(key, result)
            self._note(key, request.url, result.status, result.headers)
        return result

    def _note(self, key: bytes, url: str, status: int, headers: Headers) -> None:
        """Records that a response redirects to its own URL. The next request for this URL then uses a
        separate cache entry."""
        target = (
            next((value for name, value in headers if name == "location"), None)
            if 300 <= status < 400
            else None
        )
        resolved = None if target is None else redirect_target(target, url)
        if resolved is not None and urls.canonical(resolved) == urls.canonical(url):
            self._bounced[key] = None
            if len(self._bounced) > 10_000:
                del self._bounced[next(iter(self._bounced))]

    async def close(self) -> None:
        """Closes the inner collector and the folder."""
        if self._root >= 0:
            os.close(self._root)
            self._root = -1
        await self._inner.close()

    def _read(self, key: bytes) -> _Entry | None:
        """Returns the entry with a key, or None if the entry is missing, incomplete or damaged."""
        name = key.hex()
        try:
            with _folder(self._root, name[:2]) as folder:
                fd = os.open(
                    name[2:], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
                )
                with os.fdopen(fd, "rb") as file:
                    data = file.read(_MAX_BYTES + 1)
        except OSError:
            return None
        head, sum_, packed = data[:16], data[16:32], data[32:]
        if head != _MAGIC or sum_ != xxhash.xxh3_128_digest(packed):
            return None
        try:
            entry = _unpack(packed)
        except msgspec.DecodeError:
            return None
        return entry if entry.key == key else None

    def _write(self, key: bytes, page: Page) -> None:
        """Stores a page. If storing fails, for example because the disk is full or the folder was removed,
        the crawl continues."""
        packed = _pack(
            _Entry(
                key,
                page.url,
                page.status,
                page.headers,
                page.body,
                page.fetched_at,
                page.wire,
                page.version,
                page.address,
            )
        )
        if len(packed) > _MAX_BYTES - 32:
            return
        name = key.hex()
        aside = f"new-{os.getpid()}-{next(self._counter)}"
        try:
            try:
                os.mkdir(name[:2], 0o700, dir_fd=self._root)
            except FileExistsError:
                pass
            with _folder(self._root, name[:2]) as folder:
                fd = os.open(
                    aside,
                    os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC,
                    0o600,
                    dir_fd=folder,
                )
                try:
                    with os.fdopen(fd, "wb") as file:
                        file.write(_MAGIC + xxhash.xxh3_128_digest(packed) + packed)
                    os.rename(aside, name[2:], src_dir_fd=folder, dst_dir_fd=folder)
                except OSError:
                    os.unlink(aside, dir_fd=folder)
                    raise
        except OSError:
            return


def request_digest(
    request: Request,
    headers: Mapping[str, str],
    given: Mapping[str, str],
    guise: Guise | None = None,
    apart: str = "",
) -> bytes:
    """Returns a hash of the parts of a request that determine the response. The hash covers the method, URL,
    body, configured headers with credentials, names of all cookies, `apart`, and whether the guise imitates a
    browser. Credentials are stored only as part of this hash.

    >>> one, other = {"Cookie": "a=1"}, {"Cookie": "a=2"}
    >>> request_digest(Request("http://e.com/"), one, {}) == request_digest(Request("http://e.com/"), other, {})
    True
    >>> request_digest(Request("http://e.com/"), one, one) == request_digest(Request("http://e.com/"), other, other)
    False
    """
    secret = sorted((name.lower(), value) for name, value in given.items() if _SECRET.search(name))
    sent = next((value for name, value in headers.items() if name.lower() == "cookie"), "")
    names = sorted({pair.partition("=")[0].strip() for pair in sent.split(";")})
    asked = [request.method, request.url, request.body, secret, names]
    if guise is not None and guise.browser:
        asked.append("browser")
    if apart:
        asked.append(f"by {apart}")
    return hashlib.blake2b(_pack(asked), digest_size=24).digest()


@contextmanager
def _folder(root: int, name: str) -> Iterator[int]:
    """Opens a folder directly below the root. Refuses a symbolic link."""
    fd = os.open(name, _FOLDER, dir_fd=root)
    try:
        yield fd
    finally:
        os.close(fd)
