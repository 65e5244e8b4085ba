"""Tests of the refused addresses: every special-purpose block, in every form that can contain an IPv4
address."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.egress.addresses import networks, why_forbidden

# The IANA special-purpose address registries for IPv4 and IPv6, and multicast. The blocks were copied from
# the registries and not from the code.
SPECIAL_4 = [
    ip_network(block)
    for block in (
        "0.0.0.0/8",
        "0.0.0.0/32",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.0.0/29",
        "192.0.0.8/32",
        "192.0.0.170/32",
        "192.0.0.171/32",
        "192.0.2.0/24",
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
        "168.63.129.16/32",
    )
]
SPECIAL_6 = [
    ip_network(block)
    for block in (
        "::1/128",
        "::/128",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
        "2001::/32",
        "2001:2::/48",
        "2001:10::/28",
        "2001:20::/28",
        "2001:db8::/32",
        "2620:4f:8000::/48",
        "3fff::/20",
        "5f00::/16",
        "fc00::/7",
        "fe80::/10",
        "fec0::/10",
        "ff00::/8",
        "4000::/3",
        "::/96",
    )
]
FORMS = {
    "mapped": lambda n: IPv6Address(0xFFFF << 32 | n),
    "compatible": lambda n: IPv6Address(n),
    "translated": lambda n: IPv6Address(0xFFFF << 48 | n),
    "nat64": lambda n: IPv6Address(0x64_FF9B << 96 | n),
    "nat64 local": lambda n: IPv6Address(0x64_FF9B_0001 << 80 | n),
    "6to4": lambda n: IPv6Address(0x2002 << 112 | n << 80 | 0x1234),
    "teredo server": lambda n: IPv6Address(0x2001_0000 << 96 | n << 64 | 0xF7F7F7F7),
    "teredo client": lambda n: IPv6Address(0x2001_0000 << 96 | 0x08080808 << 64 | (n ^ 0xFFFFFFFF)),
    "isatap": lambda n: IPv6Address(0x2A00_1450 << 96 | 0x5EFE << 32 | n),
    "isatap global": lambda n: IPv6Address(0x2A00_1450 << 96 | 0x0200_5EFE << 32 | n),
}
PUBLIC = (
    "93.184.216.34",
    "1.1.1.1",
    "8.8.8.8",
    "172.15.255.255",
    "172.32.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "11.0.0.0",
    "126.255.255.255",
    "128.0.0.0",
)


def within(blocks: list[IPv4Network | IPv6Network]) -> st.SearchStrategy[int]:
    return st.sampled_from(blocks).flatmap(
        lambda block: st.integers(int(block.network_address), int(block.broadcast_address))
    )


@given(within(SPECIAL_4))
@example(int(IPv4Address("169.254.169.254")))
def test_no_special_ipv4_address_is_reached_in_any_form(number: int) -> None:
    assert why_forbidden(str(IPv4Address(number)))
    for name, form in FORMS.items():
        assert why_forbidden(str(form(number))), name
        assert why_forbidden(form(number).exploded), name
        # the address in the notation of getaddrinfo
        assert why_forbidden(socket.inet_ntop(socket.AF_INET6, form(number).packed)), name


@given(within(SPECIAL_6))
def test_no_special_ipv6_address_is_reached(number: int) -> None:
    assert why_forbidden(str(IPv6Address(number)))


@pytest.mark.parametrize("block", SPECIAL_4 + SPECIAL_6, ids=str)
def test_both_ends_of_each_block_are_refused(block: IPv4Network | IPv6Network) -> None:
    assert why_forbidden(str(block.network_address))
    assert why_forbidden(str(block.broadcast_address))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached(address: str) -> None:
    number = int(IPv4Address(address))
    assert why_forbidden(address) is None
    for name in ("mapped", "nat64", "6to4", "isatap"):
        assert why_forbidden(str(FORMS[name](number))) is None, name
    assert why_forbidden("2a00:1450:4001:82b::200e") is None


@given(st.text() | st.ip_addresses().map(lambda address: f"{address}%eth0"))
def test_no_text_raises(text: str) -> None:
    assert why_forbidden(text) is None or why_forbidden(text)


def test_what_is_allowed_is_allowed_alone() -> None:
    allow = networks(["10.1.0.0/16", "::1"])
    assert why_forbidden("10.1.2.3", allow) is None
    assert why_forbidden("::ffff:10.1.2.3", allow) is None
    assert why_forbidden("::1", allow) is None
    for other in ("10.2.0.1", "169.254.169.254", "127.0.0.1", "::2", "fe80::1", "::ffff:127.0.0.1"):
        assert why_forbidden(other, allow), other


def test_a_bad_network_is_named() -> None:
    with pytest.raises(ValueError, match=r"10\.0\.0\.0/99"):
        networks(["10.0.0.0/99"])
