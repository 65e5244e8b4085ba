"""Checks the hosts of a site: their certificates, the redirect from http to https, and their rules for crawlers of AI
companies. A finding is a row of the table `host_findings`."""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import gossamer
from gossamer.client.certificates import certificate_of
from gossamer.errors import FetchFailed
from gossamer.uses.audit.database import AuditDatabase, host_of
from gossamer.uses.audit.single_requests import request
from gossamer.uses.numbers import counted

EXPIRING_DAYS: Final = 14
"""A certificate is reported as expiring if it ends within this number of days. Certificates are usually
renewed 30 days before their end, so a renewal is overdue when only 14 days are left. A certificate with a
short validity period is reported only when less than a third of the validity period is left."""
_SIGNAL: Final = re.compile(r"^[ \t]*content-signal[ \t]*:[ \t]*(.+)", re.IGNORECASE | re.MULTILINE)
_AGENT: Final = re.compile(r"^[ \t]*user-agent[ \t]*:[ \t]*([^#\r\n]+)", re.IGNORECASE | re.MULTILINE)
_MARKDOWN_LINK: Final = re.compile(r"\]\(\s*https?://|\]\(\s*/")


class HostFinding(NamedTuple):
    """A fact about a host. `fact`: the id of the check that reports the fact."""

    url: str
    fact: str
    detail: str


def probe_hosts(
    database: AuditDatabase,
    start: str,
    options: Mapping[str, Any],
    http_port: int | None,
    pause: float,
    tell: Callable[[str], None],
) -> None:
    """Fills the table `host_findings`. `options`: the options of each request. `http_port`: the port of http
    for a host whose https port is not 443. If `http_port` is None, the http port of such a host is not
    checked. `pause`: the seconds between two requests."""
    hosts = sorted(host for (host,) in database.rows("SELECT host FROM hosts"))
    found: list[HostFinding] = []
    tell("certificates and http are checked")
    for host in hosts if start.startswith("https://") else []:
        for one in (host, *_twin(host)):
            faults = certificate_faults(one, options, typed=one == host)
            found += [HostFinding(f"https://{one}/", *fault) for fault in faults]
        name, port = _name_and_port(host)
        if (http := 80 if port == 443 else http_port) is not None:
            time.sleep(pause)
            found += _without_redirect(name, http, options)
    time.sleep(pause)
    found += _llms_file(start, options)
    for origin, body in database.rows("SELECT origin, body FROM robots_files WHERE length(body) > 0"):
        if detail := ai_rules(bytes(body), f"{origin}/"):
            found.append(HostFinding(f"{origin}/robots.txt", "ai-crawler-rules", detail))
    with database.transaction() as base:
        base.executemany("INSERT OR REPLACE INTO host_findings VALUES (?, ?, ?)", found)


def _name_and_port(host: str) -> tuple[str, int]:
    name, colon, port = host.rpartition(":")
    return (name, int(port)) if colon and port.isdigit() else (host, 443)


def _twin(host: str) -> list[str]:
    """Adds `www.` to a host without `www.`, and removes `www.` from other hosts. Returns a list that contains
    only the resulting host. The list is empty if the host without `www.` is not a registered domain."""
    name, port = _name_and_port(host)
    bare = name.removeprefix("www.")
    if "." not in bare or _is_address(bare) or gossamer.url.registered_domain(bare) != bare:
        return []
    other = bare if name != bare else f"www.{name}"
    return [other if port == 443 else f"{other}:{port}"]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def certificate_faults(
    host: str, options: Mapping[str, Any], *, typed: bool = True
) -> Iterator[tuple[str, str]]:
    """Yields the id of each check that the certificate of a host fails, and a description of the fault.
    `typed`: whether the user named this host. If `typed` is true, a private IP address or localhost is
    allowed. Yields nothing for a host without TLS, because nobody can reach the host by https."""
    allow = options.get("allow_private") or ()
    found = certificate_of(
        host,
        allow_private=[allow] if isinstance(allow, str) else allow,
        typed=typed,
        ca_file=options.get("ca_file"),
    )
    if found is None:
        return
    if found.fault:
        yield f"certificate-{found.fault}", found.detail
        return
    left = (found.end - time.time()) / 86400
    if left < min(EXPIRING_DAYS, (found.end - found.begin) / 86400 / 3):
        until = datetime.fromtimestamp(found.end, UTC)
        yield "certificate-expiring", f"{counted(int(left), 'day')} left, until {until:%Y-%m-%d %H:%M} UTC"


def _without_redirect(name: str, port: int, options: Mapping[str, Any]) -> Iterator[HostFinding]:
    url = f"http://{name}/" if port == 80 else f"http://{name}:{port}/"
    try:
        page = request(url, options)
    except FetchFailed:
        return  # the host does not serve http, or robots.txt forbids the request
    if not page.url.startswith("https://"):
        where = "" if page.url == url else f" at {page.url}"
        yield HostFinding(
            url, "http-no-redirect", f"it answers {page.status}{where} without a redirect to https"
        )


def _llms_file(start: str, options: Mapping[str, Any]) -> Iterator[HostFinding]:
    url = f"{start.partition('://')[0]}://{host_of(start)}/llms.txt"
    try:
        page = request(url, options)
    except FetchFailed:
        return
    body = page.body[: 1 << 20]
    if page.status == 200 and (detail := llms_summary(body.decode("utf-8", "replace"))):
        yield HostFinding(url, "llms-txt", detail)


def llms_summary(text: str) -> str:
    """Returns the title and the number of links of an llms.txt file (llmstxt.org). Returns '' if the text is
    not an llms.txt file.

    >>> llms_summary("# The shop\\n\\n- [Prices](https://e.example/p.md)")
    'The shop: 1 link'
    """
    if "<html" in text[:2000].lower() or not text.strip():
        return ""
    links = len(_MARKDOWN_LINK.findall(text))
    first = next(line.strip() for line in text.splitlines() if line.strip())
    title = (
        first[2:].strip()[:100] if first.startswith("# ") else "no title (its first line must begin with #)"
    )
    return f"{title}: {counted(links, 'link')}"


def ai_rules(body: bytes, root: str) -> str:
    """Returns the rules of a robots.txt for crawlers of AI companies. Returns '' if the robots.txt has no
    such rules.

    >>> ai_rules(b"User-agent: GPTBot\\nDisallow: /\\nUser-agent: CCBot\\nAllow: /", "https://e.example/")
    'forbidden: GPTBot; allowed: CCBot'
    """
    text = body.decode("utf-8", "replace")
    named = {one.strip().lower() for one in _AGENT.findall(text)}
    rules = gossamer.politeness.robots.Robots(body)
    agents = [one for one in _ai_crawlers() if one.lower() in named]
    shut = [one for one in agents if not rules.allows(one, root)]
    parts = {"forbidden": shut, "allowed": [one for one in agents if one not in shut]}
    told = [f"{word}: {', '.join(names)}" for word, names in parts.items() if names]
    told += [f"Content-Signal: {one.strip()}" for one in dict.fromkeys(_SIGNAL.findall(text))]
    return "; ".join(told)


@cache
def _ai_crawlers() -> tuple[str, ...]:
    text = files("gossamer.uses.audit").joinpath("ai_crawlers.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))
