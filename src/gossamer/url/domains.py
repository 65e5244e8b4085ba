"""Determines registered domains with the bundled snapshot of the Public Suffix List (publicsuffix.org, MPL
2.0)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

SNAPSHOT = Path(__file__).parents[1] / "data" / "public_suffix_list.dat"
MAX_LABELS = 8  # the maximum number of labels in a rule; labels further left do not matter


@lru_cache(maxsize=65_536)
def registered_domain(host: str) -> str:
    """Returns the registered domain of a host, which is its public suffix and one more label. A port is
    ignored. Cookies and buckets belong to a registered domain.

    Both the ICANN rules and the private rules of the list apply. IP addresses, single labels and public
    suffixes are their own registered domain.

    >>> registered_domain("www.example.co.uk:8080"), registered_domain("127.0.0.1:80")
    ('example.co.uk', '127.0.0.1')
    """
    labels = _labels(host)
    if len(labels) == 1:
        return labels[0]
    return ".".join(labels[max(0, _suffix_start(labels) - 1) :])


def is_public_suffix(host: str) -> bool:
    """Whether a host is itself a public suffix, under which unrelated parties register names.

    >>> is_public_suffix("co.uk"), is_public_suffix("github.io"), is_public_suffix("example.com")
    (True, True, False)
    """
    labels = _labels(host)
    if _is_address(labels[-1]):
        return False
    return len(labels) == 1 or _suffix_start(labels) == 0


@lru_cache(maxsize=1)
def psl_hash() -> str:
    """Returns 16 hex digits that identify the snapshot. A store that was created with a different snapshot
    would assign some hosts to different buckets."""
    from hashlib import sha256

    return sha256(SNAPSHOT.read_bytes()).hexdigest()[:16]


def _labels(host: str) -> list[str]:
    """Returns the labels of a host name in lower case, without the port and the root dot. An IP address is a
    single label."""
    if host.startswith("["):
        return [host.partition("]")[0] + "]"]
    name = host.partition(":")[0].rstrip(".").lower()
    labels = name.split(".")
    return [name] if _is_address(labels[-1]) else labels


def _is_address(label: str) -> bool:
    # URL Standard, 3.5: a host whose last label is a number is an IPv4 address; `[` begins an IPv6 address
    return label[:1] == "[" or label.rpartition(".")[2].isdecimal()


def _suffix_start(labels: list[str]) -> int:
    """Returns the index of the first label of the public suffix, according to the longest matching rule."""
    rules = _rules()
    shown = [_unicode(label) if label.startswith("xn--") else label for label in labels]
    for at in range(max(0, len(labels) - MAX_LABELS), len(labels)):
        parent = ".".join(shown[at + 1 :])
        suffix = f"{shown[at]}.{parent}" if parent else shown[at]
        if f"!{suffix}" in rules:
            return at + 1
        if suffix in rules or f"*.{parent}" in rules:
            return at
    return len(labels) - 1


def _unicode(label: str) -> str:
    """Decodes a punycode label, because the list contains Unicode labels."""
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


@lru_cache(maxsize=1)
def _rules() -> frozenset[str]:
    lines = SNAPSHOT.read_text(encoding="utf-8").split("\n")
    return frozenset([line for line in lines if line and line[0] != "/"])
