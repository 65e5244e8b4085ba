"""From host names to checked addresses: resolved once a minute, refused when any answer is forbidden, handed out to be pinned.

The text of a host is never trusted: `2130706433`, `0x7f.1` and a name that points inside all show themselves once resolved.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

import msgspec

from gossamer.egress.addresses import forbidden, networks

TTL = 60.0
THREADS = 32
ROOM = 100_000

Lookup = Callable[[str, int], Awaitable[list[str]]]


class Resolved(msgspec.Struct, frozen=True):
    """Addresses that may be dialled, in the order to try; never empty."""

    addresses: tuple[str, ...]


class Refused(msgspec.Struct, frozen=True):
    """Why a host cannot be dialled. `reason`: dns or private; `final`: asking again cannot help."""

    reason: str
    detail: str
    final: bool


class Resolver:
    """Resolves and checks. `allow`: CIDRs that may be reached; `names`: hosts typed as seeds, `host[:port]`: one of those whose
    host is an IP address or localhost is allowed for itself alone. `lookup` replaces getaddrinfo in tests.
    """

    def __init__(
        self, allow: Iterable[str] = (), names: Iterable[str] = (), *, lookup: Lookup | None = None, ttl: float = TTL
    ) -> None:
        self.allow = networks(allow)
        self._typed = {name for name in names if _literal(name)}
        self._lookup, self._ttl = lookup or self._getaddrinfo, ttl
        self._threads: ThreadPoolExecutor | None = None
        self._known: dict[str, tuple[float, Resolved | Refused]] = {}
        self._asking: dict[str, asyncio.Future[Resolved | Refused]] = {}

    def known(self, authority: str) -> Resolved | Refused | None:
        """What is known of `host[:port]` for now, without waiting."""
        found = self._known.get(authority)
        return found[1] if found is not None and found[0] > time.monotonic() else None

    async def resolve(self, authority: str) -> Resolved | Refused:
        """The checked addresses of `host[:port]`; one look-up at a time for each."""
        found = self.known(authority)
        if found is not None:
            return found
        asking = self._asking.get(authority)
        if asking is None:
            asking = asyncio.ensure_future(self._ask(authority))
            self._asking[authority] = asking
            asking.add_done_callback(lambda _: self._asking.pop(authority, None))
        return await asyncio.shield(asking)

    async def close(self) -> None:
        """Let the threads go."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _ask(self, authority: str) -> Resolved | Refused:
        host, port = split(authority)
        try:
            addresses = await self._lookup(host, port)
        except OSError as error:
            found: Resolved | Refused = _failed(host, error)
        else:
            found = self._checked(authority, host, addresses)
        if len(self._known) >= ROOM:
            self._known.clear()
        self._known[authority] = (time.monotonic() + self._ttl, found)
        return found

    def _checked(self, authority: str, host: str, addresses: list[str]) -> Resolved | Refused:
        if not addresses:
            return Refused("dns", f"{host} has no address", False)
        if authority not in self._typed:
            for address in addresses:
                if reason := forbidden(address, self.allow):
                    return Refused("private", f"{host}: {reason}", True)
        return Resolved(tuple(dict.fromkeys(addresses)))

    async def _getaddrinfo(self, host: str, port: int) -> list[str]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="dns")
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return [str(entry[4][0]) for entry in found]


def split(authority: str) -> tuple[str, int]:
    """Host (IPv6 without brackets) and port (0 when the scheme's own) of `host[:port]`."""
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        return host, int(port[1:] or 0) if port else 0
    host, _, port = authority.partition(":")
    return host, int(port or 0)


def _literal(authority: str) -> bool:
    host = split(authority)[0].rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _failed(host: str, error: OSError) -> Refused:
    """RFC 1035's "no such name" is final; a server that does not answer is not."""
    final = isinstance(error, socket.gaierror) and error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", -5))
    what = "does not exist" if final else f"could not be resolved ({error.strerror or error})"
    return Refused("dns", f"{host} {what}", final)
