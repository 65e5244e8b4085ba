"""Parses the URL of a store (docs/stores.md) into an address. The printable form of a URL never contains a
password."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import msgspec

from gossamer.config.redaction import MASK, Secret, mask
from gossamer.errors import ConfigError, UsageError

PORT, SENTINEL_PORT = 6379, 26379
SCHEMES = {
    "redis": ("server", False),
    "valkey": ("server", False),
    "rediss": ("server", True),
    "valkeys": ("server", True),
    "unix": ("unix", False),
    "redis+unix": ("unix", False),
    "valkey+unix": ("unix", False),
    "redis+sentinel": ("sentinel", False),
    "valkey+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "valkeys+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "valkey+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
    "valkeys+cluster": ("cluster", True),
}
FORMS = {
    "server": "redis://USER:PASSWORD@HOST:6379/0",
    "unix": "unix:///path/to/socket",
    "sentinel": "redis+sentinel://USER:PASSWORD@HOST1:26379,HOST2:26379,HOST3:26379/SERVICE",
    "cluster": "redis+cluster://USER:PASSWORD@HOST1:6379,HOST2:6379",
}
_WHOLE = re.compile(r"(?P<scheme>[^:/?#]+)://(?P<authority>[^/?#]*)(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?\Z")
_HOST = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.%]+)\]|(?P<name>[^:@\[\]\s,]+))(?::(?P<port>\d{1,5}))?\Z")


class HostPort(NamedTuple):
    """The host and port of a server. If the port is 0, `host` is the path of a Unix socket."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}" if self.port else self.host


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed store URL. `kind` is `server`, `unix`, `sentinel` or `cluster`."""

    kind: str
    shown: str
    """The URL with masked passwords, for messages."""
    places: tuple[HostPort, ...]
    service: str = ""
    db: int = 0
    user: str | None = None
    password: Secret | None = None
    sentinel_user: str | None = None
    sentinel_password: Secret | None = None
    tls: bool = False
    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    check_hostname: bool = True
    verify: bool = True

    def options(self, *, sentinel: bool = False) -> dict[str, Any]:
        """Returns the connection options. The options have the same names as the parameters of redis-py. If
        `sentinel` is true, the options contain the user and the password for the Sentinels."""
        user, password = (
            (self.sentinel_user, self.sentinel_password) if sentinel else (self.user, self.password)
        )
        found: dict[str, Any] = {"username": user, "password": password.reveal() if password else None}
        if not sentinel:
            found["db"] = self.db
        if self.tls:
            found |= {
                "ssl_ca_certs": self.ca_file,
                "ssl_certfile": self.cert_file,
                "ssl_keyfile": self.key_file,
                "ssl_cert_reqs": "required" if self.verify else "none",
                "ssl_check_hostname": self.check_hostname and self.verify,
            }
        return found


def _yes(text: str) -> bool:
    if text.lower() not in ("yes", "no", "true", "false", "1", "0", "on", "off"):
        raise ValueError("yes or no")
    return text.lower() in ("yes", "true", "1", "on")


def _file(text: str) -> str:
    if not Path(text).is_file():
        raise ValueError(f"a file; there is no file {text}")
    return text


def _required(text: str) -> bool:
    if text.lower().removeprefix("cert_") not in ("none", "required"):
        raise ValueError("none or required")
    return text.lower().removeprefix("cert_") == "required"


_QUERY: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "tls": ("tls", _yes),
    "ca_file": ("ca_file", _file),
    "cert_file": ("cert_file", _file),
    "key_file": ("key_file", _file),
    "check_hostname": ("check_hostname", _yes),
    "verify": ("verify", _yes),
    "db": ("db", int),
    "sentinel_user": ("sentinel_user", str),
    "sentinel_password": ("sentinel_password", Secret),
    # the parameter names of redis-py and kombu
    "ssl_ca_certs": ("ca_file", _file),
    "ssl_certfile": ("cert_file", _file),
    "ssl_keyfile": ("key_file", _file),
    "ssl_check_hostname": ("check_hostname", _yes),
    "ssl_cert_reqs": ("verify", _required),
    "sentinel_username": ("sentinel_user", str),
}


def parse(url: str, what: str = "--store") -> Address:
    """Parses a store URL. `what` is the name of the setting that contains the URL, for messages.

    Raises UsageError for an unknown scheme, and ConfigError for any other error in the URL.
    """
    try:
        return _parsed(url, what)
    except _Wrong as wrong:
        raise ConfigError(f"{what} {_shown(url)}: {wrong}") from None


def _parsed(url: str, what: str) -> Address:
    scheme = url.partition("://")[0].lower() if "://" in url else ""
    if scheme not in SCHEMES:
        forms = ", ".join(("redis", "rediss", "valkey", "valkeys", "unix", "redis+sentinel", "redis+cluster"))
        raise UsageError(f"{what} {mask(url)}: the scheme must be one of {forms}, as in {FORMS['server']}")
    kind, tls = SCHEMES[scheme]
    found = _WHOLE.match(url)
    if found is None:
        raise _Wrong(kind, "it cannot be read")
    userinfo, at, hosts = found["authority"].rpartition("@")
    user, _, password = userinfo.partition(":")
    path = unquote(found["path"])
    fields: dict[str, Any] = {"tls": tls, "user": unquote(user) or None} | _queried(
        kind, found["query"] or ""
    )
    if password:
        fields["password"] = Secret(unquote(password))
    if "@" in path or any(c.isspace() for c in url):
        raise _Wrong(kind, "write / ? # @ and blanks of a password as %2F %3F %23 %40 %20")
    if kind == "unix":
        fields["places"] = (HostPort(f"/{hosts}{path}" if hosts and not at and not path else path, 0),)
        if not path.startswith("/"):
            raise _Wrong(kind, "the path of the socket is missing")
    else:
        fields["places"] = _places(kind, hosts)
        fields |= _path(kind, path.strip("/"))
    return Address(kind=kind, shown=_shown(url), **fields)


def printable_url(url: str) -> str:
    """Returns a URL of any kind with its passwords masked, so that it can be printed."""
    return _shown(url) if url.partition("://")[0].lower() in SCHEMES else mask(url)


def _queried(kind: str, query: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _QUERY:
            raise _Wrong(kind, f"there is no parameter {name!r}; there are {', '.join(list(_QUERY)[:9])}")
        field, read = _QUERY[name]
        try:
            fields[field] = read(value)
        except ValueError as error:
            what = str(error) if read is not int else "a number"
            raise _Wrong(kind, f"{name} must be {what}") from None
    return fields


def _places(kind: str, hosts: str) -> tuple[HostPort, ...]:
    usual = SENTINEL_PORT if kind == "sentinel" else PORT
    places = []
    for one in hosts.split(",") if hosts or kind != "server" else ["localhost"]:
        found = _HOST.match(one)
        port = int(found["port"] or usual) if found else 0
        if found is None or not 0 < port < 65536:
            raise _Wrong(kind, f"{mask(one)!r} is not a HOST:PORT" if one else "a host is missing")
        places.append(HostPort(unquote(found["six"] or found["name"]), port))
    if kind == "server" and len(places) > 1:
        raise _Wrong("sentinel", "several hosts are only for Sentinels, or for a Cluster (redis+cluster://)")
    return tuple(places)


def _path(kind: str, path: str) -> dict[str, Any]:
    service, _, db = path.partition("/") if kind == "sentinel" else ("", "", path)
    if kind == "sentinel" and not service:
        raise _Wrong(kind, "the name of the service that the Sentinels watch is missing")
    if kind == "cluster" and db not in ("", "0"):
        raise _Wrong(kind, "a Cluster has no numbered databases")
    if not db:
        return {"service": service}
    if not db.isdecimal():
        raise _Wrong(kind, f"the database {db!r} is not a number")
    return {"service": service, "db": int(db)}


def _shown(url: str) -> str:
    url = re.sub(r"(://[^:/?#@]*):.*@", rf"\1:{MASK}@", url, count=1)
    return re.sub(r"(?i)([?&][^=&#]*pass[^=&#]*=)[^&#]*", rf"\1{MASK}", url)


class _Wrong(Exception):
    """Raised for an error in the URL of a store. The message of the exception also shows the correct form of
    the URL."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(f"{why}; write it as {FORMS[kind]}")
