"""The plain rung, which fetches pages by HTTP/1.1 and HTTP/2 over libcurl. This module also explains curl's
errors. curl does not resolve the names of hosts. Instead, each transfer is pinned to an address that the
egress guard has checked, and a second check refuses to open a socket for any other address. Transfers are
pinned with curl's option CONNECT_TO. This option leaves Host and SNI unchanged, and curl reuses a connection
only for the same address. gossamer counts the bytes of a body as they arrive, and decodes the body up to a
limit. curl does not decode bodies, follow redirects, store cookies, or read proxies and credentials from the
environment.
"""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec
import pycurl

from gossamer.collectors.http.decoding import BadCoding, TooLarge
from gossamer.collectors.http.multi import Multi
from gossamer.collectors.http.transfer import (
    ACCEPT,
    PROXIES,
    TOKEN,
    BodyLimits,
    Transfer,
    ca_bundle,
    content_type,
    content_type_gate,
    decoded_body,
    encode_line,
    exchange,
    http_version,
    is_sendable,
    proxy_of,
    start_delay,
)
from gossamer.config.redaction import mask
from gossamer.config.resources import descriptors_short, memory_short
from gossamer.errors import OWN_LIMITS
from gossamer.model.browser_profile import Guise
from gossamer.model.page import Failure, Page
from gossamer.model.request import FILE, Request, split
from gossamer.model.wall_clock import CLOCK

# pycurl has no names for CURLE_TOO_LARGE, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2_STREAM and CURLE_PROXY
TOO_LARGE, WEIRD, STREAM, PROXY = (100, 8, 92, 97)
REFUSED = (WEIRD, "curl refused an earlier response of the host")


class FailureCause(NamedTuple):
    """The reason why a request returned no page. `reason`: one of the failure reasons in docs/glossary.md.
    `detail`: one line of text. `final`: true if a retry would fail again."""

    reason: str
    detail: str
    final: bool = False


_TLS = (
    pycurl.E_SSL_CONNECT_ERROR,
    pycurl.E_PEER_FAILED_VERIFICATION,
    pycurl.E_SSL_CACERT_BADFILE,
    pycurl.E_SSL_CIPHER,
    pycurl.E_SSL_CERTPROBLEM,
    pycurl.E_SSL_ISSUER_ERROR,
    pycurl.E_SSL_INVALIDCERTSTATUS,
    pycurl.E_SSL_ENGINE_INITFAILED,
)
_FINAL_TLS = (pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CACERT_BADFILE)
_REASONS = dict.fromkeys(_TLS, "tls") | {
    pycurl.E_COULDNT_RESOLVE_HOST: "dns",
    pycurl.E_COULDNT_RESOLVE_PROXY: "connect",
    PROXY: "connect",
    pycurl.E_COULDNT_CONNECT: "connect",
    pycurl.E_OPERATION_TIMEDOUT: "timeout",
    pycurl.E_URL_MALFORMAT: "filter",
    TOO_LARGE: "too-large",
    pycurl.E_OUT_OF_MEMORY: "too-large",
}
_FINAL = (*_FINAL_TLS, pycurl.E_URL_MALFORMAT, TOO_LARGE)
_DETAILS = {
    pycurl.E_PARTIAL_FILE: "the connection ended before the body was complete",
    pycurl.E_GOT_NOTHING: "the server closed the connection without a response",
    TOO_LARGE: "the headers are larger than 64 KiB or 1,000 lines",
}


_UNREACHED = re.compile(r"SOCKS.*\((?:3|4|5|6)\)")
"""Matches curl's messages for replies of a SOCKS server that report a problem with the target: network
unreachable, host unreachable, refused, TTL expired (RFC 1928 section 6)."""
_OF_PROXY = (pycurl.E_COULDNT_RESOLVE_PROXY, pycurl.E_COULDNT_CONNECT)
_OF_PATH = (
    pycurl.E_GOT_NOTHING,
    pycurl.E_RECV_ERROR,
    pycurl.E_SEND_ERROR,
    pycurl.E_PARTIAL_FILE,
    pycurl.E_SSL_CONNECT_ERROR,
    pycurl.E_PEER_FAILED_VERIFICATION,
    WEIRD,
    STREAM,
)
_TUNNEL = re.compile(r"CONNECT tunnel failed, response (\d+)")


