"""Resolves host names to checked addresses. Answers are cached for a minute. A host with any forbidden
address is refused, and the collector connects only to the addresses returned here. The resolver never trusts
the text of a host name. The resolver checks the addresses to which the name resolves. For example, the hosts
`2130706433` and `0x7f.1`, and names that resolve to an internal address, are all recognized as internal.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Any

import msgspec

from gossamer.config.resources import descriptors_short
from gossamer.egress.addresses import networks, why_forbidden
from gossamer.errors import OWN_LIMITS, own_limit

TTL_S, FAILED_TTL_S = 60.0, 5.0
"""TTL_S is the number of seconds for which the addresses of a host are cached. If no name server answered,
the failure is cached for only FAILED_TTL_S seconds, so that a retry soon queries the name servers again."""
LOOKUP_TIMEOUT_S = 20.0
MAX_THREADS = 32
MAX_CACHED_HOSTS = 50_000

Lookup = Callable[[str, int], Awaitable[list[str]]]


class Resolved(msgspec.Struct, frozen=True):
    """A host's permitted addresses, in the order in which they are tried. The tuple is never empty."""

    addresses: tuple[str, ...]
    reason: str = ""
    detail: str = ""
    final: bool = False
    short: str = ""
    """Always ''. The field `short` exists because the class `Refused` has a field of the same name (see
    `Refused.short`)."""


class Refused(msgspec.Struct, frozen=True):
    """The result for a host to which no connection may be made. `reason`: dns or private. `final`: true if a
    later look-up would fail again."""

    reason: str
    detail: str
    final: bool
    addresses: tuple[str, ...] = ()
    short: str = ""
    """The resource that this process ran out of during the look-up (`errors.OWN_LIMITS`), or ''."""


class Resolver:
    """Resolves hosts and checks their addresses.

    - `allow`: networks that may be reached, in CIDR form.
    - `names`: hosts that the user typed as seeds, in the form `host[:port]`. If the host is an IP address or
      localhost, exactly that host and port is allowed, even if its address is forbidden.
    - `lookup`: replaces getaddrinfo in tests.
    - `ttl`: seconds for which an answer is cached. `patience`: seconds within which a name server must
      answer.
    """

    def __init__(
        self,
        allow: Iterable[str] = (),
        names: Iterable[str] = (),
        *,
        lookup: Lookup | None = None,
        ttl: float = TTL_S,
        patience: float = LOOKUP_TIMEOUT_S,
    ) -> None:
        self.allow = networks(allow)
        self._typed = {name for name in names if _literal(name)}
        self._lookup, self._ttl, self._patience = lookup or self._getaddrinfo, ttl, patience
        self._threads: ThreadPoolExecutor | None = None
        self._known: dict[str, tuple[float, Resolved | Refused]] = {}
        self._asking: dict[str, asyncio.Task[Resolved | Refused]] = {}

    def known(self, authority: str) -> Resolved | Refused | None:
        """Returns the cached result for `host[:port]`, or None. Never blocks."""
        found = self._known.get(authority)
        return found[1] if found is not None and found[0] > time.monotonic() else None

    async def resolve(self, authority: str) -> Resolved | Refused:
        """Returns the checked addresses of `host[:port]`. Only one look-up per host runs at a time. A look-up
        continues even if a caller that waits for it is cancelled."""
        found = self.known(authority)
        if found is not None:
            return found
        asking = self._asking.get(authority)
        if asking is None:
            asking = asyncio.create_task(self._ask(authority))
            self._asking[authority] = asking
            asking.add_done_callback(lambda _: self._asking.pop(authority, None))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if asking.cancelled() and not (
                task is not None and task.cancelling()
            ):  # `close` cancelled the look-up, not the caller
                return Refused("dns", "the resolver was closed", False)
            raise

    async def close(self) -> None:
        """Cancels the look-ups and releases the threads. A caller that is waiting for a look-up gets a
        `Refused` with `final=False`, because a later look-up may succeed."""
        for asking in list(self._asking.values()):
            asking.cancel()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    async def _ask(self, authority: str) -> Resolved | Refused:
        found: Resolved | Refused
        try:
            host, port = split_host(authority)
            async with asyncio.timeout(self._patience):
                addresses = await self._lookup(host, port)
        except TimeoutError:
            found = Refused("dns", f"no name server answered about {host} within {self._patience:g} s", False)
        except (OSError, RuntimeError) as error:
            if short := own_limit(error) or (
                OWN_LIMITS[errno.ENOMEM] if getattr(error, "errno", 0) == socket.EAI_MEMORY else ""
            ):
                # The result is not cached, because the shortage may end soon.
                return Refused("dns", f"short of {short}", False, short=short)
            if not isinstance(error, OSError):
                raise
            found = _failed(host, error)
        except (ValueError, OverflowError):  # labels longer than 63 bytes, NUL characters, ports above 65535
            found = Refused("dns", f"{authority[:300]!r} is not a host name", True)
        else:
            found = self._checked(authority, host, addresses)
        if len(self._known) >= MAX_CACHED_HOSTS:
            self._known.clear()
        holds = self._ttl if found.final or found.addresses else min(self._ttl, FAILED_TTL_S)
        self._known[authority] = (time.monotonic() + holds, found)
        return found

    def _checked(self, authority: str, host: str, addresses: list[str]) -> Resolved | Refused:
        if not addresses:
            return Refused("dns", f"{host} has no address", False)
        typed = authority in self._typed
        for address in addresses:
            if (reason := why_forbidden(address, self.allow)) and not (typed and _own(host, address)):
                return Refused("private", f"{host}: {reason}", True)
        return Resolved(in_turn(addresses))

    async def _getaddrinfo(self, host: str, port: int) -> list[str]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="dns")
        found = await asyncio.get_running_loop().run_in_executor(self._threads, _look_up, host, port)
        return [str(entry[4][0]) for entry in found]


