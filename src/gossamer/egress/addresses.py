"""Decides which IP addresses a crawler must not reach without permission. All non-global addresses are
forbidden. An IPv6 address is also forbidden if it embeds a non-global IPv4 address. `ipaddress.is_global`
alone is not enough, because it accepts multicast, some reserved blocks, and the NAT64 and 6to4 forms of
private addresses. Only IPv6 addresses that are global unicast (2000::/3) or NAT64 are permitted. IPv6 forms
that networks no longer route are always refused, even if they embed a public address. The public address
168.63.129.16 is also refused. Inside Azure, this address returns the secrets of a machine (WireServer).
Sources: the IANA special-purpose address registries (RFC 6890), RFC 6052 (NAT64), RFC 3056 (6to4), RFC 4380
(Teredo), RFC 5214 (ISATAP).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_MORE: tuple[Network, ...] = tuple(
    ipaddress.ip_network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "168.63.129.16/32",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "255.255.255.255/32",
        "::/128",
        "::1/128",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
        "2001:db8::/32",
        "2620:4f:8000::/48",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST = ipaddress.IPv6Network("2000::/3")


def why_forbidden(address: str, allow: Sequence[Network] = ()) -> str | None:
    """Returns the reason why an IP address may not be reached, or None if the address may be reached.
    `allow`: networks that are always allowed. Never raises.

    >>> why_forbidden("93.184.216.34"), why_forbidden("64:ff9b::a9fe:a9fe")
    (None, '64:ff9b::a9fe:a9fe stands for 169.254.169.254, which is in 169.254.0.0/16')
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return f"{address} is not an IP address"
    if _within(found, allow):
        return None
    if reason := _reason(found):
        return f"{found} {reason}"
    for inner in embedded_ipv4(found):
        if not _within(inner, allow) and (reason := _reason(inner)):
            return f"{found} stands for {inner}, which {reason}"
    return None


def is_address(host: str) -> bool:
    """Returns whether a host is an IP address, and not a name."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def embedded_ipv4(address: Address) -> Iterator[IPv4Address]:
    """Yields the IPv4 addresses that an IPv6 address embeds in mapped, compatible, NAT64, 6to4, Teredo or
    ISATAP form."""
    if not isinstance(address, IPv6Address):
        return
    number = int(address)
    low = IPv4Address(number & 0xFFFFFFFF)
    if (number >> 32 in (0, 0xFFFF, 0xFFFF0000) and number > 1) or address in _NAT64:
        yield low
    if address.sixtofour is not None:
        yield address.sixtofour
    if address.teredo is not None:
        yield from address.teredo
    if (number >> 32) & 0xFCFFFFFF == 0x00005EFE:
        yield low


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Parses networks in CIDR form. Raises ValueError for an invalid network. The error message contains the
    invalid network.

    >>> networks(["10.1.0.0/16", "::1"])
    (IPv4Network('10.1.0.0/16'), IPv6Network('::1/128'))
    """
    return tuple(ipaddress.ip_network(text.strip(), strict=False) for text in texts)


def _reason(address: Address) -> str | None:
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        return None  # `embedded_ipv4` yields the mapped IPv4 address, which is checked instead
    for block in _MORE:
        if address.version == block.version and address in block:
            return f"is in {block}"
    if isinstance(address, IPv6Address) and address not in _UNICAST and address not in _NAT64:
        # RFC 4291 section 2.4: other IPv6 addresses are unassigned or not for public use
        return "is not a global unicast address"
    if isinstance(address, IPv6Address) and address.sixtofour is not None:
        # the embedded IPv4 address decides: before Python 3.11.4, `is_global` is False for all 6to4 addresses
        return None
    return None if address.is_global else "is not a global address"


def _within(address: Address, blocks: Sequence[Network]) -> bool:
    if any(address.version == block.version and address in block for block in blocks):
        return True
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped is not None and any(block.version == 4 and mapped in block for block in blocks)
