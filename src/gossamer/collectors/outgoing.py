"""What goes out with a request: header lines as curl wants them, the names of proxies, the certificates that are trusted."""

from __future__ import annotations

import re
from pathlib import Path

PROXIES = "a proxy is SCHEME://HOST:PORT, SCHEME being http, https, socks5h, socks5, socks4a or socks4"
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BAD_VALUE = re.compile(r"[\r\n\0]")
_FRAMING = ("content-length", "transfer-encoding")
"""Headers that say where a request ends: a wrong one would make the next request on a kept connection part of this one."""


def sound(name: str, value: str) -> bool:
    """Whether a header may be sent: its name a token, its value one line, and none that says where the request ends."""
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
    """`host:port` of a proxy's URL, None where it is none that is used: `http`, `https` or socks, with its port.

    >>> proxy_of("http://user:secret@proxy.example:3128"), proxy_of("ftp://proxy.example:21"), proxy_of("http://proxy.example")
    ('proxy.example:3128', None, None)
    """
    scheme, _, rest = url.partition("://")
    authority = rest.rstrip("/").rpartition("@")[2]
    found = re.fullmatch(r"([\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}", authority)
    return authority if found and scheme in ("http", "https", "socks5", "socks5h", "socks4", "socks4a") else None


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
