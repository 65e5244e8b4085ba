"""What goes out with a request: header lines as curl wants them, the names of proxies, the certificates that
are trusted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from gossamer.config.redaction import mask_head
from gossamer.model.request import Request, split

PROXIES = "a proxy is SCHEME://HOST:PORT, SCHEME being http, https, socks5h, socks5, socks4a or socks4"
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAD_VALUE = re.compile(r"[\r\n\0]")
_FRAMING = ("content-length", "transfer-encoding")
"""Headers that say where a request ends: a wrong one would make the next request on a kept connection part of
this one."""


def sound(name: str, value: str) -> bool:
    """Whether a header may be sent: its name a token, its value one line, and none that says where the
    request ends."""
    return bool(TOKEN.fullmatch(name)) and not _BAD_VALUE.search(value) and name.lower() not in _FRAMING


def ca_bundle() -> str | None:
    """The system's trusted certificates, else certifi's; None: curl's own default."""
    import ssl

    paths = ssl.get_default_verify_paths()
    for path in (
        paths.cafile,
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
    ):
        if path and Path(path).is_file():
            return path
    try:
        import certifi
    except ImportError:
        return None
    return certifi.where()


def proxy_of(url: str) -> str | None:
    """`host:port` of a proxy's URL, None where it is none that is used: `http`, `https` or socks, with its
    port.

    >>> proxy_of("http://user:secret@proxy.example:3128"), proxy_of("ftp://proxy.example:21"), proxy_of("http://proxy.example")
    ('proxy.example:3128', None, None)
    """
    scheme, _, rest = url.partition("://")
    authority = rest.rstrip("/").rpartition("@")[2]
    found = re.fullmatch(r"([\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}", authority)
    return (
        authority if found and scheme in ("http", "https", "socks5", "socks5h", "socks4", "socks4a") else None
    )


def line(name: str, value: str) -> bytes:
    """A header as curl wants it: latin-1 where that can say it, else UTF-8; `name;` sends an empty value.

    >>> line("X-Name", "Zoë"), line("X-Empty", "")
    (b'X-Name: Zo\\xeb', b'X-Empty;')
    """
    text = f"{name}: {value}" if value or name == "Expect" else f"{name};"
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def sent(request: Request, lines: Sequence[bytes], version: str, through: bool = False) -> bytes:
    r"""A request as curl writes it for these lines: its head, then its body. `through`: an HTTP proxy is told
    the whole URL.

    >>> sent(Request("http://e.com/a"), [b"A: b", b"Expect:", b"C;"], "1.1")
    b'GET /a HTTP/1.1\r\nHost: e.com\r\nA: b\r\nC:\r\n\r\n'
    """
    scheme, host, path = split(request.url)
    path = path.partition("#")[0]
    said, names = _told(tuple(lines))
    target = request.url.partition("#")[0] if through and scheme == "http" else path
    out = [f"{request.method} {target} HTTP/{version}".encode()]
    if b"host" not in names:
        out.append(b"Host: " + host.encode())
    out += said
    if through and scheme == "http" and b"proxy-connection" not in names:
        out.insert(2, b"Proxy-Connection: Keep-Alive")
    body = b"" if request.body is None else request.body.encode("utf-8", "surrogatepass")
    if request.body is not None:
        out.append(b"Content-Length: %d" % len(body))
        if b"content-type" not in names:
            out.append(b"Content-Type: application/x-www-form-urlencoded")
    return b"\r\n".join((*out, b"", body))


@lru_cache(maxsize=256)
def _told(lines: tuple[bytes, ...]) -> tuple[list[bytes], frozenset[bytes]]:
    """The lines as curl writes them, secrets masked, and their names: most requests of a crawl have the same."""
    said = [_said(one) for one in lines if one.rstrip()[-1:] != b":"]
    names = frozenset(one.partition(b":")[0].lower() for one in said)
    return [mask_head(one) for one in said], names


def _said(one: bytes) -> bytes:
    """A line as curl writes it: `name;` is a header without a value, and `Connection` it writes itself."""
    if one.endswith(b";") and b":" not in one:
        return one[:-1] + b":"
    return b"C" + one[1:] if one[:11] == b"connection:" else one