def _look_up(host: str, port: int) -> list[Any]:
    """Calls getaddrinfo. Raises OSError with EMFILE if the process has no file descriptor left, because
    getaddrinfo's own error does not show this."""
    try:
        # for a host of the type str, getaddrinfo imports the codec for internationalized names
        short = host.isascii() and all(len(label) < 64 for label in host.split("."))
        return socket.getaddrinfo(host.encode() if short else host, port, type=socket.SOCK_STREAM)
    except socket.gaierror:
        if descriptors_short():
            raise OSError(errno.EMFILE, OWN_LIMITS[errno.EMFILE]) from None
        raise


class SingleAddressResolver:
    """Resolves each host to a single address, so that the address is known before a connection is made. All
    hosts that have the same set of addresses use the same single address. If an address fails, another
    address of the host is used for TTL_S seconds."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._failed: dict[str, float] = {}

    def known(self, authority: str) -> Resolved | Refused | None:
        """See `Resolver.known`."""
        found = self._resolver.known(authority)
        return None if found is None else self._one(found)

    async def resolve(self, authority: str) -> Resolved | Refused:
        """See `Resolver.resolve`."""
        return self._one(await self._resolver.resolve(authority))

    async def address(self, authority: str) -> str | None:
        """Returns the host's single address, or None if the host is refused."""
        found = self.known(authority) or await self.resolve(authority)
        return found.addresses[0] if found.addresses else None

    def failed(self, address: str) -> None:
        """Records that an address did not answer. For TTL_S seconds, a host's other addresses are preferred
        to this address."""
        if len(self._failed) >= MAX_CACHED_HOSTS:
            self._failed.clear()
        self._failed[address] = time.monotonic() + TTL_S

    def _one(self, found: Resolved | Refused) -> Resolved | Refused:
        if len(found.addresses) < 2 or isinstance(found, Refused):
            return found
        now = time.monotonic()
        good = [one for one in found.addresses if self._failed.get(one, 0.0) <= now]
        return Resolved((min(good or found.addresses),))


def split_host(authority: str) -> tuple[str, int]:
    """Splits `host[:port]` into the host (an IPv6 address without brackets) and the port (0 for the scheme's
    default). Raises ValueError for a port that is not a number.

    >>> split_host("[::1]:8080")
    ('::1', 8080)
    """
    if authority.startswith("["):
        host, _, port = authority[1:].partition("]")
        return host, int(port[1:] or 0) if port else 0
    host, _, port = authority.partition(":")
    return host, int(port or 0)


def in_turn(addresses: list[str]) -> tuple[str, ...]:
    """Reorders addresses so that IPv4 and IPv6 addresses alternate (RFC 8305 section 4). The given addresses
    are in the system's order (RFC 6724). If the first address fails, the next attempt uses an address of the
    other family.

    >>> in_turn(["2001:db8::1", "2001:db8::2", "192.0.2.1"])
    ('2001:db8::1', '192.0.2.1', '2001:db8::2')
    """
    texts = list(dict.fromkeys(_numeric(address) for address in addresses))
    first = [text for text in texts if (":" in text) == (":" in texts[0])]
    other = [text for text in texts if (":" in text) != (":" in texts[0])]
    pairs = [text for pair in zip(first, other, strict=False) for text in pair]
    return tuple(pairs + first[len(other) :] + other[len(first) :])


def _numeric(address: str) -> str:
    """Converts an address to the form that sockets report. The collector compares the result with the peer's
    address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.inet_ntop(family, socket.inet_pton(family, address.partition("%")[0]))


def _literal(authority: str) -> bool:
    try:
        host = _bare(split_host(authority)[0])
        return is_localhost(host) or bool(ip_address(host))
    except ValueError:
        return False


def _bare(host: str) -> str:
    return host.rstrip(".").lower()


def is_localhost(host: str) -> bool:
    """Returns whether a host name always means this machine (RFC 6761)."""
    return host == "localhost" or host.endswith(".localhost")


def _own(host: str, address: str) -> bool:
    """Returns whether a seed with the host `host` explicitly names `address`. If `host` is localhost, returns
    True for every loopback address. If `host` is an IP address, returns True only for the same address."""
    found, host = ip_address(address), _bare(host)
    return found.is_loopback if is_localhost(host) else found == ip_address(host)


def _failed(host: str, error: OSError) -> Refused:
    """Returns the refusal for a failed look-up. "No such name" (RFC 1035) is final. If a name server does not
    answer, the refusal is not final."""
    final = isinstance(error, socket.gaierror) and error.errno in (
        socket.EAI_NONAME,
        getattr(socket, "EAI_NODATA", -5),
    )
    what = "does not exist" if final else f"could not be resolved ({error.strerror or error})"
    return Refused("dns", f"{host} {what}", final)