def blame_proxy(code: int, text: str, connected: bool) -> str:
    """Returns the cause of a failed transfer through a proxy. `proxy` means that the proxy itself failed.
    `path` means that the host failed, or the connection from the proxy to the host. '' means that the failure
    has another cause. `connected`: whether the proxy accepted the connection.

    >>> blame_proxy(56, "CONNECT tunnel failed, response 407", True), blame_proxy(56, "CONNECT tunnel failed, response 502", True)
    ('proxy', 'path')
    """
    if refused := _TUNNEL.search(text):
        return "path" if refused[1] in ("404", "500", "502", "503", "504") else "proxy"
    if code == PROXY:
        return "path" if _UNREACHED.search(text) else "proxy"
    if code == pycurl.E_OPERATION_TIMEDOUT:
        return "path" if connected else "proxy"
    return "proxy" if code in _OF_PROXY else "path" if code in _OF_PATH else ""


_UNCLEAR = (
    pycurl.E_COULDNT_CONNECT,
    pycurl.E_COULDNT_RESOLVE_HOST,
    pycurl.E_SSL_CACERT_BADFILE,
    pycurl.E_SSL_CONNECT_ERROR,
    pycurl.E_FAILED_INIT,
    pycurl.E_OUT_OF_MEMORY,
)
"""curl errors that a shortage of descriptors or memory can cause. curl has no separate error number for such
a shortage."""


def local_shortage(code: int, number: int, address: str) -> str:
    """Returns the resource that this process lacked for a transfer to `address`, or '' if no resource was
    lacking. This function may be called only for a transfer that failed before it sent any data. `number`:
    the errno that curl recorded, or 0 without an errno.

    >>> local_shortage(pycurl.E_COULDNT_CONNECT, errno.ECONNREFUSED, "192.0.2.1")
    ''
    """
    if number == errno.EADDRNOTAVAIL:  # on a machine without IPv6, every IPv6 address causes this error
        return "" if ":" in address else OWN_LIMITS[number]
    if number in OWN_LIMITS and number != errno.EAGAIN:
        return OWN_LIMITS[number]
    if code not in _UNCLEAR or (code == pycurl.E_COULDNT_CONNECT and number):
        return ""
    if descriptors_short():
        return OWN_LIMITS[errno.EMFILE]
    return OWN_LIMITS[errno.ENOMEM] if code == pycurl.E_OUT_OF_MEMORY and memory_short() else ""


def explain_curl_error(code: int, text: str, problem: str, *, wire: int, kind: str = "") -> FailureCause:
    """Returns the failure that corresponds to a curl error. `problem`: the reason why one of gossamer's
    callbacks aborted the transfer, or ''. `wire`: the maximum number of received bytes. `kind`: the content
    type.

    >>> explain_curl_error(pycurl.E_GOT_NOTHING, "Empty reply from server", "", wire=1)
    FailureCause(reason='reset', detail='the server closed the connection without a response', final=False)
    """
    match problem:
        case "too-large":
            return FailureCause("too-large", f"the body is larger than {wire} bytes", True)
        case "chunks":
            return FailureCause("too-large", "the body arrives in too many pieces", True)
        case "headers":
            return FailureCause("too-large", _DETAILS[TOO_LARGE], True)
        case "content-type":
            return FailureCause("content-type", f"its content type is {kind[:100]}", True)
        case "private":
            return FailureCause("private", "the connection went to an address that was not checked", True)
        case "again":
            return FailureCause("reset", "the server closed the connection without a response, repeatedly")
    if text.startswith("CONNECT tunnel failed"):
        return FailureCause("connect", f"the proxy refuses: {text[:150]}")
    if code == WEIRD or (code == pycurl.E_UNSUPPORTED_PROTOCOL and not text.startswith("Protocol ")):
        return FailureCause("reset", f"the response is not HTTP: {text[:150]}")
    if code == pycurl.E_UNSUPPORTED_PROTOCOL:
        return FailureCause("filter", "only http and https are fetched", True)
    return FailureCause(
        _REASONS.get(code, "reset"), _DETAILS.get(code) or text[:200] or "the transfer failed", code in _FINAL
    )


