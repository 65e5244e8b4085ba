"""Why there is no page: the words of curl's errors and of what our own callbacks ended, as a table."""

from __future__ import annotations

import errno
import re
from typing import NamedTuple

import pycurl

from gossamer.config.resources import descriptors_short, memory_short
from gossamer.errors import OWN_LIMITS

TOO_LARGE, WEIRD, STREAM, PROXY = (
    100,
    8,
    92,
    97,
)  # CURLE_TOO_LARGE, CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2_STREAM, CURLE_PROXY: pycurl has no names for them


class Why(NamedTuple):
    """Reason (a word of docs/glossary.md), one line for a person, whether asking again cannot help."""

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
    pycurl.E_PARTIAL_FILE: "the connection ended before the body was whole",
    pycurl.E_GOT_NOTHING: "the server closed the connection without an answer",
    TOO_LARGE: "the headers are larger than 64 KiB or 100 lines",
}


_UNREACHED = re.compile(r"SOCKS.*\((?:3|4|5|6)\)")
"""Answers of a SOCKS server that speak of the target: network or host unreachable, refused, too far (RFC 1928
section 6)."""
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


def blame(code: int, text: str, connected: bool) -> str:
    """Who is to blame for a transfer through a proxy that failed: `proxy`, `path` (it or the host), ''
    (neither). `connected`: the proxy took the connection.

    >>> blame(56, "CONNECT tunnel failed, response 407", True), blame(56, "CONNECT tunnel failed, response 502", True)
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
"""Errors that a shortage of descriptors or memory may be behind, without a number of its own."""


def shortage(code: int, number: int, address: str) -> str:
    """What of its own this process was short of when a transfer to `address` failed before anything was sent,
    '' when it was not that. `number`: the errno that curl kept, 0 for none.

    >>> shortage(pycurl.E_COULDNT_CONNECT, errno.ECONNREFUSED, "192.0.2.1")
    ''
    """
    if number == errno.EADDRNOTAVAIL:  # without IPv6 on this machine each of its addresses gives that
        return "" if ":" in address else OWN_LIMITS[number]
    if number in OWN_LIMITS and number != errno.EAGAIN:
        return OWN_LIMITS[number]
    if code not in _UNCLEAR or (code == pycurl.E_COULDNT_CONNECT and number):
        return ""
    if descriptors_short():
        return OWN_LIMITS[errno.EMFILE]
    return OWN_LIMITS[errno.ENOMEM] if code == pycurl.E_OUT_OF_MEMORY and memory_short() else ""


def why(code: int, text: str, problem: str, *, wire: int, kind: str = "") -> Why:
    """What a curl error means. `problem`: what a callback of ours ended it for; `wire`: the limit on bytes;
    `kind`: content type.

    >>> why(pycurl.E_GOT_NOTHING, "Empty reply from server", "", wire=1)
    Why(reason='reset', detail='the server closed the connection without an answer', final=False)
    """
    match problem:
        case "too-large":
            return Why("too-large", f"the body is larger than {wire} bytes", True)
        case "chunks":
            return Why("too-large", "the body comes in too many pieces", True)
        case "headers":
            return Why("too-large", _DETAILS[TOO_LARGE], True)
        case "content-type":
            return Why("content-type", f"its content type is {kind[:100]}", True)
        case "private":
            return Why("private", "the connection led to another address than the checked one", True)
        case "again":
            return Why("reset", "the server closed the connection without an answer, again and again")
    if text.startswith("CONNECT tunnel failed"):
        return Why("connect", f"the proxy refuses: {text[:150]}")
    if code == WEIRD or (code == pycurl.E_UNSUPPORTED_PROTOCOL and not text.startswith("Protocol ")):
        return Why("reset", f"the answer is no HTTP: {text[:150]}")
    if code == pycurl.E_UNSUPPORTED_PROTOCOL:
        return Why("filter", "only http and https are fetched", True)
    return Why(
        _REASONS.get(code, "reset"), _DETAILS.get(code) or text[:200] or "the transfer failed", code in _FINAL
    )
