"""Checks targets that arrive over the network. A caller of the API is not the user of the machine, so a target names
neither a file nor a private address."""

from __future__ import annotations

from gossamer import url as urls
from gossamer.config.settings import Settings
from gossamer.egress.addresses import is_address, networks, why_forbidden
from gossamer.errors import InvalidField, PrivateAddress


def check_target(text: str, settings: Settings, pointer: str) -> None:
    """Raises InvalidField if a target is not an http(s) URL, and PrivateAddress if its host is a private address that the setting
    `allow_private` does not name. A host name is checked by the egress guard when it is resolved."""
    for kind in ("sitemap:", "feed:"):
        text = text.removeprefix(kind)
    found = urls.parse(text)
    if found is None or not found.startswith(("http://", "https://")):
        raise InvalidField(f"{text[:200]!r} is not an http(s) URL", pointer)
    host = urls.host(found).rpartition("@")[2]
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    if name.rstrip(".") == "localhost" or name.rstrip(".").endswith(".localhost"):
        name = "127.0.0.1"
    if is_address(name) and (why := why_forbidden(name, networks(settings.allow_private))):
        raise PrivateAddress(
            f"{text[:200]!r}: {why}: start serve with -s allow_private=CIDR to permit it", pointer
        )