MAX_ADDRESSES = 3
"""The maximum number of addresses of a host that are tried in one visit."""
SHORTAGE_PAUSE_S = 1.0
"""Seconds for which a host is left alone after a request failed because of a shortage in this process."""
_WEB = ("http://", "https://")
_CONNECT = (pycurl.E_COULDNT_CONNECT, pycurl.E_OPERATION_TIMEDOUT)


class CheckedAddresses(Protocol):
    """The checked addresses of a host, in the order of the attempts. If the host was refused, `addresses` is
    empty, and the other properties contain the reason (see `egress.resolver`)."""

    @property
    def addresses(self) -> tuple[str, ...]: ...
    @property
    def reason(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def final(self) -> bool: ...
    @property
    def short(self) -> str: ...


class AddressResolver(Protocol):
    """The egress guard. `known` returns the cached addresses of a host, or None. `resolve` resolves the
    host's name."""

    def known(self, authority: str) -> CheckedAddresses | None: ...
    async def resolve(self, authority: str) -> CheckedAddresses: ...


class CurlLibrary(NamedTuple):
    """The libcurl binding, which is pycurl or has pycurl's interface. `honest`: if true, gossamer adds its
    own headers, which identify gossamer, to every request. If `honest` is false, gossamer sends only the
    configured headers and the request's own headers."""

    name: str = "http"
    curl: Callable[[], Any] = pycurl.Curl
    multi: Callable[[], Any] = pycurl.CurlMulti
    honest: bool = True


PYCURL = CurlLibrary()


class HttpCollector:
    """Collects pages over HTTP. Times are in seconds and sizes in bytes. `truncate`: whether a body that is
    too large is truncated instead of refused.

    `connect` is the time limit for connecting to a host, for all its addresses together. A transfer is
    aborted if its rate stays below 1 KiB/s for `first_byte` seconds. `total` is the time limit of the whole
    request. `once`: whether each request opens a new connection, so that curl never sends a request twice.
    `keep`: whether pages contain the `exchange`, which is the bytes that were sent and received. `folder`:
    the folder for large files during a transfer. None means that files stay in memory and have the same size
    limit as pages. `more`: a function that returns the content types that are accepted from a host in
    addition to ACCEPT. `beside`: another collector whose connections this collector also uses. Both
    collectors must have the same TLS options.
    """

    def __init__(
        self,
        resolver: AddressResolver,
        *,
        user_agent: str,
        connect: float = 10.0,
        first_byte: float = 20.0,
        total: float = 30.0,
        wire: int = 16 << 20,
        decoded: int = 32 << 20,
        http2: bool = True,
        ca_file: str | None = None,
        verify: bool = True,
        connections: int = 1024,
        accept: tuple[str, ...] | None = ACCEPT,
        truncate: bool = False,
        headers: Mapping[str, str] | None = None,
        epoll: bool = True,
        curls: CurlLibrary = PYCURL,
        once: bool = False,
        keep: bool = False,
        folder: str | None = None,
        more: Callable[[str], tuple[str, ...]] | None = None,
        beside: HttpCollector | None = None,
    ) -> None:
        self.name, self._curls, self._keep = curls.name, curls, keep
        self._resolver, self._decoded, self._connect, self._total = resolver, decoded, connect, total
        self._folder, self._more, self._trust = folder, more, (verify, ca_file)
        self._bounds = BodyLimits(wire, None if accept is None else content_type_gate(accept), truncate)
        plain = {
            "User-Agent": user_agent,
            "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "Accept-Language": "en;q=0.9,*;q=0.5",
            "Accept-Encoding": "gzip, deflate, br;q=0.8, zstd;q=0.8",
        }
        if not user_agent:  # send no User-Agent, not even curl's default
            del plain["User-Agent"]
        self._headers = {"Expect": ""} | (plain if curls.honest else {}) | dict(headers or {})
        self._lines = [encode_line(name, value) for name, value in self._headers.items()]
        self._options: list[tuple[int, object]] = [
            (pycurl.NOSIGNAL, 1),
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.PROXY, ""),
            (pycurl.NETRC, 0),
            (pycurl.PATH_AS_IS, 1),
            (pycurl.HTTP_CONTENT_DECODING, 0),
            (pycurl.DNS_CACHE_TIMEOUT, 0),  # no DNS cache, because each lookup reads all entries
            (pycurl.CONNECTTIMEOUT_MS, _milli(connect)),
            (pycurl.TIMEOUT_MS, _milli(total)),
            (pycurl.LOW_SPEED_LIMIT, 1024),
            (pycurl.LOW_SPEED_TIME, max(1, round(first_byte))),
            (pycurl.HTTPHEADER, self._lines),
            (pycurl.SSL_VERIFYPEER, int(verify)),
            (pycurl.SSL_VERIFYHOST, 2 * int(verify)),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.TCP_NODELAY, 1),
            (pycurl.BUFFERSIZE, 64 << 10),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS if http2 else pycurl.CURL_HTTP_VERSION_1_1),
        ]
        if verify and (bundle := ca_file or ca_bundle()):
            self._options += [(pycurl.CAINFO, bundle), (pycurl.PROXY_CAINFO, bundle)]
        if curls.honest:
            self._options.append((pycurl.USERAGENT, ""))
        if once:
            self._options.append((pycurl.FRESH_CONNECT, 1))
        self._tries = 1 if once else 2
        self._multi: Multi = beside._multi if beside else Multi(connections, epoll=epoll, made=curls.multi)
        self._free: list[Transfer] = []
        self._better: dict[str, str] = {}
        self._single, self._odd = set[str](), set[str]()
        self._sharing: dict[tuple[str, str], list[Transfer]] = {}
        """Maps each pair of authority and proxy to the current transfers that may share a connection."""

    async def collect(
        self, request: Request, headers: Mapping[str, str], guise: Guise | None = None
    ) -> Page | Failure:
        """Fetches one URL without following redirects. If connecting to one address fails, the host's next
        address is tried.

        While an HTTPS connection to a host is being opened, other requests to the host wait, because an
        HTTP/2 connection can carry all of these requests. Requests do not wait if the host is known not to
        support HTTP/2. For a burst of 32 requests with a round trip of 40 ms, the wait reduces the number of
        connections from 32 to 1, the CPU time to a fifth, and the elapsed time to three quarters. Each host
        that supports only HTTP/1.1 costs the time of one extra handshake. A request waits only while
        another one of the host runs.

        If a proxy is used, this method resolves and checks the names of both the proxy and the target. The
        transfer is pinned to the proxy's address. The proxy itself also resolves the target's name, unless
        the scheme is `socks4` or `socks5`. Such a proxy receives a checked address.
        """
        began, now = time.perf_counter(), CLOCK.now()
        if not request.url.startswith(_WEB):
            return self._refused("filter", "only http and https are fetched", True, now, 0.0)
        authority = split(request.url)[1]
        found = self._resolver.known(authority) or await self._resolver.resolve(authority)
        proxy, place, target = guise.proxy if guise is not None else None, "", found.addresses
        if target and proxy is not None:
            place = proxy_of(proxy) or ""
            if not place:
                return self._refused("filter", PROXIES, True, now, 0.0)
            found = self._resolver.known(place) or await self._resolver.resolve(place)
            if found.short:
                return self._short(found.short, now)
            if not found.addresses:
                detail = mask(f"the proxy's address is refused: {found.detail}")
                return msgspec.structs.replace(self._refused("proxy", detail, False, now, 0.0), blame="proxy")
        if found.short:
            return self._short(found.short, now)
        if not found.addresses:
            return self._refused(found.reason, found.detail, found.final, now, time.perf_counter() - began)
        transfer = self._free.pop() if self._free else self._transfer()
        shared = request.url.startswith("https:") and authority not in self._single
        try:
            transfer.curl.setopt(
                pycurl.PIPEWAIT, int(shared and self._begin_sharing(authority, place, transfer))
            )
            problem = self._set_up(transfer, request, headers, authority)
            if problem is not None:
                return self._refused("filter", problem, True, now, 0.0)
            if proxy is not None:
                transfer.through(proxy, place, found.addresses, target)
                error = await self._multi.perform(transfer.curl)
            elif len(found.addresses) == 1:
                transfer.dial(found.addresses[0])
                error = await self._perform(transfer, request)
            else:
                error = await self._by_turns(transfer, authority, found.addresses)
            error = error and await self._tolerate(transfer, request, error)
            return self._outcome(transfer, request, error, now, time.perf_counter() - began)
        finally:
            if shared:
                self._end_sharing(authority, place, transfer)
            self._give_back(transfer)

    async def close(self) -> None:
        """Aborts all transfers and closes all connections."""
        self._multi.close()
        for transfer in self._free:
            transfer.curl.close()
        self._free.clear()

    def _begin_sharing(self, authority: str, proxy: str, transfer: Transfer) -> bool:
        """Registers a transfer that may share a connection. Returns whether other transfers of the same group
        are registered. All transfers of a group have the same host and the same proxy."""
        together = self._sharing.setdefault((authority, proxy), [])
        together.append(transfer)
        return len(together) > 1

    def _end_sharing(self, authority: str, proxy: str, transfer: Transfer) -> None:
        """Unregisters a transfer that may have shared a connection. If all other transfers of the group are
        waiting for a connection, restarts one of these transfers, so that it opens a new connection. The
        restart is necessary because libcurl 8.23 may wait for a connection that has become unusable. All
        transfers of the group would then wait until their timeout. If `transfer` opened a connection but sent
        no request, no transfer is restarted."""
        others = self._sharing[authority, proxy]
        others.remove(transfer)
        if not others:
            del self._sharing[authority, proxy]
        elif (transfer.sent or not transfer.opened) and not any(one.opened or one.sent for one in others):
            self._multi.restart(others[0].curl, (pycurl.PIPEWAIT, 0))

    async def _by_turns(
        self, transfer: Transfer, authority: str, addresses: tuple[str, ...]
    ) -> tuple[int, str] | None:
        """Tries a host's addresses in turn until a connection succeeds, so that only one address receives the
        request. If the first address fails, later requests try the successful address first."""
        better = self._better.get(authority)
        if better in addresses:
            addresses = (better, *(one for one in addresses if one != better))
        addresses = addresses[:MAX_ADDRESSES]
        curl, ends, error = transfer.curl, time.perf_counter() + self._total, None
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, _milli(self._connect / len(addresses)))
        try:
            for place, address in enumerate(addresses):
                transfer.begin()
                transfer.dial(address)
                if place:
                    curl.setopt(pycurl.TIMEOUT_MS, _milli(ends - time.perf_counter()))
                error = await self._multi.perform(curl)
                if (
                    error is None
                    or error[0] not in _CONNECT
                    or transfer.sent
                    or transfer.problem
                    or transfer.short
                ):
                    if place and transfer.sent:
                        if len(self._better) >= 10_000:
                            self._better.clear()
                        self._better[authority] = address
                    break
        finally:
            curl.setopt(pycurl.CONNECTTIMEOUT_MS, _milli(self._connect))
            if place:
                curl.setopt(pycurl.TIMEOUT_MS, _milli(self._total))
        return error

    async def _tolerate(
        self, transfer: Transfer, request: Request, error: tuple[int, str]
    ) -> tuple[int, str] | None:
        """Reads a response again that curl refused, if browsers may read it. Returns the error that is left.
        Some servers compress a page, and declare the size of the page that is not compressed: the page is whole
        if it has this size."""
        from gossamer.collectors.http import tolerant

        if error[0] == pycurl.E_PARTIAL_FILE:
            return None if transfer.is_whole(self._decoded) else error
        if not tolerant.may_read(transfer, request, error, self._curls.honest):
            return error
        left = await tolerant.perform(transfer, request, self._trust, self._total)
        if left is None:
            if len(self._odd) >= 10_000:
                self._odd.clear()
            self._odd.add(split(request.url)[1])
        return left

    async def _perform(self, transfer: Transfer, request: Request) -> tuple[int, str] | None:
        """Sends a request through curl, unless curl refused earlier responses of the host, so that the request
        would be wasted."""
        if self._odd and split(request.url)[1] in self._odd:
            from gossamer.collectors.http import tolerant

            if tolerant.may_read(transfer, request, REFUSED, self._curls.honest):
                return REFUSED
        return await self._multi.perform(transfer.curl)

    def _refused(self, reason: str, detail: str, final: bool, now: float, elapsed: float) -> Failure:
        return Failure(reason, detail, now, elapsed, final=final, sent=False, collector=self.name)

    def _short(self, what: str, now: float) -> Failure:
        """Returns the failure for a shortage of a resource in this process. No request was sent, and the host
        did not cause the failure."""
        self._multi.keep_fewer()
        return Failure(
            "connect",
            f"short of {what}",
            now,
            0.0,
            sent=False,
            collector=self.name,
            later=SHORTAGE_PAUSE_S,
            short=what,
        )

    def _transfer(self) -> Transfer:
        transfer = Transfer(self._bounds, self._curls.curl)
        for option, value in self._options:
            transfer.curl.setopt(option, value)
        transfer.tries = self._tries
        return transfer

    def _set_up(
        self, transfer: Transfer, request: Request, headers: Mapping[str, str], authority: str
    ) -> str | None:
        """Sets all options that differ between transfers. Returns an error message if the request is
        malformed, otherwise None."""
        curl = transfer.curl
        try:
            curl.setopt(pycurl.URL, request.url)
        except (ValueError, pycurl.error):
            return "the URL is malformed"
        transfer.asked = self._lines
        if headers:
            for name, value in headers.items():
                if not is_sendable(name, value):
                    return f"the header {name[:40]!r} is malformed"
            transfer.headed = True
            given = {name.lower() for name in headers}
            lines = [
                encode_line(name, value) for name, value in self._headers.items() if name.lower() not in given
            ]
            transfer.asked = lines + [encode_line(name, value) for name, value in headers.items()]
            curl.setopt(pycurl.HTTPHEADER, transfer.asked)
        if request.use == FILE:
            transfer.to(request, self._bounds.wire, self._folder, self._total)
        elif request.use == "@sitemap":  # its bytes tell what it is
            transfer.bounds = msgspec.structs.replace(self._bounds, accept=None)
        elif self._more is not None and (more := self._more(authority)):
            transfer.bounds = msgspec.structs.replace(
                self._bounds, accept=content_type_gate((*ACCEPT, *more))
            )
        if request.method != "GET" or request.body is not None:
            if not TOKEN.fullmatch(request.method):
                return f"the method {request.method[:40]!r} is malformed"
            transfer.meant_for(request.method, request.body)
        return None

    def _give_back(self, transfer: Transfer) -> None:
        """Keeps a handle for the next transfer. A handle that was used for a proxy, for a file, or for a
        request other than a plain GET is discarded. The connections of a discarded handle stay open, because
        they belong to the multi handle."""
        if transfer.changed or self._multi.closed:
            transfer.close()
            return
        transfer.begin()  # an idle handle keeps no body in memory
        transfer.bounds = self._bounds
        if transfer.headed:
            transfer.headed = False
            transfer.curl.setopt(pycurl.HTTPHEADER, self._lines)
        self._free.append(transfer)

    def _outcome(
        self, transfer: Transfer, request: Request, error: tuple[int, str] | None, now: float, elapsed: float
    ) -> Page | Failure:
        status, sent, size = transfer.status(), transfer.sent, transfer.size
        if not transfer.problem and transfer.has_long_headers():
            transfer.problem = "headers"
        if (transfer.problem or error is not None) and not transfer.cut():
            code, text = error or (0, "")
            if not sent and not status and not transfer.problem:
                number = int(transfer.curl.getinfo(pycurl.OS_ERRNO))
                if short := transfer.short or local_shortage(code, number, transfer.pin):
                    return self._short(short, now)
            kind = content_type(transfer.head()) if transfer.problem == "content-type" else ""
            reason, detail, final = explain_curl_error(
                code, text, transfer.problem, wire=transfer.bounds.wire, kind=kind
            )
            late, whose = start_delay(transfer, elapsed), ""
            if transfer.proxy and not transfer.problem:
                whose = blame_proxy(code, text, sent > 0 or transfer.curl.getinfo(pycurl.CONNECT_TIME) > 0)
                reason = "proxy" if whose == "proxy" else reason
            return Failure(
                reason,
                detail,
                now,
                elapsed,
                size,
                final,
                self.name,
                status=status or None,
                lag=late,
                sent=sent > 0,
                blame=whose,
            )
        return self._page(transfer, request, now, elapsed)

    def _page(self, transfer: Transfer, request: Request, now: float, elapsed: float) -> Page | Failure:
        status, size, headers = transfer.status(), transfer.size, transfer.head()
        body = transfer.chunks[0] if len(transfer.chunks) == 1 else b"".join(transfer.chunks)
        if size > transfer.most:
            body = body[: transfer.most]
        raw, spooled = body, None
        coding = ",".join([value for name, value in headers if name == "content-encoding"])
        held = transfer.spool if status < 300 else None
        if (coding and body) or held is not None:
            try:
                most = self._decoded if status < 300 else min(self._decoded, transfer.most)
                body, spooled = decoded_body(
                    held, body, coding, most, cut=self._bounds.truncate or status >= 300
                )
            except TooLarge:
                detail = f"the decoded body is larger than {self._decoded} bytes"
                return Failure("too-large", detail, now, elapsed, size, True, self.name, status=status)
            except BadCoding as bad:
                if status < 300:
                    detail = f"it has too many content-codings ({bad})"
                    return Failure("content-type", detail, now, elapsed, size, True, self.name, status=status)
                body = b""
        spoken = http_version(transfer.lines[0]) if transfer.lines else ""
        if spoken != "2" and request.url.startswith("https:"):
            if len(self._single) >= 10_000:
                self._single.clear()
            self._single.add(split(request.url)[1])
        return Page(
            request.url,
            status,
            headers,
            body,
            now,
            elapsed,
            size,
            self.name,
            spoken,
            None if transfer.proxy else transfer.pin,
            lag=start_delay(transfer, elapsed),
            requests=transfer.sent,
            exchange=exchange(transfer, request, spoken, raw) if self._keep else None,
            spooled=spooled,
        )


def _milli(seconds: float) -> int:
    return max(1, round(seconds * 1000))
